//! A session as something to read: who said what, what tools did, who agreed to it.

mod gather;
mod html;
mod items;
mod markdown;
mod media;
pub(crate) mod plain;
mod text;
mod words;

use std::collections::BTreeMap;

use allm::session::{OpenWait, SessionUsage};
use allm::{LoadFrom, SessionId, SessionStatus, Sessions, Timestamp, Version};

use crate::problem::Problem;
use crate::sessions::fault;
use items::Item;
pub(crate) use words::{tokens, wait_in_words};

/// A session as something to read.
#[derive(Debug)]
pub(crate) struct Transcript {
    /// The session.
    pub(crate) id: String,
    pub(crate) status: SessionStatus,
    pub(crate) created_at: Option<Timestamp>,
    pub(crate) updated_at: Option<Timestamp>,
    pub(crate) tags: BTreeMap<String, String>,
    /// What happened, in order.
    pub(crate) items: Vec<Item>,
    /// How many messages the conversation has.
    pub(crate) messages: usize,
    /// The version up to which nothing but the conversation itself is kept, for a journal that was trimmed.
    pub(crate) trimmed: Option<Version>,
    /// What it waits for.
    pub(crate) waits: Vec<OpenWait>,
    pub(crate) usage: SessionUsage,
}

impl Transcript {
    /// Reads a stored session.
    pub(crate) async fn read(sessions: &Sessions, id: &SessionId) -> Result<Self, Problem> {
        let whole = LoadFrom::After(Version(0));
        let loaded = sessions.store().load(id, whole).await;
        let loaded = loaded.map_err(|error| fault::told(id.as_str(), &error.into()))?;
        gather::gather(&loaded).map_err(|error| fault::told(id.as_str(), &error))
    }

    /// For a terminal or a text file. Nothing in it makes a terminal do anything.
    pub(crate) fn to_text(&self) -> String {
        text::page(self)
    }

    /// For a document.
    pub(crate) fn to_markdown(&self) -> String {
        markdown::page(self)
    }

    /// One page for a browser, with everything in it and no script.
    pub(crate) fn to_html(&self) -> String {
        html::page(self)
    }
}

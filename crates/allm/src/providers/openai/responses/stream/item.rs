//! The items of a response.

use std::borrow::Cow;
use std::collections::BTreeMap;

use allm_core::RawJson;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::wire::lenient::{List, Object, Text};

/// What kind of item it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Call,
    Reasoning,
    /// One that has no type here; it is kept as it is.
    Other,
}

/// An item, as far as it is known.
pub(super) struct Item<'a> {
    pub(super) kind: ItemKind,
    pub(super) fields: Fields<'a>,
    /// As it came.
    pub(super) raw: &'a RawValue,
}

#[derive(Deserialize)]
pub(super) struct Fields<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) call_id: Text<'a>,
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) status: Text<'a>,
    #[serde(borrow, default)]
    pub(super) phase: Text<'a>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: List<&'a RawValue>,
    #[serde(borrow, default)]
    summary: List<Object<Piece<'a>>>,
}

/// A block of a message, or a piece of reasoning.
#[derive(Deserialize)]
pub(super) struct Piece<'a> {
    #[serde(borrow, default, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow, default)]
    pub(super) text: Text<'a>,
    #[serde(borrow, default)]
    pub(super) refusal: Text<'a>,
    #[serde(borrow, default)]
    annotations: List<&'a RawValue>,
}

/// What goes back with a text.
#[derive(Serialize)]
struct WithText<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    annotations: &'a [&'a RawValue],
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<&'a str>,
}

impl<'a> Item<'a> {
    /// Reads an item; what has no type is none.
    pub(super) fn read(raw: &'a RawValue) -> Option<Self> {
        let fields: Fields<'a> = super::read(raw)?;
        let kind = match fields.kind.get()? {
            "message" => ItemKind::Message,
            "function_call" => ItemKind::Call,
            "reasoning" => ItemKind::Reasoning,
            _ => ItemKind::Other,
        };
        Some(Self { kind, fields, raw })
    }

    /// As it came, to be kept.
    pub(super) fn to_json(&self) -> Option<RawJson> {
        RawJson::new(self.raw.get()).ok()
    }

    /// The id by which a result names this call.
    pub(super) fn call_id(&self) -> Option<&str> {
        self.fields.call_id.get().or(self.fields.id.get())
    }

    /// The text of the arguments. Some servers send the object itself.
    pub(super) fn arguments(&self) -> Option<Cow<'a, str>> {
        let raw = self.fields.arguments?.get();
        if raw.starts_with('{') {
            return Some(Cow::Borrowed(raw));
        }
        let text: Text<'a> = serde_json::from_str(raw).ok()?;
        text.0.filter(|text| !text.is_empty())
    }

    /// What a call carries beyond what is known of calls.
    pub(super) fn call_members(&self) -> Option<RawJson> {
        const KNOWN: [&str; 6] = ["type", "id", "status", "arguments", "call_id", "name"];
        let mut members: BTreeMap<Cow<'_, str>, &RawValue> =
            serde_json::from_str(self.raw.get()).ok()?;
        members.retain(|name, value| !KNOWN.contains(&name.as_ref()) && value.get() != "null");
        if members.is_empty() {
            return None;
        }
        RawJson::new(serde_json::to_string(&members).ok()?).ok()
    }

    /// The blocks of a message, each with what it came as.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (u64, Piece<'a>, &'a RawValue)> {
        let blocks = (0..).zip(&self.fields.content.0);
        blocks.filter_map(|(index, raw)| Some((index, super::read(raw)?, *raw)))
    }

    /// What goes back with a text of this message.
    pub(super) fn with_text(&self, block: &Piece<'a>) -> Option<RawJson> {
        let with = WithText {
            annotations: &block.annotations.0,
            phase: self.fields.phase.get(),
        };
        if with.annotations.is_empty() && with.phase.is_none() {
            return None;
        }
        RawJson::new(serde_json::to_string(&with).ok()?).ok()
    }

    /// The summary of reasoning, its pieces with a blank line between them.
    pub(super) fn summary(&self) -> String {
        let pieces = self.fields.summary.0.iter();
        joined(pieces.filter_map(|piece| piece.0.as_ref()?.text.get()))
    }

    /// Reasoning itself, where it is shown.
    pub(super) fn thinking(&self) -> String {
        let pieces: Vec<Piece<'a>> = self.blocks().map(|(_, piece, _)| piece).collect();
        joined(pieces.iter().filter_map(|piece| piece.text.get()))
    }
}

fn joined<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts: Vec<&str> = texts.collect();
    texts.join("\n\n")
}

//! What lists show of a session.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Entry, HeldLease, NewSession, Position, SessionUid, Version};
use crate::data::id::SessionId;
use crate::data::is_false;
use crate::data::timestamp::Timestamp;

/// How a session stands: computed from its data, never set. The first that fits, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// A turn failed.
    Error,
    /// A run is unfinished: somebody drives it, or a crash or a dropped future left it.
    InProgress,
    /// A question is open.
    AwaitingUser,
    /// An approval is open.
    AwaitingApproval,
    /// A tool's result is awaited from outside.
    AwaitingTools,
    /// It ended on purpose and nothing is left to do.
    Completed,
    /// Anything else: new, cut short, or with something to do and nobody doing it.
    Idle,
}

impl SessionStatus {
    /// Every status, in the order in which they are tried.
    pub const ALL: [Self; 7] = [
        Self::Error,
        Self::InProgress,
        Self::AwaitingUser,
        Self::AwaitingApproval,
        Self::AwaitingTools,
        Self::Completed,
        Self::Idle,
    ];

    /// The stable snake_case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::InProgress => "in_progress",
            Self::AwaitingUser => "awaiting_user",
            Self::AwaitingApproval => "awaiting_approval",
            Self::AwaitingTools => "awaiting_tools",
            Self::Completed => "completed",
            Self::Idle => "idle",
        }
    }
}

impl fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What lists show of a session. Written in the transaction of the append, so it cannot disagree with the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The caller's id.
    pub id: SessionId,
    /// Which of the sessions that had this id.
    pub uid: SessionUid,
    /// The version of its last entry.
    pub version: Version,
    /// How it stands.
    pub status: SessionStatus,
    /// Whether a worker may resume it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub runnable: bool,
    /// The caller's tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Its live lease. A lease that has expired by the store's clock is not shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<HeldLease>,
    /// When the first of its open waits expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_expiry: Option<Timestamp>,
    /// The time of its first entry.
    pub created_at: Timestamp,
    /// The time of its last entry.
    pub updated_at: Timestamp,
}

impl Head {
    /// The head of a session just created.
    #[must_use]
    pub fn created(new: &NewSession) -> Self {
        let HeadUpdate {
            status,
            runnable,
            tags,
            next_expiry,
        } = new.head.clone();
        Self {
            id: new.id.clone(),
            uid: new.uid,
            version: new.first.version,
            status,
            runnable,
            tags,
            lease: None,
            next_expiry,
            created_at: new.first.at,
            updated_at: new.first.at,
        }
    }

    /// This head after an append whose last entry is `last`.
    #[must_use]
    pub fn appended(self, last: &Entry, update: &HeadUpdate) -> Self {
        let HeadUpdate {
            status,
            runnable,
            tags,
            next_expiry,
        } = update.clone();
        Self {
            version: last.version,
            updated_at: last.at,
            status,
            runnable,
            tags,
            next_expiry,
            ..self
        }
    }

    /// Where the session stands.
    #[must_use]
    pub fn position(&self) -> Position {
        Position {
            id: self.id.clone(),
            uid: self.uid,
            version: self.version,
        }
    }
}

/// The part of a [`Head`] that a writer computes. It replaces what was there as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeadUpdate {
    /// How the session stands.
    pub status: SessionStatus,
    /// Whether a worker may resume it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub runnable: bool,
    /// The caller's tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// When the first of its open waits expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_expiry: Option<Timestamp>,
}

impl HeadUpdate {
    /// A status and nothing else: not runnable, no tags, no expiry.
    #[must_use]
    pub const fn new(status: SessionStatus) -> Self {
        Self {
            status,
            runnable: false,
            tags: BTreeMap::new(),
            next_expiry: None,
        }
    }
}

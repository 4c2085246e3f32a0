//! Who drives a session.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{SessionUid, Version};
use crate::data::id::{SessionId, WriterId};
use crate::data::timestamp::Timestamp;

/// The number of an acquisition: it grows by one with each and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The right to drive a session, until it expires or somebody takes over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// The session.
    pub id: SessionId,
    /// Which of the sessions that had this id; compare it with the session in hand.
    pub uid: SessionUid,
    /// Who holds it.
    pub holder: WriterId,
    /// What appends of progress are allowed with.
    pub fence: Fence,
    /// How long it lasts from each renewal on; JSON has whole milliseconds.
    #[serde(with = "crate::data::millis")]
    pub ttl: Duration,
    /// When it ends, by the store's clock.
    pub expires_at: Timestamp,
    /// At which version the session was when it was given, if the store tells: who knows the session as it was then need
    /// not read it again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Lease {
    /// How long a lease lasts if nobody says otherwise: 30 s. It is renewed every third of that.
    pub const DEFAULT_TTL: Duration = Duration::from_secs(30);

    /// What others are told of it.
    #[must_use]
    pub fn held(&self) -> HeldLease {
        HeldLease {
            holder: self.holder.clone(),
            expires_at: self.expires_at,
        }
    }
}

/// A live lease as others see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldLease {
    /// Who holds it.
    pub holder: WriterId,
    /// When it ends, by the store's clock.
    pub expires_at: Timestamp,
}

/// What a lease is asked for with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Who wants it.
    pub holder: WriterId,
    /// How long it is to last from each renewal on; JSON has whole milliseconds.
    #[serde(with = "crate::data::millis")]
    pub ttl: Duration,
    /// What is done about a live one.
    pub takeover: Takeover,
}

/// What an acquisition does about a live lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Takeover {
    /// It gives way, whoever the holder is.
    #[default]
    IfExpired,
    /// It takes over at once; the former holder is fenced off.
    Force,
}

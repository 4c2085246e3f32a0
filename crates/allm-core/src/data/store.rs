//! What a session store is asked and answers.
//!
//! These are the values of [`SessionStore`](crate::SessionStore). A store moves bytes; it never reads inside an
//! [`Entry`] or a [`Snapshot`].

mod append;
mod entry;
mod filter;
mod head;
mod lease;
mod load;
mod page;
mod uid;

use std::fmt;

use serde::{Deserialize, Serialize};

use super::id::SessionId;

pub use append::{NewSession, check_append};
pub use entry::{Entry, EntryClass, Link, verify_chain};
pub use filter::{LeaseFilter, SessionFilter};
pub use head::{Head, HeadUpdate, SessionStatus};
pub use lease::{Claim, Fence, HeldLease, Lease, Takeover};
pub use load::{LoadFrom, Loaded, Snapshot};
pub use page::{Page, PageRequest};
pub use uid::{AppendId, ApprovalId, RunId, SessionUid};

/// How many entries of a session have been applied; 0 before the first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Version(pub u64);

impl Version {
    /// The version after the next entry.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which session, and where its writer believes it stands.
///
/// All three are compared by a write, so that a writer of a session that was deleted and created again cannot hit the
/// new one, even at an equal version.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The session.
    pub id: SessionId,
    /// Which of the sessions that had this id.
    pub uid: SessionUid,
    /// The last version that the writer has seen.
    pub version: Version,
}

/// What a deletion demands of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeleteIf {
    /// It is at this version and nobody holds a live lease.
    Version(Version),
    /// Nobody holds a live lease.
    Any,
    /// Nothing: it goes at any version, and its driver finds it gone.
    Force,
}

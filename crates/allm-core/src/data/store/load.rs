//! What a load is asked and answers.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::{Entry, Head, Link, Version, verify_chain};
use crate::data::hash::Hash;
use crate::error::StoreError;

/// From where on entries are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadFrom {
    /// The newest snapshot and the entries later than it; every entry when there is no snapshot.
    Snapshot,
    /// Exactly the entries later than this version, without a snapshot. `After(Version(0))` is the whole journal.
    ///
    /// When some of them were trimmed, the answer is that of [`Snapshot`](Self::Snapshot).
    After(Version),
}

/// A session at a version, kept so that opening it need not begin at its first entry.
///
/// A cache: one that fails its hash is ignored. A store never reads inside `bytes`. `Debug` shows their number and not
/// the bytes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The version of the session.
    pub version: Version,
    /// The session's JSON.
    #[serde(with = "crate::data::base64_text")]
    pub bytes: Bytes,
    /// The `state_hash` of the session, for whoever reads the bytes.
    pub state_hash: Hash,
    /// The `chain` of the entry at this version.
    pub chain: Hash,
}

impl Snapshot {
    /// Where the chain stood.
    #[must_use]
    pub const fn link(&self) -> Link {
        Link {
            version: self.version,
            chain: self.chain,
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("version", &self.version)
            .field("bytes", &self.bytes.len())
            .field("state_hash", &self.state_hash)
            .field("chain", &self.chain)
            .finish()
    }
}

/// What a store holds of a session, as of one instant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loaded {
    /// What lists show of it.
    pub head: Head,
    /// The snapshot that the entries go on from, when they do not go on from the version that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// The entries, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<Entry>,
}

impl Loaded {
    /// Checks the entries against the snapshot, or against `previous` where there is none, and against the head. Tells
    /// where the chain stands.
    ///
    /// `previous` is where the chain stands at the version that was asked for: [`Link::START`] for a whole journal. It
    /// is not looked at when there is a snapshot.
    ///
    /// # Errors
    ///
    /// `corrupt` at the first version that is altered, missing, doubled or out of its place.
    pub fn verify(&self, previous: &Link) -> Result<Link, StoreError> {
        let start = self.snapshot.as_ref().map_or(*previous, Snapshot::link);
        let end = verify_chain(&start, &self.entries)?;
        if end.version == self.head.version {
            Ok(end)
        } else {
            let first_bad = end.version.min(self.head.version).next();
            Err(StoreError::corrupt(first_bad))
        }
    }
}

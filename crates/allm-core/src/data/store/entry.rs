//! A journal entry as a store sees it, and the chain of hashes through a journal.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::Version;
use crate::data::hash::Hash;
use crate::data::timestamp::Timestamp;
use crate::error::StoreError;

/// Who may append an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryClass {
    /// Anyone: a message, an answer, a decision.
    Input,
    /// Only the driver that holds the current fence: a model's answer, a tool's outcome.
    Progress,
}

/// A journal entry as a store sees it: canonical bytes, and beside them what a store needs to know.
///
/// A store never reads inside `bytes` and gives them back as they came, byte for byte. They must not go through a
/// column type that rewrites JSON. `Debug` shows their number and not the bytes.
///
/// `version` and `at` are inside the bytes as well. Whoever parses the bytes compares them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The version of the session after this entry; the first entry makes it 1.
    pub version: Version,
    /// Who may append it.
    pub class: EntryClass,
    /// When, by the store's clock; never before the entry before it.
    pub at: Timestamp,
    /// The canonical bytes; cheap to clone.
    #[serde(with = "crate::data::base64_text")]
    pub bytes: Bytes,
    /// The hash of the previous entry's `chain` and these bytes.
    pub chain: Hash,
}

impl Entry {
    /// The most bytes of one entry: 16 MiB.
    pub const MAX_BYTES: usize = 16 * 1024 * 1024;

    /// The entry with these bytes that follows `previous`: one version later, chained to it.
    #[must_use]
    pub fn following(previous: &Link, class: EntryClass, at: Timestamp, bytes: Bytes) -> Self {
        Self {
            version: previous.version.next(),
            class,
            at,
            chain: Hash::of(&previous.chain, &bytes),
            bytes,
        }
    }

    /// Where the chain stands after this entry.
    #[must_use]
    pub const fn link(&self) -> Link {
        Link {
            version: self.version,
            chain: self.chain,
        }
    }

    /// Checks that this entry follows `previous`, and tells where the chain stands after it.
    ///
    /// # Errors
    ///
    /// `corrupt` at the version that should be here, when another one is or the chain does not fit.
    pub fn verify(&self, previous: &Link) -> Result<Link, StoreError> {
        let version = previous.version.next();
        if self.version == version && self.chain == Hash::of(&previous.chain, &self.bytes) {
            Ok(self.link())
        } else {
            Err(StoreError::corrupt(version))
        }
    }
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("version", &self.version)
            .field("class", &self.class)
            .field("at", &self.at)
            .field("bytes", &self.bytes.len())
            .field("chain", &self.chain)
            .finish()
    }
}

/// Where a chain stands: the version of its last entry and that entry's `chain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The version of the last entry.
    pub version: Version,
    /// Its `chain`.
    pub chain: Hash,
}

impl Link {
    /// Before the first entry: version 0 and the hash of all zeros.
    pub const START: Self = Self {
        version: Version(0),
        chain: Hash::ZERO,
    };
}

/// Checks that the entries follow `previous` and each other, and tells where the chain stands after them.
///
/// This reads no entry, so it comes before anything is parsed.
///
/// # Errors
///
/// `corrupt` at the first version that is altered, missing, doubled or out of its place. Entries that are missing at
/// the very end do not show here; [`Loaded::verify`](super::Loaded::verify) finds them by the head.
pub fn verify_chain<'a>(
    previous: &Link,
    entries: impl IntoIterator<Item = &'a Entry>,
) -> Result<Link, StoreError> {
    let mut entries = entries.into_iter();
    entries.try_fold(*previous, |previous, entry| entry.verify(&previous))
}

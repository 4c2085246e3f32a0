//! What is written, and the checks that need no database.

use serde::{Deserialize, Serialize};

use super::{Entry, EntryClass, Fence, HeadUpdate, Position, SessionUid, Version};
use crate::data::id::SessionId;
use crate::error::{StoreError, StoreReason};

/// A session about to be created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewSession {
    /// The caller's id.
    pub id: SessionId,
    /// The id that tells it from any other under the same id.
    pub uid: SessionUid,
    /// Its first entry, version 1.
    pub first: Entry,
    /// What lists show of it.
    pub head: HeadUpdate,
}

impl NewSession {
    /// The checks of [`SessionStore::create`](crate::SessionStore::create) that need no database.
    ///
    /// # Errors
    ///
    /// `too_large` for an entry over the limit; `refused` when it is not version 1.
    pub fn check(&self) -> Result<(), StoreError> {
        check_entries(Version(0), std::slice::from_ref(&self.first)).map(|_| ())
    }
}

/// The checks of [`SessionStore::append`](crate::SessionStore::append) that need no database. Gives the version that
/// the session has after it.
///
/// # Errors
///
/// `too_large` for an entry over the limit; `refused` when there is no entry, when the versions do not go on from `at`
/// without a gap, or for progress without a fence.
pub fn check_append(
    at: &Position,
    fence: Option<Fence>,
    entries: &[Entry],
) -> Result<Version, StoreError> {
    let version = check_entries(at.version, entries)?;
    let progress = |entry: &Entry| entry.class == EntryClass::Progress;
    if fence.is_none() && entries.iter().any(progress) {
        return Err(refused("progress entries need a fence"));
    }
    Ok(version)
}

fn check_entries(after: Version, entries: &[Entry]) -> Result<Version, StoreError> {
    let mut version = after;
    for entry in entries {
        if entry.bytes.len() > Entry::MAX_BYTES {
            let message = format!("the entry at version {} is over 16 MiB", entry.version);
            return Err(StoreError {
                version: Some(entry.version),
                ..StoreError::new(StoreReason::TooLarge, message)
            });
        }
        version = version.next();
        if entry.version != version {
            return Err(refused("the versions of the entries leave a gap"));
        }
    }
    if version == after {
        return Err(refused("there is nothing to append"));
    }
    Ok(version)
}

fn refused(message: &str) -> StoreError {
    StoreError::new(StoreReason::Refused, message)
}

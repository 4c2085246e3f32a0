//! What every store here says and does alike.

use allm_core::{Claim, Entry, Lease, Position, StoreError, StoreReason, Timestamp, Version};

use crate::clock::whole_millis;

/// Content up to this many bytes is kept in its row, longer content once by its hash.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) const INLINE_BYTES: usize = 64 * 1024;

/// Whether content is kept in its row.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) const fn is_short(bytes: &[u8]) -> bool {
    bytes.len() <= INLINE_BYTES
}

/// How long a tombstone stays, in milliseconds: 30 days.
pub(crate) const TOMBSTONE_MILLIS: i64 = 30 * 24 * 60 * 60 * 1000;

pub(crate) fn not_found() -> StoreError {
    StoreError::new(StoreReason::NotFound, "no session has this id")
}

pub(crate) fn already_exists() -> StoreError {
    StoreError::new(StoreReason::AlreadyExists, "a session has this id already")
}

pub(crate) fn gone() -> StoreError {
    StoreError::new(StoreReason::Gone, "the session was deleted")
}

pub(crate) fn fenced() -> StoreError {
    StoreError::new(StoreReason::Fenced, "the lease was released or taken over")
}

pub(crate) fn refused(message: &str) -> StoreError {
    StoreError::new(StoreReason::Refused, message)
}

pub(crate) fn check_claim(claim: &Claim) -> Result<(), StoreError> {
    match whole_millis(claim.ttl) {
        0 => Err(refused("a lease lasts a millisecond or more")),
        _ => Ok(()),
    }
}

pub(crate) fn unfit_snapshot() -> StoreError {
    refused("the snapshot does not fit the journal")
}

pub(crate) fn uncovered_trim() -> StoreError {
    refused("no snapshot covers the entries that would be dropped")
}

/// The last id with this prefix that there can be: an id has at most 200 bytes.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(crate) fn last_with_prefix(prefix: &str) -> String {
    let mut last = prefix.to_owned();
    last.extend(std::iter::repeat_n(char::MAX, 50));
    last
}

/// What time it may be by the store's clock when what begins a run is appended, from and to: whoever made it heard of the
/// time a while ago.
pub(crate) fn timely(entries: &[Entry]) -> (i64, i64) {
    const SLACK: i64 = 1000;
    let at = entries.last().map_or(0, |last| last.at.as_millis());
    (at.saturating_sub(SLACK), at.saturating_add(SLACK))
}

/// Whether what begins a run is left out because it has not the time of the store. At another version than it was made for
/// it may be there already, which the append finds out.
pub(crate) fn is_untimely(lease: &Lease, at: &Position, entries: &[Entry], now: Timestamp) -> bool {
    let (from, to) = timely(entries);
    lease.version == Some(at.version) && !(from..=to).contains(&now.as_millis())
}

/// Whether what was to go with a lease was appended; the lease is given too when the session is another one by now, or
/// somewhere else.
pub(crate) fn is_appended<T>(appended: Result<T, StoreError>) -> Result<bool, StoreError> {
    match appended {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.reason, StoreReason::Conflict | StoreReason::Gone) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// `conflict` unless the session is where the writer believes it.
pub(crate) fn at_version(expected: Version, actual: Version) -> Result<(), StoreError> {
    if expected == actual {
        Ok(())
    } else {
        Err(StoreError::conflict(expected, actual))
    }
}

//! What the checks of a store share: answers judged, ids and times made.

use std::fmt::Debug;

use allm_core::{
    AppendId, Hash, HeadUpdate, SessionId, SessionStatus, SessionUid, StoreError, StoreReason,
    Timestamp, Version, WriterId,
};

use crate::finding::{Checked, Finding, expect_eq};

/// 2026-05-28, when every session of the kit begins unless a check says otherwise.
const BEGINNING: i64 = 1_780_000_000_000;

/// An answer that has to be `Ok`.
pub(super) trait Wanted<T> {
    fn wanted(self, what: &str) -> Result<T, Finding>;
}

impl<T> Wanted<T> for Result<T, StoreError> {
    fn wanted(self, what: &str) -> Result<T, Finding> {
        self.map_err(|error| Finding::failed(what, error.to_string()))
    }
}

/// The error, if the answer is one with this reason.
pub(super) fn refused<T: Debug>(
    answer: Result<T, StoreError>,
    reason: StoreReason,
) -> Result<StoreError, Finding> {
    match answer {
        Err(error) if error.reason == reason => Ok(error),
        Err(error) => Err(Finding::failed(format!("`{reason}`"), error.to_string())),
        Ok(answer) => Err(Finding::failed(
            format!("`{reason}`"),
            format!("Ok({answer:?})"),
        )),
    }
}

/// A conflict that names both versions.
pub(super) fn conflict<T: Debug>(
    answer: Result<T, StoreError>,
    expected: Version,
    actual: Version,
) -> Checked {
    let error = refused(answer, StoreReason::Conflict)?;
    let named = (error.version, error.actual);
    expect_eq(&named, &(Some(expected), Some(actual)))
}

/// Says where a finding was made.
pub(super) trait Located {
    fn located(self, place: &str) -> Self;
}

impl<T> Located for Result<T, Finding> {
    fn located(self, place: &str) -> Self {
        self.map_err(|finding| finding.at(&place))
    }
}

pub(super) fn id(text: &str) -> Result<SessionId, Finding> {
    SessionId::new(text).map_err(|error| Finding::failed("a valid id", error.to_string()))
}

/// Ids of 128 bits that differ when their texts do.
fn bytes_of(text: &str) -> [u8; 16] {
    let hash = Hash::of_bytes(text.as_bytes());
    let mut bytes = [0; 16];
    for (byte, hashed) in bytes.iter_mut().zip(hash.as_bytes()) {
        *byte = *hashed;
    }
    bytes
}

pub(super) fn uid(text: &str) -> SessionUid {
    SessionUid::from_bytes(bytes_of(text))
}

pub(super) fn append_id(text: &str) -> AppendId {
    AppendId::from_bytes(bytes_of(text))
}

pub(super) fn holder(text: &str) -> WriterId {
    WriterId::new(text)
}

/// So many milliseconds after the beginning.
pub(super) fn time(millis: i64) -> Result<Timestamp, Finding> {
    Timestamp::from_millis(BEGINNING.saturating_add(millis))
        .map_err(|error| Finding::failed("a time", error.to_string()))
}

pub(super) fn idle() -> HeadUpdate {
    HeadUpdate::new(SessionStatus::Idle)
}

//! What went wrong: an answer of ours, or the database.

use std::fmt::Display;

use allm_core::{StoreError, StoreReason};

/// Why work on a connection ended without its result.
pub(crate) enum Fault<E> {
    /// The store says no. The connection is as good as before.
    Answer(StoreError),
    /// The database failed.
    Broken(E),
}

impl<E> From<StoreError> for Fault<E> {
    fn from(error: StoreError) -> Self {
        Self::Answer(error)
    }
}

impl<E> Fault<E> {
    pub(crate) fn told(self, told: fn(E) -> StoreError) -> StoreError {
        match self {
            Self::Answer(error) => error,
            Self::Broken(error) => told(error),
        }
    }
}

/// What the database says may quote content, so only its code is told.
pub(crate) fn with_code(reason: StoreReason, code: impl Display) -> StoreError {
    StoreError::new(reason, format!("the database answered with code {code}"))
}

pub(crate) fn not_in_time() -> StoreError {
    let message = "the database did not answer in time";
    StoreError::new(StoreReason::Unavailable, message)
}

pub(crate) fn altered_row() -> StoreError {
    StoreError::new(StoreReason::Corrupt, "a row is not as it was written")
}

pub(crate) fn no_answer() -> StoreError {
    StoreError::new(StoreReason::Unavailable, "the database does not answer")
}

//! What went wrong: an answer of ours, or the database.

use allm_core::{StoreError, StoreReason};

/// Why work on a connection ended without its result.
pub(crate) enum Fault {
    /// The store says no. The connection is as good as before.
    Answer(StoreError),
    /// The database failed.
    Broken(sqlx::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Answer(error)
    }
}

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Broken(error)
    }
}

/// An error of the database as one of the store. What the database says may quote content, so only its code is told.
pub(crate) fn told(error: &sqlx::Error, reason_of: fn(&str) -> StoreReason) -> StoreError {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            let message = format!("the database answered with code {code}");
            StoreError::new(reason_of(&code), message)
        }
        sqlx::Error::Io(error) => {
            let message = format!("no connection to the database: {}", error.kind());
            StoreError::new(StoreReason::Unavailable, message)
        }
        sqlx::Error::PoolTimedOut => StoreError::new(
            StoreReason::Unavailable,
            "the database did not answer in time",
        ),
        sqlx::Error::Tls(_) => StoreError::new(
            StoreReason::Unavailable,
            "the database and this program did not agree on TLS",
        ),
        sqlx::Error::Configuration(_) => {
            StoreError::new(StoreReason::Refused, "the connection options are not valid")
        }
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::Decode(_)
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. } => {
            StoreError::new(StoreReason::Corrupt, "a row is not as it was written")
        }
        _ => StoreError::new(StoreReason::Unavailable, "the database does not answer"),
    }
}

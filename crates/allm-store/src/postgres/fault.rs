//! What the server or the way to it did wrong, as an error of the store.

use allm_core::{StoreError, StoreReason};

use crate::database::fault::{self, altered_row, no_answer, not_in_time, with_code};

pub(super) type Fault = fault::Fault<sqlx::Error>;

impl From<sqlx::Error> for Fault {
    fn from(error: sqlx::Error) -> Self {
        Self::Broken(error)
    }
}

/// Whether the connection is dead.
pub(super) fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) | sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => true,
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            code.starts_with("57P") || code.starts_with("08")
        }
        _ => false,
    }
}

pub(super) fn told(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().unwrap_or_default();
            with_code(reason_of(&code), code)
        }
        sqlx::Error::Io(error) => {
            let message = format!("no connection to the database: {}", error.kind());
            StoreError::new(StoreReason::Unavailable, message)
        }
        sqlx::Error::PoolTimedOut => not_in_time(),
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
        | sqlx::Error::ColumnIndexOutOfBounds { .. } => altered_row(),
        _ => no_answer(),
    }
}

/// By the codes of SQL: the first two characters are the class.
fn reason_of(code: &str) -> StoreReason {
    match code {
        "53100" => StoreReason::Full,
        "54000" => StoreReason::TooLarge,
        "XX001" | "XX002" => StoreReason::Corrupt,
        // A table or a function of ours is not there.
        "42P01" | "42883" | "3F000" => StoreReason::SchemaTooOld,
        _ => match code.get(..2) {
            // Not let in, no such database, not allowed, against a constraint.
            Some("22" | "23" | "28" | "3D" | "42") => StoreReason::Refused,
            _ => StoreReason::Unavailable,
        },
    }
}

//! What SQLite did wrong, as an error of the store.

use allm_core::{StoreError, StoreReason};
use rusqlite::Error;

use crate::database::fault::{self, altered_row, no_answer, with_code};

pub(super) type Fault = fault::Fault<Error>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Broken(error)
    }
}

pub(super) fn told(error: Error) -> StoreError {
    match error {
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::InvalidColumnIndex(_)
        | Error::Utf8Error(..) => altered_row(),
        error => match code_of(&error) {
            Some(code) => with_code(reason_of(code), code),
            None => no_answer(),
        },
    }
}

/// Whether somebody else has the file.
pub(super) fn is_busy(error: &Error) -> bool {
    matches!(code_of(error).map(plain), Some(5 | 6))
}

fn code_of(error: &Error) -> Option<i32> {
    match error {
        Error::SqliteFailure(error, _) | Error::SqlInputError { error, .. } => {
            Some(error.extended_code)
        }
        _ => None,
    }
}

/// The lowest byte of an extended result code is the plain one.
const fn plain(code: i32) -> i32 {
    code & 0xff
}

fn reason_of(code: i32) -> StoreReason {
    const SHM_SIZE: i32 = 4874;
    match (code, plain(code)) {
        // The file beside the log could not grow.
        (SHM_SIZE, _) | (_, 13) => StoreReason::Full,
        (_, 11 | 26) => StoreReason::Corrupt,
        (_, 18) => StoreReason::TooLarge,
        (_, 19) => StoreReason::Refused,
        _ => StoreReason::Unavailable,
    }
}

//! What a function of the database answers, as a result of the store.

use allm_core::{HeldLease, SessionUid, StoreError, StoreReason, Timestamp, Version, WriterId};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::fault::told;
use crate::clock::clamped;
use crate::database::count;
use crate::rules::{already_exists, fenced, gone, not_found, refused};

/// `code`, and what belongs to it.
pub(super) struct Answer {
    code: String,
    version: Option<i64>,
    uid: Option<Vec<u8>>,
    pub(super) fence: Option<i64>,
    holder: Option<Vec<u8>>,
    until: Option<i64>,
}

impl Answer {
    /// All columns of the type `answer`.
    pub(super) fn read(row: &PgRow) -> Result<Self, StoreError> {
        let read = || {
            Ok(Self {
                code: row.try_get(0)?,
                version: row.try_get(1)?,
                uid: row.try_get(2)?,
                fence: row.try_get(3)?,
                holder: row.try_get(4)?,
                until: row.try_get(5)?,
            })
        };
        read().map_err(told)
    }

    /// A code alone, in this column.
    pub(super) fn code(row: &PgRow, column: usize) -> Result<Option<Self>, StoreError> {
        let code: Option<String> = row.try_get(column).map_err(told)?;
        Ok(code.map(|code| Self {
            code,
            version: None,
            uid: None,
            fence: None,
            holder: None,
            until: None,
        }))
    }

    /// The error that the code stands for. `expected` is the version that the caller believes in.
    pub(super) fn ok(self, expected: Version) -> Result<Self, StoreError> {
        Err(match self.code.as_str() {
            "ok" => return Ok(self),
            "not_found" => not_found(),
            "already_exists" => already_exists(),
            "gone" => gone(),
            "fenced" => fenced(),
            "refused" => refused("the database refused"),
            "conflict" => {
                let actual = Version(count(self.version.unwrap_or_default()));
                StoreError::conflict(expected, actual)
            }
            "lease_held" => StoreError::lease_held(HeldLease {
                holder: text(self.holder).into(),
                expires_at: clamped(self.until.unwrap_or_default()),
            }),
            _ => StoreError::new(
                StoreReason::SchemaTooNew,
                "the database gave an unknown answer",
            ),
        })
    }

    pub(super) fn uid(&self) -> Result<SessionUid, StoreError> {
        let uid = self.uid.as_deref().and_then(|uid| uid.try_into().ok());
        uid.map(SessionUid::from_bytes).ok_or_else(damaged)
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.version.map(|version| Version(count(version)))
    }

    pub(super) fn until(&self) -> Timestamp {
        clamped(self.until.unwrap_or_default())
    }
}

pub(super) fn holder(bytes: Vec<u8>) -> WriterId {
    text(Some(bytes)).into()
}

fn text(bytes: Option<Vec<u8>>) -> String {
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// The row of a session is not as it was written.
pub(super) fn damaged() -> StoreError {
    StoreError::new(StoreReason::Corrupt, "the row of a session is damaged")
}

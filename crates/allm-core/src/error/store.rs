//! What a session store could not do.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::reason::reasons;
use crate::data::{HeldLease, Version};

reasons! {
    /// Why a store did not do what was asked.
    StoreReason, retryable [Full, Unavailable] {
        /// No session has this id.
        NotFound => "not_found",
        /// A session has this id already.
        AlreadyExists => "already_exists",
        /// The session was deleted, or deleted and created again.
        Gone => "gone",
        /// The session is at another version than the caller believes.
        Conflict => "conflict",
        /// A newer owner has taken over.
        Fenced => "fenced",
        /// Another owner holds a live lease.
        LeaseHeld => "lease_held",
        /// What was asked breaks a rule: a forged cursor, progress without a fence, a trim that no snapshot covers.
        Refused => "refused",
        /// What is stored fails its own hash.
        Corrupt => "corrupt",
        /// What is stored was written by a newer library.
        UnsupportedVersion => "unsupported_version",
        /// The database was migrated by a newer library.
        SchemaTooNew => "schema_too_new",
        /// The database has to be migrated first.
        SchemaTooOld => "schema_too_old",
        /// An entry over the limit.
        TooLarge => "too_large",
        /// There is no room left.
        Full => "full",
        /// The database does not answer.
        Unavailable => "unavailable",
    }
}

/// What a session store could not do. Never holds content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreError {
    /// Why.
    pub reason: StoreReason,
    /// In one line.
    pub message: String,
    /// The version that was expected, for a conflict; the bad version, for corruption.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The version that is there, for a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<Version>,
    /// The lease that is in the way, for `lease_held`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldLease>,
    /// What it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl StoreError {
    /// An error with nothing but reason and message.
    pub fn new(reason: StoreReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            version: None,
            actual: None,
            held: None,
            cause: None,
        }
    }

    /// The session is at another version than the caller believes.
    #[must_use]
    pub fn conflict(expected: Version, actual: Version) -> Self {
        Self {
            version: Some(expected),
            actual: Some(actual),
            ..Self::new(
                StoreReason::Conflict,
                format!("expected version {expected}, found {actual}"),
            )
        }
    }

    /// What is stored at this version is missing or fails its own hash.
    #[must_use]
    pub fn corrupt(version: Version) -> Self {
        Self {
            version: Some(version),
            ..Self::new(
                StoreReason::Corrupt,
                format!("the entry at version {version} is missing or fails its hash"),
            )
        }
    }

    /// Another owner holds a live lease.
    #[must_use]
    pub fn lease_held(held: HeldLease) -> Self {
        let message = format!("held by {} until {}", held.holder, held.expires_at);
        Self {
            held: Some(held),
            ..Self::new(StoreReason::LeaseHeld, message)
        }
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.reason.is_retryable()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            self.reason,
            super::text::one_line(&self.message)
        )
    }
}

super::sourced!(StoreError);

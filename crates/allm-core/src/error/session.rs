//! What a session could not do.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::reason::reasons;
use super::{Error, StoreError, StoreReason, ValidationError};
use crate::data::{ArgumentFault, HeldLease, SessionStatus, Version};
use crate::session::{CallKey, CallRef, EntryBody, Misfit, Operation, Outcome, WaitKind};

reasons! {
    /// Why a session did not do what was asked.
    SessionReason, retryable [Busy] {
        /// The session's status does not allow it.
        InvalidState => "invalid_state",
        /// There is nothing to go on with.
        NothingToResume => "nothing_to_resume",
        /// The open turn has no such call.
        UnknownCall => "unknown_call",
        /// The call waits for nothing.
        NotWaiting => "not_waiting",
        /// The call waits for something else.
        WrongWait => "wrong_wait",
        /// It was answered before, and otherwise.
        AlreadyAnswered => "already_answered",
        /// It was decided before, and otherwise.
        AlreadyDecided => "already_decided",
        /// The decision came too late.
        ApprovalExpired => "approval_expired",
        /// The decision is about something else than what waits.
        ApprovalMismatch => "approval_mismatch",
        /// The arguments do not fit the tool's schema.
        InvalidArguments => "invalid_arguments",
        /// The input id was used for something else.
        InputIdReused => "input_id_reused",
        /// The run was begun with a closure that is not there.
        MissingHook => "missing_hook",
        /// The session has gone on since it was read.
        Conflict => "conflict",
        /// Another driver is on it.
        Busy => "busy",
        /// Another driver has taken over.
        LostOwnership => "lost_ownership",
        /// The journal does not lead to the state that it says.
        ReplayDiverged => "replay_diverged",
        /// The run was begun under rules that this library no longer has.
        UnsupportedMachine => "unsupported_machine",
        /// It was written by a newer library.
        UnsupportedVersion => "unsupported_version",
        /// What was given or read breaks the rules.
        Invalid => "invalid",
        /// The engine.
        Engine => "engine",
        /// The store.
        Store => "store",
    }
}

/// What a session could not do. Never holds content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionError {
    /// Why.
    pub reason: SessionReason,
    /// In one line.
    pub message: String,
    /// How the session stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionStatus>,
    /// The calls that wait.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<CallKey>,
    /// What the call came to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// What is wrong with the arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<ArgumentFault>,
    /// The version that was expected, or the bad one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// The version that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<Version>,
    /// The `v` or the machine number that was found, where this library does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// The newest `v` that this library knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supported: Option<u64>,
    /// The oldest machine number that this library knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oldest: Option<u64>,
    /// Who drives the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldLease>,
    /// What the engine, the JSON or a check said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Box<Error>>,
    /// What the store said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<Box<StoreError>>,
    /// What had happened and could not be stored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsaved: Vec<EntryBody>,
}

impl SessionError {
    /// An error with nothing but reason and message.
    pub fn new(reason: SessionReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            status: None,
            waits: Vec::new(),
            outcome: None,
            faults: Vec::new(),
            version: None,
            actual: None,
            found: None,
            supported: None,
            oldest: None,
            held: None,
            cause: None,
            store: None,
            unsaved: Vec::new(),
        }
    }

    pub(crate) fn invalid_state(op: Operation, status: SessionStatus, waits: Vec<CallKey>) -> Self {
        let mut message = format!("`{op}` is not possible while the session is {status}");
        if let Some((first, more)) = waits.split_first() {
            let names = more
                .iter()
                .fold(first.to_string(), |names, key| format!("{names}, {key}"));
            message = format!("{message}; these calls wait: {names}");
        }
        Self {
            status: Some(status),
            waits,
            ..Self::new(SessionReason::InvalidState, message)
        }
    }

    pub(crate) fn unknown_call(call: &CallRef) -> Self {
        let message = match call {
            CallRef::Key(key) => format!("the open turn has no call {key}"),
            CallRef::Id(_) => "the open turn has no call with this id".to_owned(),
        };
        Self::new(SessionReason::UnknownCall, message)
    }

    pub(crate) fn not_waiting(call: CallKey, outcome: Option<Outcome>) -> Self {
        let message = match outcome {
            Some(outcome) => format!("the call {call} waits for nothing: it is {outcome}"),
            None => format!("the call {call} waits for nothing"),
        };
        Self {
            outcome,
            ..Self::new(SessionReason::NotWaiting, message)
        }
    }

    pub(crate) fn wrong_wait(call: CallKey, expected: WaitKind, found: WaitKind) -> Self {
        let message = format!("the call {call} waits for a {found}, not for a {expected}");
        Self::new(SessionReason::WrongWait, message)
    }

    /// The session has gone on since it was read.
    #[must_use]
    pub fn conflict(expected: Version, actual: Version) -> Self {
        let message = format!("the session is at version {actual}, not {expected}; read it again");
        Self {
            version: Some(expected),
            actual: Some(actual),
            ..Self::new(SessionReason::Conflict, message)
        }
    }

    /// The journal does not lead to the state that it says.
    #[must_use]
    pub fn diverged(version: Version) -> Self {
        let message = format!("the entry at version {version} does not lead to the state it names");
        Self {
            version: Some(version),
            ..Self::new(SessionReason::ReplayDiverged, message)
        }
    }

    /// Another driver has taken over.
    #[must_use]
    pub fn lost_ownership() -> Self {
        let message = "another driver has taken the session over, or it was deleted";
        Self::new(SessionReason::LostOwnership, message)
    }

    /// What the store said, if it was the store.
    #[must_use]
    pub fn store_reason(&self) -> Option<StoreReason> {
        self.store.as_ref().map(|error| error.reason)
    }

    /// With what had happened and could not be stored.
    #[must_use]
    pub fn unsaved(mut self, unsaved: Vec<EntryBody>) -> Self {
        self.unsaved = unsaved;
        self
    }
}

impl From<Error> for SessionError {
    /// An error of the engine; a session's own comes back as it was.
    fn from(error: Error) -> Self {
        if let Error::Session(error) = error {
            return *error;
        }
        let reason = match &error {
            Error::Validation(_) | Error::Json(_) => SessionReason::Invalid,
            _ => SessionReason::Engine,
        };
        Self {
            cause: Some(Box::new(error.clone())),
            ..Self::new(reason, error.to_string())
        }
    }
}

impl From<Misfit> for SessionError {
    fn from(misfit: Misfit) -> Self {
        Self {
            message: misfit.to_string(),
            ..Self::diverged(misfit.version)
        }
    }
}

impl From<ValidationError> for SessionError {
    fn from(error: ValidationError) -> Self {
        Error::from(error).into()
    }
}

impl From<super::JsonError> for SessionError {
    fn from(error: super::JsonError) -> Self {
        let reason = match error.reason {
            super::JsonReason::UnsupportedVersion => SessionReason::UnsupportedVersion,
            _ => SessionReason::Invalid,
        };
        let message = error.to_string();
        let found = error.found;
        Self {
            found,
            supported: found.map(|_| crate::json::FORMAT),
            cause: Some(Box::new(error.into())),
            ..Self::new(reason, message)
        }
    }
}

impl From<StoreError> for SessionError {
    /// What a store says, as a session tells it: a conflict, another's lease and a lost fence have words of their own.
    fn from(error: StoreError) -> Self {
        let reason = match error.reason {
            StoreReason::Conflict => SessionReason::Conflict,
            StoreReason::LeaseHeld => SessionReason::Busy,
            StoreReason::Fenced | StoreReason::Gone => SessionReason::LostOwnership,
            StoreReason::UnsupportedVersion => SessionReason::UnsupportedVersion,
            _ => SessionReason::Store,
        };
        Self {
            version: error.version,
            actual: error.actual,
            held: error.held.clone(),
            store: Some(Box::new(error.clone())),
            ..Self::new(reason, error.to_string())
        }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            self.reason,
            super::text::one_line(&self.message)
        )
    }
}

impl std::error::Error for SessionError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match (&self.cause, &self.store) {
            (Some(cause), _) => Some(&**cause),
            (None, Some(store)) => Some(&**store),
            (None, None) => None,
        }
    }
}

//! How a call failed, typed for closures and as data for everybody else.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::reply::ReportedError;
use crate::error::reason::reasons;
use crate::error::{ToolError, ToolReason};
use crate::json;

/// How a call that was run, or refused for its arguments, failed. A report and a crash never blur.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ToolFailure {
    /// The handler said so.
    Reported(ReportedError),
    /// The handler did not reply.
    Crashed(ToolError),
    /// The arguments were refused; the handler did not start.
    InvalidArguments(ArgumentFaults),
}

/// What was wrong with the arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgumentFaults {
    /// In one line.
    pub message: String,
    /// Each fault, the first 20.
    pub faults: Vec<ArgumentFault>,
    /// The tool's full help, for compact tools.
    pub help: Option<String>,
}

/// One fault of the arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentFault {
    /// A JSON Pointer; for a missing property the pointer that it would have.
    pub path: String,
    /// What is wrong there.
    pub message: String,
}

reasons! {
    /// Why a call failed or was closed, as the model and the events are told.
    FailureReason, retryable [] {
        /// The handler's own error.
        Reported => "reported",
        /// The handler panicked.
        HandlerRaised => "handler_raised",
        /// The handler's task or process ended without a reply.
        HandlerExit => "handler_exit",
        /// The call passed its time limit.
        Timeout => "timeout",
        /// The reply broke the rules.
        InvalidReturn => "invalid_return",
        /// The value could not be made into content.
        EncodingFailed => "encoding_failed",
        /// The tool has no handler.
        NotFound => "not_found",
        /// The arguments were refused.
        InvalidArguments => "invalid_arguments",
        /// No tool has this name.
        UnknownTool => "unknown_tool",
        /// Closed: the response was cut off.
        Truncated => "truncated",
        /// Closed: the run was cancelled.
        Cancelled => "cancelled",
        /// Closed: a deadline passed.
        DeadlineExceeded => "deadline_exceeded",
        /// Closed: the budget has no room for the batch.
        BudgetExhausted => "budget_exhausted",
        /// Closed: another call of the turn made it impossible to go on.
        NotExecuted => "not_executed",
        /// A person did not agree to it.
        Denied => "denied",
        /// Nobody answered in time.
        Expired => "expired",
        /// It began, and a crash took the news of how it ended.
        UnknownOutcome => "unknown_outcome",
    }
}

impl From<ToolReason> for FailureReason {
    fn from(reason: ToolReason) -> Self {
        match reason {
            ToolReason::HandlerRaised => Self::HandlerRaised,
            ToolReason::HandlerExit => Self::HandlerExit,
            ToolReason::InvalidReturn => Self::InvalidReturn,
            ToolReason::NotFound => Self::NotFound,
            ToolReason::Timeout => Self::Timeout,
            ToolReason::EncodingFailed => Self::EncodingFailed,
        }
    }
}

/// A failed call as data: what events, results and the model are told. Never holds a cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallFailure {
    /// Why.
    pub reason: FailureReason,
    /// In one line, naming the tool.
    pub message: String,
    /// What the handler chose to add.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    #[serde(serialize_with = "crate::json::sorted")]
    pub details: Option<Value>,
    /// The faults of refused arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<ArgumentFault>,
    /// The tool's full help, for compact tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A value that is there, `null` included: only an absent field is `None`.
pub(crate) fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

impl CallFailure {
    /// A failure with nothing but reason and message.
    pub fn new(reason: FailureReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            details: None,
            faults: Vec::new(),
            help: None,
        }
    }

    /// As a JSON value, for results that hold one.
    #[must_use]
    pub fn to_value(&self) -> Value {
        // A failure holds text and JSON values only, so writing it cannot fail.
        json::to_value(self).unwrap_or_default()
    }

    /// The stable JSON that the model sees: `{"error": {"reason", "message", …}}`.
    #[must_use]
    pub fn to_content(&self) -> String {
        #[derive(Serialize)]
        struct Stable<'a> {
            error: &'a CallFailure,
        }
        // A failure holds text and JSON values only, so writing it cannot fail.
        json::value_to_string(&Stable { error: self }).unwrap_or_default()
    }
}

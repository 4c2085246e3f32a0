//! What ended a stream before its time.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::cause::Cause;
use super::reason::reasons;
use crate::data::{ProviderName, RequestId};

reasons! {
    /// Why a stream ended before its time.
    StreamReason, retryable [Interrupted, Stalled, Timeout] {
        /// It ended without its closing event.
        Interrupted => "interrupted",
        /// It holds an event that cannot be read.
        MalformedEvent => "malformed_event",
        /// It holds an event over the limit.
        EventTooLarge => "event_too_large",
        /// Bytes came, but no event.
        Stalled => "stalled",
        /// Nothing came in time.
        Timeout => "timeout",
        /// The caller cancelled.
        Cancelled => "cancelled",
    }
}

/// What ended a stream before its time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamError {
    /// Why.
    pub reason: StreamReason,
    /// In one line.
    pub message: String,
    /// Whose stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// How many events had come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event_index: Option<u64>,
    /// Our id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// What it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
}

impl StreamError {
    /// An error with nothing but reason and message.
    pub fn new(reason: StreamReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            provider: None,
            event_index: None,
            request_id: None,
            cause: None,
        }
    }

    /// A stream that ended without its closing event.
    #[must_use]
    pub fn interrupted() -> Self {
        Self::new(
            StreamReason::Interrupted,
            "the stream ended without its closing event",
        )
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}",
            self.reason,
            super::text::one_line(&self.message)
        )
    }
}

super::sourced!(StreamError);

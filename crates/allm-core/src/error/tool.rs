//! How a handler crashed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Map as JsonMap;

use super::cause::Cause;
use super::reason::reasons;
use super::text::one_line;
use crate::data::{Map, ToolCallId, ToolName};

reasons! {
    /// Why there is no reply.
    ToolReason, retryable [] {
        /// The handler, or the executor, panicked.
        HandlerRaised => "handler_raised",
        /// The handler's task was stopped, or its process died without a reply.
        HandlerExit => "handler_exit",
        /// The reply, or a policy closure, broke the rules.
        InvalidReturn => "invalid_return",
        /// The tool has no handler.
        NotFound => "not_found",
        /// The call passed its limit.
        Timeout => "timeout",
        /// The value could not be made into content.
        EncodingFailed => "encoding_failed",
    }
}

/// A call that got no usable reply. An error that the handler *reported* is never one of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolError {
    /// Why.
    pub reason: ToolReason,
    /// In one line; fit for the model.
    pub message: String,
    /// The tool; filled in by the runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<ToolName>,
    /// The call; filled in by the runner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
    /// What it came from: a panic text, an offending value. For the application, never for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// More.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

impl ToolError {
    /// An error with nothing but reason and message.
    pub fn new(reason: ToolReason, message: impl Into<String>) -> Self {
        Self {
            reason,
            message: message.into(),
            tool_name: None,
            tool_call_id: None,
            cause: None,
            metadata: Map::new(),
        }
    }

    /// With what it came from.
    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(Cause::new(cause));
        self
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.tool_name {
            write!(f, "{}: ", one_line(name.as_str()))?;
        }
        write!(f, "{}: {}", self.reason, one_line(&self.message))
    }
}

super::sourced!(ToolError);

/// A value that could not be made into content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncodeError {
    /// Why.
    pub message: String,
}

impl EncodeError {
    /// Says why.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the value could not be encoded: {}",
            one_line(&self.message)
        )
    }
}

impl std::error::Error for EncodeError {}

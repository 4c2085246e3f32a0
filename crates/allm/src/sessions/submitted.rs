//! What is told of a call from outside.

use allm_core::json::Sorted;
use allm_core::{CallFailure, Content, FailureReason};

/// A result from outside: text or parts as they are, any other value as compact JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct SubmittedResult(pub(crate) Content);

impl From<&str> for SubmittedResult {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for SubmittedResult {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<Content> for SubmittedResult {
    fn from(content: Content) -> Self {
        Self(content)
    }
}

impl From<serde_json::Value> for SubmittedResult {
    fn from(value: serde_json::Value) -> Self {
        match value {
            serde_json::Value::String(text) => Self(text.into()),
            value => Self(Sorted(&value).to_string().into()),
        }
    }
}

/// What the model is told of a failure from outside.
pub(crate) fn error_content(message: impl Into<String>) -> Content {
    CallFailure::new(FailureReason::Reported, message)
        .to_content()
        .into()
}

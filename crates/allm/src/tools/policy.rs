//! What becomes of a run when a call fails.

use std::fmt;
use std::sync::Arc;

use allm_core::{ReplyValue, ToolCall, ToolFailure};
use serde::Serialize;

/// What becomes of a run when a call fails.
///
/// It is asked about calls that were run, or refused for their arguments; not about calls that the library closed, nor
/// about those that cancellation or a deadline stopped.
///
/// ```
/// use allm::{ErrorDecision, OnToolError, ToolFailure};
///
/// let policy = OnToolError::decide(|call, failure| match failure {
///     ToolFailure::Reported(_) => ErrorDecision::Continue,
///     ToolFailure::Crashed(_) if call.name == "search" => ErrorDecision::continue_with("nothing found"),
///     _ => ErrorDecision::Halt,
/// });
/// # let _ = policy;
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnToolError {
    /// The model is told of the failure and the run goes on.
    #[default]
    Continue,
    /// The model's answer is the failure, and the run halts with `tool_error`.
    Halt,
    /// A closure decides; [`decide`](Self::decide) makes it.
    Decide(Arc<Decide>),
}

/// A closure that decides about a failed call, with the call as it stands on the response.
///
/// It is called once for each failed call, off the async threads; several calls may be in it at once. A panic in it, and
/// not returning within the call's time limit, halts the run.
pub type Decide = dyn Fn(&ToolCall, &ToolFailure) -> ErrorDecision + Send + Sync;

impl OnToolError {
    /// Lets a closure decide.
    pub fn decide(
        closure: impl Fn(&ToolCall, &ToolFailure) -> ErrorDecision + Send + Sync + 'static,
    ) -> Self {
        Self::Decide(Arc::new(closure))
    }
}

impl fmt::Debug for OnToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Continue => "Continue",
            Self::Halt => "Halt",
            Self::Decide(_) => "Decide(…)",
        })
    }
}

/// What a closure decided about a failed call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ErrorDecision {
    /// Tell the model of the failure and go on.
    Continue,
    /// Tell the model this instead and go on; [`continue_with`](Self::continue_with) makes it.
    ContinueWith(ReplyValue),
    /// Halt the run with `tool_error`.
    Halt,
}

impl ErrorDecision {
    /// Tell the model this instead of the failure, and go on. A value that does not serialise halts the run.
    pub fn continue_with<T: Serialize>(value: T) -> Self {
        Self::ContinueWith(ReplyValue::of(&value))
    }
}

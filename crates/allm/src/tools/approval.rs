//! Which calls a person must agree to, and what becomes of calls that nobody knows the end of.

use std::sync::Arc;

use allm_core::{Map, SessionId, Tool, ToolCall};

/// A closure that says whether a person must agree to a call.
pub(crate) type ApprovalPolicyFn =
    Arc<dyn Fn(&ApprovalRequest<'_>) -> ApprovalAnswer + Send + Sync>;

/// A call that is to be run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest<'a> {
    /// The tool.
    pub tool: &'a Tool,
    /// The call.
    pub call: &'a ToolCall,
    /// What it would be run with; they fit the tool's schema.
    pub arguments: &'a Map,
    /// The session, if there is one.
    pub session_id: Option<&'a SessionId>,
}

/// Whether a person must agree to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalAnswer {
    /// It may run.
    Run,
    /// A person must agree first.
    Ask {
        /// Why, for the person.
        reason: Option<String>,
    },
}

impl ApprovalAnswer {
    /// A person must agree first, for this reason.
    pub fn ask(reason: impl Into<String>) -> Self {
        Self::Ask {
            reason: Some(reason.into()),
        }
    }
}

/// What becomes of a call that began and whose outcome a crash destroyed, when it must not be run again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnUnknownOutcome {
    /// The model is told that the tool may have acted, and the run goes on.
    #[default]
    TellModel,
    /// The call waits for a person, who gives its result or lets it run again.
    AskPerson,
}

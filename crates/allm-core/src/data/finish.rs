//! Why a model stopped.

use serde::{Deserialize, Serialize};

/// Why a model stopped. The provider's own word is kept beside it, as `raw_finish_reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// It said all it had to say.
    Stop,
    /// It ran into a limit of tokens.
    Length,
    /// It waits for the results of its calls.
    ToolCalls,
    /// The provider cut it off, or it refused.
    ContentFilter,
    /// The call failed.
    Error,
    /// Something that has no name here.
    Other,
}

impl FinishReason {
    /// Whether the answer was cut: what it holds may be incomplete, and its calls are not run.
    #[must_use]
    pub const fn is_cut(self) -> bool {
        matches!(self, Self::Length | Self::ContentFilter | Self::Error)
    }

    /// The reason that holds for an answer with (or without) calls.
    ///
    /// `ToolCalls` exactly when there is a call and the answer was not cut; a provider that says `tool_calls` without a
    /// call gives `Other`.
    #[must_use]
    pub const fn settled(reason: Option<Self>, has_calls: HasCalls) -> Option<Self> {
        match (reason, has_calls) {
            (Some(reason), _) if reason.is_cut() => Some(reason),
            (_, HasCalls::Yes) => Some(Self::ToolCalls),
            (Some(Self::ToolCalls), HasCalls::No) => Some(Self::Other),
            (reason, HasCalls::No) => reason,
        }
    }

    /// The snake_case text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolCalls => "tool_calls",
            Self::ContentFilter => "content_filter",
            Self::Error => "error",
            Self::Other => "other",
        }
    }
}

/// Whether an answer holds a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasCalls {
    /// At least one.
    Yes,
    /// None.
    No,
}

impl HasCalls {
    /// Of a list of calls.
    #[must_use]
    pub const fn of<T>(calls: &[T]) -> Self {
        if calls.is_empty() {
            Self::No
        } else {
            Self::Yes
        }
    }
}

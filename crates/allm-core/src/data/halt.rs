//! Why a run stopped.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Why a run stopped. In JSON it is the bare text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum HaltReason {
    /// The model gave its final answer.
    Completed,
    /// The turns were used up.
    MaxTurns,
    /// `halt_when` said so.
    HaltWhen,
    /// A tool asked a person.
    AskUser,
    /// A tool failed under a halting policy.
    ToolError,
    /// The caller cancelled.
    Cancelled,
    /// Calls are left for the caller.
    ManualToolCalls,
    /// A turn failed.
    Error,
    /// The model was cut off in the middle of its calls.
    Truncated,
    /// A deadline passed.
    DeadlineExceeded,
    /// A budget was used up.
    BudgetExhausted,
    /// A handler halted the run with a reason of its own.
    Custom(CustomHalt),
}

/// A halt reason of the application's own: not empty, and not one that the loop uses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CustomHalt(Arc<str>);

impl CustomHalt {
    /// The reason with this text; `None` if it is empty or one of the loop's.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty() && !is_reserved(text)).then(|| Self(text.into()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The reasons of the loop itself, with their texts.
const RESERVED: [(HaltReason, &str); 11] = [
    (HaltReason::Completed, "completed"),
    (HaltReason::MaxTurns, "max_turns"),
    (HaltReason::HaltWhen, "halt_when"),
    (HaltReason::AskUser, "ask_user"),
    (HaltReason::ToolError, "tool_error"),
    (HaltReason::Cancelled, "cancelled"),
    (HaltReason::ManualToolCalls, "manual_tool_calls"),
    (HaltReason::Error, "error"),
    (HaltReason::Truncated, "truncated"),
    (HaltReason::DeadlineExceeded, "deadline_exceeded"),
    (HaltReason::BudgetExhausted, "budget_exhausted"),
];

/// The texts that a handler cannot halt with.
pub(crate) fn reserved_texts() -> impl Iterator<Item = &'static str> {
    RESERVED.iter().map(|(_, text)| *text)
}

/// Whether a handler cannot halt with this text. Names are compared exactly.
#[must_use]
pub fn is_reserved(text: &str) -> bool {
    reserved_texts().any(|reserved| reserved == text)
}

impl HaltReason {
    /// The reason with this text: one of the loop's, else a custom one; `None` for the empty text.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        if text.is_empty() {
            return None;
        }
        let reserved = RESERVED.iter().find(|(_, name)| *name == text);
        Some(match reserved {
            Some((reason, _)) => reason.clone(),
            None => Self::Custom(CustomHalt(text.into())),
        })
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Custom(reason) => reason.as_str(),
            reason => reason.code(),
        }
    }

    /// The text, and `custom` for a reason of the application's own.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::MaxTurns => "max_turns",
            Self::HaltWhen => "halt_when",
            Self::AskUser => "ask_user",
            Self::ToolError => "tool_error",
            Self::Cancelled => "cancelled",
            Self::ManualToolCalls => "manual_tool_calls",
            Self::Error => "error",
            Self::Truncated => "truncated",
            Self::DeadlineExceeded => "deadline_exceeded",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Custom(_) => "custom",
        }
    }
}

impl fmt::Display for HaltReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for HaltReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for HaltReason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_text(&text).ok_or_else(|| de::Error::custom("a halt reason is not empty"))
    }
}

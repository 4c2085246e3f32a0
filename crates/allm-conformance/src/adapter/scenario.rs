//! What the provider says in each scenario.

use allm_core::FinishReason;

/// The text of most scenarios.
pub const TEXT: &str = "Hello, wörld 🌍!";
/// The text that comes before something goes wrong.
pub const PARTIAL: &str = "Hel";
/// The tool that the model calls.
pub const TOOL: &str = "get_weather";
/// The argument text of the first call.
pub const ARGUMENTS: &str = r#"{"city": "Boston"}"#;
/// The argument text of the second call.
pub const OTHER_ARGUMENTS: &str = r#"{"city": "Zürich", "days": 2}"#;
/// Argument text that is no JSON.
pub const MALFORMED: &str = r#"{"city": "#;
/// What the model thinks.
pub const THOUGHT: &str = "The user greets me.";
/// How the model refuses.
pub const REFUSAL: &str = "I cannot help with that.";
/// The key of every call. It may stand in the auth header and nowhere else.
pub const KEY: &str = "sk-conformance-0123456789abcdef";

/// What the provider says. The adapter is given that, on its own wire, by the subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Scenario {
    /// [`TEXT`], ended as usual; the prompt took 12 tokens and the answer 4.
    Text,
    /// [`TEXT`] in at least three pieces.
    TextInPieces,
    /// An answer without any content, ended as usual.
    Empty,
    /// One call of [`TOOL`] with [`ARGUMENTS`].
    OneCall,
    /// Two calls of [`TOOL`], with [`ARGUMENTS`] and [`OTHER_ARGUMENTS`].
    ParallelCalls,
    /// One call of [`TOOL`] whose [`ARGUMENTS`] come in at least three pieces.
    CallInPieces,
    /// One call of [`TOOL`] with [`MALFORMED`] arguments, ended as if all were well.
    MalformedCall,
    /// `Let me look.`, a call of [`TOOL`] with [`ARGUMENTS`], and `Done.` as a block of its own.
    TextAroundCall,
    /// [`THOUGHT`] as readable thinking, then [`TEXT`].
    Reasoning,
    /// [`TEXT`]; the prompt took 20 tokens, 5 of them from a cache, and the answer 10, 4 of them thinking.
    Usage,
    /// The model refuses with [`REFUSAL`].
    Refusal,
    /// [`PARTIAL`], cut by the limit of tokens.
    Length,
    /// A call of [`TOOL`] that the limit of tokens cuts off within its arguments.
    LengthInCall,
    /// The key is not accepted.
    Unauthorized,
    /// Too many requests; try again after 2 s.
    RateLimited,
    /// The provider is overloaded.
    Unavailable,
    /// [`PARTIAL`], then an error of the provider in the stream.
    FailsMidway,
    /// [`PARTIAL`], then the connection closes without the provider's own end.
    Cut,
    /// Nothing, for ever.
    Silent,
    /// [`PARTIAL`], then nothing, for ever.
    FallsSilent,
    /// The key is not accepted, and the provider's text repeats [`KEY`].
    EchoesKey,
}

/// How an answer ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// With a completion of this reason.
    Whole(FinishReason),
    /// With an error before any content.
    Refused,
    /// With an error after some content.
    Broken,
}

impl Scenario {
    /// Every scenario once.
    pub const ALL: [Self; 21] = [
        Self::Text,
        Self::TextInPieces,
        Self::Empty,
        Self::OneCall,
        Self::ParallelCalls,
        Self::CallInPieces,
        Self::MalformedCall,
        Self::TextAroundCall,
        Self::Reasoning,
        Self::Usage,
        Self::Refusal,
        Self::Length,
        Self::LengthInCall,
        Self::Unauthorized,
        Self::RateLimited,
        Self::Unavailable,
        Self::FailsMidway,
        Self::Cut,
        Self::Silent,
        Self::FallsSilent,
        Self::EchoesKey,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::TextInPieces => "text_in_pieces",
            Self::Empty => "empty",
            Self::OneCall => "one_call",
            Self::ParallelCalls => "parallel_calls",
            Self::CallInPieces => "call_in_pieces",
            Self::MalformedCall => "malformed_call",
            Self::TextAroundCall => "text_around_call",
            Self::Reasoning => "reasoning",
            Self::Usage => "usage",
            Self::Refusal => "refusal",
            Self::Length => "length",
            Self::LengthInCall => "length_in_call",
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::Unavailable => "unavailable",
            Self::FailsMidway => "fails_midway",
            Self::Cut => "cut",
            Self::Silent => "silent",
            Self::FallsSilent => "falls_silent",
            Self::EchoesKey => "echoes_key",
        }
    }

    pub(super) const fn ending(self) -> Ending {
        match self {
            Self::Text | Self::TextInPieces | Self::Empty | Self::Reasoning | Self::Usage => {
                Ending::Whole(FinishReason::Stop)
            }
            Self::OneCall
            | Self::ParallelCalls
            | Self::CallInPieces
            | Self::MalformedCall
            | Self::TextAroundCall => Ending::Whole(FinishReason::ToolCalls),
            Self::Refusal => Ending::Whole(FinishReason::ContentFilter),
            Self::Length | Self::LengthInCall => Ending::Whole(FinishReason::Length),
            Self::Unauthorized
            | Self::RateLimited
            | Self::Unavailable
            | Self::Silent
            | Self::EchoesKey => Ending::Refused,
            Self::FailsMidway | Self::Cut | Self::FallsSilent => Ending::Broken,
        }
    }

    /// The visible text of a whole answer. A refusal may come with any.
    pub(super) const fn text(self) -> Option<&'static str> {
        match self {
            Self::Text | Self::TextInPieces | Self::Reasoning | Self::Usage => Some(TEXT),
            Self::TextAroundCall => Some("Let me look.Done."),
            Self::Length => Some(PARTIAL),
            Self::Refusal => None,
            _ => Some(""),
        }
    }

    /// The argument texts of the calls of a whole answer.
    pub(super) const fn calls(self) -> Option<&'static [&'static str]> {
        match self {
            Self::OneCall | Self::CallInPieces | Self::TextAroundCall => Some(&[ARGUMENTS]),
            Self::ParallelCalls => Some(&[ARGUMENTS, OTHER_ARGUMENTS]),
            Self::MalformedCall => Some(&[MALFORMED]),
            // How much of it had come is the subject's choice.
            Self::LengthInCall => None,
            _ => Some(&[]),
        }
    }
}

//! What happens while a run goes on.

use std::sync::Arc;

use bytestring::ByteString;
use serde::{Deserialize, Serialize};
use serde_json::{Map as JsonMap, Value};

use super::Map;
use super::answer::AnswerTo;
use super::call_failure::CallFailure;
use super::chat::ChatResult;
use super::finish::FinishReason;
use super::id::{PartId, RequestId, ResponseId, ToolCallId, ToolName};
use super::message::Message;
use super::part::Part;
use super::response::{RateLimit, Warning};
use super::step::StepResult;
use super::usage::Usage;
use crate::error::Failure;
use crate::json::RawJson;
use crate::json::tagged::tagged;

/// What happens while a run goes on: a closed union of 19 tags.
///
/// JSON is `{"type": "<tag>", …fields}`. Fields may be added in a release, tags may not without a break.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The provider begins its answer.
    MessageStarted(Box<MessageStarted>),
    /// A piece of visible text.
    TextDelta(TextDelta),
    /// The whole visible text.
    TextCompleted(TextCompleted),
    /// The model begins a call.
    ToolCallStarted(ToolCallStarted),
    /// A piece of a call's argument text.
    ToolCallDelta(ToolCallDelta),
    /// A whole call.
    ToolCallCompleted(Arc<ToolCallCompleted>),
    /// The provider's answer is whole.
    MessageCompleted(Arc<MessageCompleted>),
    /// What came over the wire; only when asked for.
    RawChunk(Box<RawChunk>),
    /// Something failed.
    Error(Box<ErrorEvent>),
    /// A handler starts.
    ToolExecutionStarted(Box<ToolExecutionStarted>),
    /// A handler ended; what happened before any policy.
    ToolExecutionCompleted(Box<ToolExecutionCompleted>),
    /// A call has its answer for the model.
    ToolResultEncoded(ToolResultEncoded),
    /// A tool asks a person.
    AskUserRequested(Box<AskUserRequested>),
    /// A tool ends the run.
    ToolHalt(Box<ToolHalt>),
    /// A turn is finished.
    StepCompleted(Arc<StepResult>),
    /// The run is finished.
    ChatCompleted(ChatCompleted),
    /// A handler reports how far it is.
    ToolProgress(Box<ToolProgress>),
    /// A piece of thinking; never part of the text.
    ReasoningDelta(ReasoningDelta),
    /// A model call is made again; a display drops the partial text of that turn.
    AttemptReset(AttemptReset),
}

tagged!(Event {
    "message_started" => MessageStarted(Box<MessageStarted>),
    "text_delta" => TextDelta(TextDelta),
    "text_completed" => TextCompleted(TextCompleted),
    "tool_call_started" => ToolCallStarted(ToolCallStarted),
    "tool_call_delta" => ToolCallDelta(ToolCallDelta),
    "tool_call_completed" => ToolCallCompleted(Arc<ToolCallCompleted>),
    "message_completed" => MessageCompleted(Arc<MessageCompleted>),
    "raw_chunk" => RawChunk(Box<RawChunk>),
    "error" => Error(Box<ErrorEvent>),
    "tool_execution_started" => ToolExecutionStarted(Box<ToolExecutionStarted>),
    "tool_execution_completed" => ToolExecutionCompleted(Box<ToolExecutionCompleted>),
    "tool_result_encoded" => ToolResultEncoded(ToolResultEncoded),
    "ask_user_requested" => AskUserRequested(Box<AskUserRequested>),
    "tool_halt" => ToolHalt(Box<ToolHalt>),
    "step_completed" => StepCompleted(Arc<StepResult>),
    "chat_completed" => ChatCompleted(ChatCompleted),
    "tool_progress" => ToolProgress(Box<ToolProgress>),
    "reasoning_delta" => ReasoningDelta(ReasoningDelta),
    "attempt_reset" => AttemptReset(AttemptReset),
});

impl Event {
    /// Every tag of the union, in the order of the contract.
    pub const TAGS: [&'static str; 19] = [
        "message_started",
        "text_delta",
        "text_completed",
        "tool_call_started",
        "tool_call_delta",
        "tool_call_completed",
        "message_completed",
        "raw_chunk",
        "error",
        "tool_execution_started",
        "tool_execution_completed",
        "tool_result_encoded",
        "ask_user_requested",
        "tool_halt",
        "step_completed",
        "chat_completed",
        "tool_progress",
        "reasoning_delta",
        "attempt_reset",
    ];

    /// This event's tag.
    #[must_use]
    pub const fn tag(&self) -> &'static str {
        match self {
            Self::MessageStarted(_) => "message_started",
            Self::TextDelta(_) => "text_delta",
            Self::TextCompleted(_) => "text_completed",
            Self::ToolCallStarted(_) => "tool_call_started",
            Self::ToolCallDelta(_) => "tool_call_delta",
            Self::ToolCallCompleted(_) => "tool_call_completed",
            Self::MessageCompleted(_) => "message_completed",
            Self::RawChunk(_) => "raw_chunk",
            Self::Error(_) => "error",
            Self::ToolExecutionStarted(_) => "tool_execution_started",
            Self::ToolExecutionCompleted(_) => "tool_execution_completed",
            Self::ToolResultEncoded(_) => "tool_result_encoded",
            Self::AskUserRequested(_) => "ask_user_requested",
            Self::ToolHalt(_) => "tool_halt",
            Self::StepCompleted(_) => "step_completed",
            Self::ChatCompleted(_) => "chat_completed",
            Self::ToolProgress(_) => "tool_progress",
            Self::ReasoningDelta(_) => "reasoning_delta",
            Self::AttemptReset(_) => "attempt_reset",
        }
    }

    /// A piece of visible text of a block without an id.
    pub fn text_delta(delta: impl Into<ByteString>) -> Self {
        Self::TextDelta(TextDelta {
            id: None,
            delta: delta.into(),
        })
    }

    /// An error.
    pub fn error(failure: impl Into<Failure>) -> Self {
        Self::Error(Box::new(ErrorEvent {
            error: failure.into(),
        }))
    }
}

/// The provider begins its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageStarted {
    /// The assistant message as it begins: empty but for its origin.
    pub message: Message,
    /// Our id of the outermost call.
    pub request_id: RequestId,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<ResponseId>,
    /// The model that answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A piece of visible text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextDelta {
    /// The block that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<PartId>,
    /// The piece; a slice of the frame that it came in.
    pub delta: ByteString,
}

/// The whole visible text, of all blocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextCompleted {
    /// The block, where there is one only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<PartId>,
    /// The text; it beats the pieces.
    pub text: String,
}

/// The model begins a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallStarted {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// The tool.
    pub name: ToolName,
}

/// A piece of a call's argument text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallDelta {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// The piece.
    pub arguments_delta: ByteString,
}

/// A whole call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCallCompleted {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// The tool.
    pub name: ToolName,
    /// The arguments; `null` if the text is malformed.
    #[serde(deserialize_with = "Option::deserialize")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub arguments: Option<Arc<Map>>,
    /// The provider's text exactly.
    pub raw_arguments: ByteString,
    /// What a repair kept.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
}

/// The provider's answer is whole. What it says beats the pieces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageCompleted {
    /// The assistant message: parts in order, opaque values, calls, origin.
    pub message: Message,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<FinishReason>,
    /// The provider's own word for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_finish_reason: Option<String>,
    /// What the call used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<ResponseId>,
    /// The model that really answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's id of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_request_id: Option<String>,
    /// What was left out or looked odd.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// What the provider says of its limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    /// Provider facts without a field.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub extra: Map,
    /// The adapter's own; merged into the response's.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    #[serde(serialize_with = "crate::json::sorted")]
    pub metadata: Map,
    /// The provider's body; only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<RawJson>,
}

impl MessageCompleted {
    /// A completion with nothing but its message.
    #[must_use]
    pub fn new(message: Message) -> Self {
        Self {
            message,
            finish_reason: None,
            raw_finish_reason: None,
            usage: None,
            response_id: None,
            model: None,
            provider_request_id: None,
            warnings: Vec::new(),
            rate_limit: None,
            extra: Map::new(),
            metadata: Map::new(),
            raw: None,
        }
    }
}

/// What came over the wire.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawChunk {
    /// The chunk's exact text.
    pub chunk: RawJson,
    /// What it says of usage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// Something failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorEvent {
    /// The failure.
    pub error: Failure,
}

/// A handler starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolExecutionStarted {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// The tool.
    pub name: ToolName,
    /// What the handler is given.
    #[serde(serialize_with = "crate::json::sorted")]
    pub arguments: Arc<Map>,
}

/// A handler ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolExecutionCompleted {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// The tool.
    pub name: ToolName,
    /// What happened, before any policy.
    pub result: ExecutionResult,
}

/// What happened in a handler, before any policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ExecutionResult {
    /// It gave a value.
    #[serde(serialize_with = "crate::json::sorted")]
    Ok(Value),
    /// It failed.
    Error(CallFailure),
    /// It asked.
    AskUser {
        /// The question.
        question: String,
        /// For the user interface.
        #[serde(serialize_with = "crate::json::sorted")]
        opts: Map,
        /// Who gets the answer.
        #[serde(default, skip_serializing_if = "AnswerTo::is_model")]
        answer_to: AnswerTo,
    },
    /// It ended the run.
    Halt {
        /// Why.
        reason: String,
        /// With what.
        #[serde(serialize_with = "crate::json::sorted")]
        value: Value,
    },
}

/// A call has its answer for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolResultEncoded {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// What the model is told.
    pub content: String,
    /// The pictures and files that it gets with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Part>,
    /// Whether the result reports a failure.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub is_error: bool,
}

/// A tool asks a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskUserRequested {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: ToolName,
    /// The question.
    pub question: String,
    /// For the user interface.
    #[serde(serialize_with = "crate::json::sorted")]
    pub opts: Map,
    /// Who gets the answer. If it is the tool, the call stays open.
    #[serde(default, skip_serializing_if = "AnswerTo::is_model")]
    pub answer_to: AnswerTo,
}

/// A tool ends the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolHalt {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub tool_call_id: ToolCallId,
    /// Why.
    pub reason: String,
    /// The halt's value, or the failure.
    #[serde(serialize_with = "crate::json::sorted")]
    pub result: Value,
    /// What the model is told.
    pub content: String,
    /// Whether the result reports a failure.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub is_error: bool,
}

/// The run is finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChatCompleted {
    /// Where it stands and why.
    pub result: Arc<ChatResult>,
}

/// A handler reports how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolProgress {
    /// The call's place in the response.
    pub index: u32,
    /// The call's id.
    pub id: ToolCallId,
    /// How far.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// Of how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// In words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A piece of thinking.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasoningDelta {
    /// The block that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<PartId>,
    /// The piece.
    pub delta: ByteString,
}

/// A model call is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AttemptReset {
    /// The turn.
    pub turn: u32,
    /// Which attempt begins now.
    pub attempt: u32,
}

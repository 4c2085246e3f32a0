//! Plain values: messages, threads, requests, answers, tools, events and results.
//!
//! None of them holds a handle, a closure or a secret (a [`Tool`] may carry its handler, which is not part of its
//! data). Constructors do not validate; [`validate`](crate::validate) does, in one explicit call.

mod answer;
mod arguments;
pub(crate) mod base64_text;
mod call_failure;
mod chat;
mod content;
mod document;
mod effect;
mod event;
mod exhausted;
mod finish;
mod halt;
mod hash;
pub(crate) mod hex;
mod id;
mod media;
mod message;
mod messages;
pub(crate) mod millis;
mod model_ref;
mod part;
mod price;
mod reply;
mod request;
mod response;
mod settings;
mod step;
pub(crate) mod step_form;
mod store;
mod thread;
mod timestamp;
mod tool;
mod tool_call;
mod tool_spec;
mod usage;

pub use answer::{Answer, AnswerTo};
pub(crate) use arguments::means_none;
pub use arguments::{ArgumentLimits, MalformedArguments};
pub(crate) use call_failure::present;
pub use call_failure::{ArgumentFault, ArgumentFaults, CallFailure, FailureReason, ToolFailure};
pub use chat::ChatResult;
pub use content::Content;
pub use effect::Effect;
pub use event::{
    AskUserRequested, AttemptReset, ChatCompleted, ErrorEvent, Event, ExecutionResult,
    MessageCompleted, MessageStarted, RawChunk, ReasoningDelta, TextCompleted, TextDelta,
    ToolCallCompleted, ToolCallDelta, ToolCallStarted, ToolExecutionCompleted,
    ToolExecutionStarted, ToolHalt, ToolProgress, ToolResultEncoded,
};
pub use exhausted::ExhaustedBudget;
pub use finish::{FinishReason, HasCalls};
pub use halt::{CustomHalt, HaltReason, is_reserved};
pub use hash::Hash;
pub use hex::InvalidHex;
pub use id::{
    Cursor, InputId, PartId, ProviderName, RequestId, ResponseId, SessionId, TenantId, ToolCallId,
    ToolName, WriterId,
};
pub use media::{File, Image, Source};
pub use message::{Message, Origin, Role};
pub use messages::{Iter as MessagesIter, Messages};
pub use model_ref::{ModelRef, ModelText};
pub use part::{
    Detail, FilePart, ImagePart, Opaque, OpaquePart, Part, ReasoningKind, ReasoningPart,
    RefusalPart, TextPart,
};
pub use price::{Price, PriceList};
pub use reply::{ReplyValue, ReportedError, ToolReply};
pub use request::Request;
pub use response::{RateLimit, RateWindow, Response, Warning};
pub use settings::{
    Effort, JsonSchemaFormat, ParallelCalls, PromptCache, Reasoning, ResponseFormat, Retention,
    Strict, Summary, ToolChoice, Verbosity,
};
pub use step::{Mode, StepResult};
pub use store::{
    AppendId, ApprovalId, Claim, DeleteIf, Entry, EntryClass, Fence, Head, HeadUpdate, HeldLease,
    Lease, LeaseFilter, Link, LoadFrom, Loaded, NewSession, Page, PageRequest, Position, RunId,
    SessionFilter, SessionStatus, SessionUid, Snapshot, Takeover, Version, check_append,
    verify_chain,
};
pub use thread::Thread;
pub use timestamp::{InvalidTimestamp, Timestamp};
pub use tool::{ApprovalRule, Tool};
pub(crate) use tool_call::read_arguments;
pub use tool_call::{ORIGINAL_ID, ORIGINAL_NAME, ToolCall};
pub use tool_spec::{FunctionSpec, ProviderTool, ToolSpec};
pub use usage::{Cost, Usage};

/// A JSON object.
pub type Map = serde_json::Map<String, serde_json::Value>;

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
pub(crate) fn is_false(value: &bool) -> bool {
    !value
}

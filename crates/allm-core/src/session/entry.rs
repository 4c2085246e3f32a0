//! What stands in the journal of a session.

mod input;
mod progress;
mod recovered;

use serde::{Deserialize, Serialize};

use crate::data::{AppendId, EntryClass, Hash, InputId, Timestamp, Version, WriterId};
use crate::json::Document;
use crate::json::tagged::tagged;

pub use input::{
    Annotated, Answered, ApprovalDecided, Created, Decision, Delivery, Denied, Edited, Expired,
    LateOutcome, QueuedMessage, RerunAllowed, ResultSubmitted, StopRequested, UserMessage,
};
pub use progress::{
    ApprovePlan, CallPlan, CallsPlanned, Halted, Hooks, ManualPlan, ModelEnd, ModelFailed,
    ModelResponded, Operation, OutcomePolicy, OutcomeSource, PlanOfCall, RecordedTool, RefusePlan,
    RunFailed, RunPlan, RunStarted, ToolIntent, ToolOutcomeEntry, WentOn,
};
pub use recovered::Recovered;

/// One record of a session's journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalEntry {
    /// The version of the session after it.
    pub version: Version,
    /// When, by the store's clock; never before the entry before it.
    pub at: Timestamp,
    /// Who wrote it.
    pub writer: WriterId,
    /// The number of the machine's rules.
    pub machine: u32,
    /// The append that it came with.
    pub append_id: AppendId,
    /// The caller's name for the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_id: Option<InputId>,
    /// The session's hash after it.
    pub state_hash: Hash,
    /// What happened.
    pub body: EntryBody,
}

impl Document for JournalEntry {
    const TYPE: &'static str = "entry";
}

/// What happened to a session. The first ten anyone may append, the others only whoever drives the session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EntryBody {
    /// The session begins.
    Created(Box<Created>),
    /// A message for the model.
    UserMessage(Box<UserMessage>),
    /// A question was answered.
    Answered(Answered),
    /// A result came from outside.
    ResultSubmitted(ResultSubmitted),
    /// A person decided about a call.
    ApprovalDecided(Box<ApprovalDecided>),
    /// A call of unknown outcome may be run again.
    RerunAllowed(RerunAllowed),
    /// Somebody wants the run to stop.
    StopRequested(StopRequested),
    /// The caller's own facts changed.
    Annotated(Box<Annotated>),
    /// A result that came after the outcome was recorded.
    LateOutcome(LateOutcome),
    /// A wait was not answered in time.
    Expired(Expired),
    /// A run begins.
    RunStarted(Box<RunStarted>),
    /// The model answered.
    ModelResponded(Box<ModelResponded>),
    /// A model call ended without an answer.
    ModelFailed(Box<ModelFailed>),
    /// What becomes of the calls of an answer.
    CallsPlanned(CallsPlanned),
    /// A call is about to be run.
    ToolIntent(Box<ToolIntent>),
    /// What a call came to.
    ToolOutcome(Box<ToolOutcomeEntry>),
    /// Something outside the machine ends the run.
    Halted(Halted),
    /// `halt_when` lets the run go on.
    WentOn(WentOn),
    /// The driver found that the run cannot go on.
    RunFailed(RunFailed),
    /// Somebody took an unfinished run over.
    Recovered(Recovered),
}

tagged!(EntryBody {
    "created" => Created(Box<Created>),
    "user_message" => UserMessage(Box<UserMessage>),
    "answered" => Answered(Answered),
    "result_submitted" => ResultSubmitted(ResultSubmitted),
    "approval_decided" => ApprovalDecided(Box<ApprovalDecided>),
    "rerun_allowed" => RerunAllowed(RerunAllowed),
    "stop_requested" => StopRequested(StopRequested),
    "annotated" => Annotated(Box<Annotated>),
    "late_outcome" => LateOutcome(LateOutcome),
    "expired" => Expired(Expired),
    "run_started" => RunStarted(Box<RunStarted>),
    "model_responded" => ModelResponded(Box<ModelResponded>),
    "model_failed" => ModelFailed(Box<ModelFailed>),
    "calls_planned" => CallsPlanned(CallsPlanned),
    "tool_intent" => ToolIntent(Box<ToolIntent>),
    "tool_outcome" => ToolOutcome(Box<ToolOutcomeEntry>),
    "halted" => Halted(Halted),
    "went_on" => WentOn(WentOn),
    "run_failed" => RunFailed(RunFailed),
    "recovered" => Recovered(Recovered),
});

impl EntryBody {
    /// Who may append it.
    #[must_use]
    pub const fn class(&self) -> EntryClass {
        match self {
            Self::Created(_)
            | Self::UserMessage(_)
            | Self::Answered(_)
            | Self::ResultSubmitted(_)
            | Self::ApprovalDecided(_)
            | Self::RerunAllowed(_)
            | Self::StopRequested(_)
            | Self::Annotated(_)
            | Self::LateOutcome(_)
            | Self::Expired(_) => EntryClass::Input,
            Self::RunStarted(_)
            | Self::ModelResponded(_)
            | Self::ModelFailed(_)
            | Self::CallsPlanned(_)
            | Self::ToolIntent(_)
            | Self::ToolOutcome(_)
            | Self::Halted(_)
            | Self::WentOn(_)
            | Self::RunFailed(_)
            | Self::Recovered(_) => EntryClass::Progress,
        }
    }

    /// The stable snake_case name of its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Created(_) => "created",
            Self::UserMessage(_) => "user_message",
            Self::Answered(_) => "answered",
            Self::ResultSubmitted(_) => "result_submitted",
            Self::ApprovalDecided(_) => "approval_decided",
            Self::RerunAllowed(_) => "rerun_allowed",
            Self::StopRequested(_) => "stop_requested",
            Self::Annotated(_) => "annotated",
            Self::LateOutcome(_) => "late_outcome",
            Self::Expired(_) => "expired",
            Self::RunStarted(_) => "run_started",
            Self::ModelResponded(_) => "model_responded",
            Self::ModelFailed(_) => "model_failed",
            Self::CallsPlanned(_) => "calls_planned",
            Self::ToolIntent(_) => "tool_intent",
            Self::ToolOutcome(_) => "tool_outcome",
            Self::Halted(_) => "halted",
            Self::WentOn(_) => "went_on",
            Self::RunFailed(_) => "run_failed",
            Self::Recovered(_) => "recovered",
        }
    }
}

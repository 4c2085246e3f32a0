//! Sessions: a conversation as a value that can stop, be stored and go on elsewhere.
//!
//! A [`Session`] is what its journal says: applying the same entries gives the same session, and nothing else changes
//! it. Operations are checked here and give the entries to append; whoever drives a session does what
//! [`Session::command`] says and writes down what came of it.

mod apply;
mod approval_ref;
mod call;
mod check;
mod end;
mod entry;
mod fingerprint;
mod form;
mod hash;
mod hashed;
mod journal;
mod key;
mod ops;
mod progress;
mod restore;
mod run_state;
mod settle;
mod state;
mod token;
mod turn;

pub use apply::{Applied, EntryFacts, Misfit};
pub use approval_ref::ApprovalRef;
pub use call::{
    Approval, Approved, AwaitedResult, CallState, Evidence, GoOn, Intent, Outcome, Question, Wait,
    WaitKind, WaitReason, arguments_hash,
};
pub use entry::{
    Annotated, Answered, ApprovalDecided, ApprovePlan, CallPlan, CallsPlanned, Created, Decision,
    Delivery, Denied, Edited, EntryBody, Expired, Halted, Hooks, JournalEntry, LateOutcome,
    ManualPlan, ModelEnd, ModelFailed, ModelResponded, Operation, OutcomePolicy, OutcomeSource,
    PlanOfCall, QueuedMessage, RecordedTool, Recovered, RefusePlan, RerunAllowed, ResultSubmitted,
    RunFailed, RunPlan, RunStarted, StopRequested, ToolIntent, ToolOutcomeEntry, UserMessage,
    WentOn,
};
pub use fingerprint::tool_fingerprint;
pub use journal::{Append, Sealed, read};
pub use key::{CallKey, CallRef, InvalidCallKey};
pub use ops::{Input, MAX_TAG_BYTES};
pub use run_state::{RunClock, RunState};
pub use state::{OpenWait, Session, SessionFailure, SessionUsage};
pub use token::{ApprovalToken, Mac};
pub use turn::{OpenTurn, TurnCall};

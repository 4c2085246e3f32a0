//! Running tools: who runs a handler, what bounds it, and what becomes of its result.

mod approval;
mod aside;
mod batch;
mod check;
mod executor;
mod planner;
mod policy;
#[cfg(all(unix, feature = "process"))]
mod process;
mod runner;
mod settings;
mod toolset;
mod wait;

pub(crate) use approval::ApprovalPolicyFn;
pub use approval::{ApprovalAnswer, ApprovalRequest, OnUnknownOutcome};
pub(crate) use batch::{Attempt, Attempts, BatchItem, BatchRun, LateReply, encoded_value};
pub(crate) use check::argument_faults;
pub use executor::DefaultExecutor;
pub(crate) use planner::{Planned, Planner};
pub use policy::{Decide, ErrorDecision, OnToolError};
#[cfg(all(unix, feature = "process"))]
pub use process::{ProcessExecutor, ProcessTool};
pub use runner::{
    BatchHalt, ToolBatch, ToolEvents, ToolRunOptions, run_tool_calls, stream_tool_calls,
};
pub(crate) use settings::{Late, OnLate, RunnerSettings};
pub(crate) use toolset::ToolSet;

/// `text`, cut between characters without a mark.
pub(crate) fn cut(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}

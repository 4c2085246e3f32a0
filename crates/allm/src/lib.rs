//! Runs language models and their tools.

mod providers;
mod tools;

pub use allm_core::*;
pub use tools::{
    BatchHalt, Decide, DefaultExecutor, ErrorDecision, OnToolError, ToolBatch, ToolEvents,
    ToolRunOptions, run_tool_calls, stream_tool_calls,
};
#[cfg(all(unix, feature = "process"))]
pub use tools::{ProcessExecutor, ProcessTool};

//! Runs language models and their tools.

#[doc(hidden)]
pub mod __private;
mod chat;
mod engine;
mod handler_context;
mod into_tool;
mod panics;
mod providers;
mod random;
mod tools;

pub use allm_core::run::UnknownTools;
pub use allm_core::*;
#[doc = include_str!("docs/tool.md")]
pub use allm_macros::tool;
pub use chat::{Chat, EventStream, Generate, Input, Step};
pub use engine::keys::{DotEnv, EnvironmentKeys};
pub use engine::retry::RetryPolicy;
pub use engine::settings::{Setting, Toggle};
pub use engine::{Engine, EngineBuilder};
pub use handler_context::ToolContextExt;
pub use into_tool::IntoTool;
pub use providers::fake::{Fake, FakeCall, FakeOutcome, Script, ScriptFault, ScriptFaultReason};
pub use tools::{
    BatchHalt, Decide, DefaultExecutor, ErrorDecision, OnToolError, ToolBatch, ToolEvents,
    ToolRunOptions, run_tool_calls, stream_tool_calls,
};
#[cfg(all(unix, feature = "process"))]
pub use tools::{ProcessExecutor, ProcessTool};

//! Runs language models and their tools.

mod chat;
mod engine;
mod into_tool;
mod panics;
mod providers;
mod random;
mod tools;

pub use allm_core::*;
pub use chat::{Chat, EventStream, Generate, Input, Step};
pub use engine::keys::{DotEnv, EnvironmentKeys};
pub use engine::retry::RetryPolicy;
pub use engine::settings::{Setting, Toggle};
pub use engine::{Engine, EngineBuilder};
pub use into_tool::IntoTool;
pub use tools::OnToolError;

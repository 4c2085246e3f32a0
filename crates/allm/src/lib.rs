//! Runs language models and their tools.

#[doc(hidden)]
pub mod __private;
mod into_tool;
mod providers;
mod tools;

pub use allm_core::*;
#[doc = include_str!("docs/tool.md")]
pub use allm_macros::tool;
pub use into_tool::IntoTool;

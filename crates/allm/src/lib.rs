//! Runs language models and their tools.

mod providers;
mod tools;

pub use allm_core::*;

pub use providers::fake::{Fake, FakeCall, FakeOutcome, Script, ScriptFault, ScriptFaultReason};

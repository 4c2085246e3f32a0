//! Runs language models and their tools.

mod providers;
mod tools;

pub use allm_core::*;

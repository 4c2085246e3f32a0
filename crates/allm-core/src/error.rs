//! Errors: one type per layer, each with a closed set of reasons.

mod json;
pub(crate) mod reason;

pub use json::{JsonError, JsonReason};

//! The program, used as a person and a script use it: real processes, a real server for the model, a real database.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod arguments;
mod bad_input;
mod chat;
mod config;
mod doctor;
#[cfg(feature = "local")]
mod local;
mod mcp;
mod replay;
mod run;
mod run_failures;
mod run_waiting;
mod sessions;
mod support;
mod tools;
mod transcript;
mod trust;

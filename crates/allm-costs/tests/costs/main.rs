//! What allm costs: allocations for each delta, and instructions as work grows.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod allocations;
mod growth;
mod server;
mod valgrind;

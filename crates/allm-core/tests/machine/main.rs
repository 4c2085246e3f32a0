//! The run machine against its contract, driven by a scripted driver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod after;
mod asking;
mod budgets;
mod check;
mod details;
mod explore;
mod finalize;
mod going_on;
mod halts;
mod ids;
mod laws;
mod manual;
mod script;
mod sim;
mod stops;
mod stored;
mod turns;
mod unknown;

//! The session machine against its contract, driven through entries by a scripted driver.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod approvals;
mod check;
mod delivery;
mod driver;
mod going_on;
mod journal;
mod keys;
mod laws;
mod operations;
mod results;
mod script;
mod sim;
mod status;
mod stops;
mod stored;

//! The scripted provider, driven directly as an adapter.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "these are tests"
)]

mod asserts;
mod endings;
mod faults;
mod json;
mod properties;
mod replies;
mod steps;
mod support;
mod time;

//! The provider over tiny models whose every token is known.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    dead_code,
    unreachable_pub,
    reason = "these are tests"
)]

#[path = "../support/folders.rs"]
mod folders;
#[path = "../support/play.rs"]
mod play;
#[path = "../../src/tiny.rs"]
mod tiny;

mod calls;
mod conformance;
mod limits;
mod queue;
mod schemas;
mod sentence;
mod settings;
mod text;

//! Sessions as values: what each operation does, by the numbers of `docs/contract/sessions.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod durable;
mod flow;
mod repeats;

//! Sessions with several drivers, and stores that fail: by the numbers of `docs/contract/sessions.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    unused_must_use,
    reason = "these are tests"
)]

mod beginnings;
mod clocks;
mod damaged;
mod databases;
mod deletion;
mod endings;
mod failures;
mod full;
mod golden;
mod inputs;
mod interleavings;
mod late_cancel;
mod leaving;
mod machine_clock;
mod mended;
mod outages;
mod owners;
mod reading;
mod recovering;
mod retention;
mod secrets;
mod slow_intent;
mod stopping;
mod support;
mod tampered;
mod together;

//! Sessions: what each operation does, by the numbers of `docs/contract/sessions.md`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    unused_must_use,
    reason = "these are tests"
)]

mod approvals;
mod cancel;
mod durable;
mod effects;
mod flow;
mod form;
mod going_on;
mod inputs;
mod journal;
mod keys;
mod matrix;
mod moments;
mod names;
mod operations;
mod options;
mod preflight;
mod random;
mod repeats;
mod results;
mod settings;
mod status;
mod stops;
mod streams;
mod support;
mod unknown;
mod void;

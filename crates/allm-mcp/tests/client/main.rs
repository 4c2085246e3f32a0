//! Servers as tools: those that others wrote, and those that must not be trusted.

#![cfg(feature = "client")]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests"
)]

mod asking;
mod calls;
mod changes;
mod connecting;
mod examples;
mod hostile;
#[cfg(feature = "client-http")]
mod hostile_http;
#[cfg(feature = "client-http")]
mod http;
mod listing;
mod log;
#[cfg(feature = "oauth")]
mod login;
mod real;
#[cfg(feature = "client-http")]
mod real_http;
mod restarts;
mod rounds;
mod sessions;
mod support;

//! Tools as an MCP server, against the contract: `docs/contract/mcp.md`.
#![cfg(feature = "server")]
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "these are tests"
)]

mod asking;
mod calls;
mod hostile;
#[cfg(feature = "server-http")]
mod http;
mod listing;
mod peers;
mod rounds;
mod stopping;
mod support;

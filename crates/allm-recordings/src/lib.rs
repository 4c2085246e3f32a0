//! Plays recorded traffic with providers to the library.
//!
//! The recordings are not part of this repository. They are looked for in `../shared/wire` beside it, or in the folder
//! that `ALLM_RECORDINGS` names. Without them every test here says that it was skipped, and passes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "these are tests"
)]

pub mod hex;
pub mod kept;
pub mod play;
pub mod record;
pub mod requests;
pub mod server;
pub mod tasks;
pub mod verdict;

pub use record::{Record, Recordings, recordings};
pub use server::Server;
pub use verdict::Verdict;

//! The work that is measured, each by its size.

mod bodies;
mod loops;
mod requests;
mod stored;
mod streams;

pub use bodies::copied;
pub use loops::{scripted_turns, turns};
pub use requests::{requests, thread};
pub use stored::{journal, replies, written};
pub use streams::{arguments, text};

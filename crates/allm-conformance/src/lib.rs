//! wip

pub mod adapter;
pub mod encoder;
pub mod executor;
mod finding;
mod report;
mod wait;

pub use finding::CannotExpress;
pub use report::{Check, Outcome, Report};

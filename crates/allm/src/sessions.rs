//! Sessions: conversations that stop for a person and go on, here or elsewhere.
//!
//! A [`Session`] is a plain value: what the caller saved is what there is. A stored one survives a crash at any instant.
//! Both have the same operations, because both drive the same machine with the same entries.

mod asking;
mod call;
mod covered;
mod driver;
mod durable;
mod emit;
mod journal;
mod late;
mod lease;
mod reading;
mod recovery;
mod registry;
mod running;
mod saving;
mod store_clock;
mod store_journal;
mod submitted;
mod taking;
mod trim;
mod value;

pub use call::SessionCall;
pub use durable::DurableSession;
pub use emit::SessionStream;
pub use reading::{LiveEvent, SessionEvents, Told};
pub use recovery::{Recovery, RetentionPolicy};
pub use registry::{ApprovalSecret, Beginning, Sessions, SessionsOptions};
pub use submitted::SubmittedResult;
pub use value::Session;

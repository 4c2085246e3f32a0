//! The data, the fold and the run machine of allm.

mod error;
mod path;

pub use error::{JsonError, JsonReason};
pub use path::{InvalidPath, Path, Segment};

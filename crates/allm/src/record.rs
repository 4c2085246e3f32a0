//! Real traffic, recorded once and replayed in tests.

mod cassette;
mod clean;
mod difference;
mod error;
mod form;
mod play;
mod recorder;
mod replay;
mod tape;

pub use error::{CassetteError, CassetteReason};
pub use play::{Chunking, Pace};
pub use recorder::Recorder;
pub use replay::Replay;

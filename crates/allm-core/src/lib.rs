//! The data, the fold and the run machine of allm.

pub mod cancel;
pub mod context;
pub mod data;
pub mod error;
pub mod future;
pub mod handler;
pub mod json;
mod path;

pub use cancel::{CancelToken, Cancelled};
pub use context::{AnyValue, Progress, ProgressSink, ToolContext};
pub use data::*;
pub use error::*;
pub use future::{BoxFuture, BoxStream};
pub use handler::{EffectProbe, ProbeAnswer, ToolExecutor, ToolHandler, ToolResultEncoder};
pub use path::{InvalidPath, Path, Segment};

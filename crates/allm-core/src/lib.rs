//! The data, the fold and the run machine of allm.

pub mod cancel;
pub mod capability;
pub mod compact;
pub mod context;
pub mod data;
pub mod encode;
pub mod error;
mod fold;
pub mod future;
pub mod handler;
pub mod json;
pub mod key;
pub mod limits;
mod path;

pub mod run;
pub mod validate;
pub use cancel::{CancelToken, Cancelled};
pub use capability::{Capabilities, Passes, Support};
pub use compact::tool_help_answer;
pub use context::{AnyValue, Progress, ProgressSink, ToolContext};
pub use data::*;
pub use encode::JsonEncoder;
pub use error::*;
pub use fold::{Fold, NoThread};
pub use future::{BoxFuture, BoxStream};
pub use handler::{EffectProbe, ProbeAnswer, ToolExecutor, ToolHandler, ToolResultEncoder};
pub use json::RawJson;
pub use key::idempotency_key;
pub use limits::AWAITING_USER;
pub use path::{InvalidPath, Path, Segment};
pub use run::Run;

//! The data, the fold and the run machine of allm.
//!
//! Everything here is a value or a trait: no async runtime, no clock, no randomness, no network. (The one place that
//! reads a file is [`Image::from_path`] and its twin for files, which read at once.)
//!
//! | concept | where |
//! |---|---|
//! | messages, threads, requests, answers, tools, events, results | [`data`] |
//! | what can go wrong, with closed sets of reasons | [`error`] |
//! | the JSON form, strict and versioned | [`json`] |
//! | is this request, thread or tool right | [`validate`], [`capability`] |
//! | from events to answers and results | [`Fold`] |
//! | the tool loop as a value | [`run`] |
//! | tools as stubs, and their help | [`compact`] |
//! | what the model sees of a result or a failure | [`encode`] |
//! | secrets out of what others wrote | [`Redactor`] |
//! | what others implement | [`Adapter`], [`ToolHandler`], [`ToolExecutor`], [`ToolResultEncoder`], [`KeySource`], [`SessionStore`] |

#![cfg_attr(
    not(feature = "sessions"),
    allow(dead_code, unused_imports, reason = "sessions use it")
)]

pub mod adapter;
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
pub mod idempotency;
pub mod json;
pub mod keys;
pub mod limits;
mod path;
pub mod redact;
pub mod run;
#[cfg(feature = "sessions")]
pub mod session;
pub mod store;
pub mod timeouts;
pub mod validate;

pub use adapter::{Adapter, KeyUse, ModelCall, RawBody, RawChunks, Server};
pub use cancel::{CancelToken, Cancelled};
pub use capability::{Capabilities, Passes, Support};
pub use compact::tool_help_answer;
pub use context::{AnyValue, Progress, ProgressSink, ToolContext};
pub use data::*;
pub use encode::JsonEncoder;
pub use error::*;
pub use fold::{Fold, NoThread};
pub use future::{BoxFuture, BoxStream};
pub use handler::{
    EffectProbe, HandlerStyle, IntoBlocking, IntoHandler, IntoReply, ProbeAnswer, ToolExecutor,
    ToolHandler, ToolResultEncoder,
};
pub use idempotency::{IdempotencyKey, idempotency_key};
pub use json::RawJson;
pub use keys::{ApiKey, KeyId, KeyRequest, KeySource, environment_names};
pub use limits::AWAITING_USER;
pub use path::{InvalidPath, Path, Segment};
pub use redact::Redactor;
pub use run::Run;
#[cfg(feature = "sessions")]
pub use session::Session;
pub use store::SessionStore;
pub use timeouts::Timeouts;

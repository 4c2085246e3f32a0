//! What the expansion of `#[tool]` needs. Not for others: it may change in any release.

pub mod schema;

pub use {schemars, serde};

use allm_core::{IntoReply, ToolReply};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

/// The reply that a value is.
pub fn reply<M>(value: impl IntoReply<M>) -> ToolReply {
    value.into_reply()
}

/// What can be a parameter of a tool.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a tool",
    label = "not read from JSON, or without a schema",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` (schemars 1) for it, or take another type",
    note = "a context that is not called `ToolContext` is not recognised as one"
)]
pub trait Parameter {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema> Parameter for T {}

/// Says of a type that it cannot be a parameter, before derived code says so in its own way.
pub fn parameter<T: Parameter>() {}

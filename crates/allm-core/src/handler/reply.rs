//! What a function may return to be a handler.

use std::fmt::Display;

use serde::Serialize;

use crate::data::{ReplyValue, ReportedError, ToolReply};

/// What a handler may return: `Result<T: Serialize, E: Display>`, a [`ToolReply`], or a `Result` of one. An `E` that is a
/// [`ReportedError`] keeps its details.
///
/// `M` only tells the forms apart; it is always inferred.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "not a reply",
    note = "return `Result<T, E>` with `T: Serialize` and `E: Display + Send + Sync`, or a `ToolReply`"
)]
pub trait IntoReply<M> {
    /// The reply.
    fn into_reply(self) -> ToolReply;
}

/// Marks handlers that return a [`ToolReply`].
#[derive(Debug)]
pub struct PlainReply;
/// Marks handlers that return a `Result` of a [`ToolReply`].
#[derive(Debug)]
pub struct ResultOfReply;
/// Marks handlers that return a `Result` of a value.
#[derive(Debug)]
pub struct ResultOfValue;

impl IntoReply<PlainReply> for ToolReply {
    fn into_reply(self) -> ToolReply {
        self
    }
}

impl<E: Display + Send + Sync + 'static> IntoReply<ResultOfReply> for Result<ToolReply, E> {
    fn into_reply(self) -> ToolReply {
        self.unwrap_or_else(|error| ToolReply::Error(ReportedError::of(error)))
    }
}

impl<T: Serialize, E: Display + Send + Sync + 'static> IntoReply<ResultOfValue> for Result<T, E> {
    fn into_reply(self) -> ToolReply {
        match self {
            Ok(value) => ToolReply::Ok(ReplyValue::of(&value)),
            Err(error) => ToolReply::Error(ReportedError::of(error)),
        }
    }
}

//! The traits of tools: what runs them and what makes their values into text.

mod function;
mod reply;

use std::sync::Arc;

use serde_json::Value;

use crate::context::ToolContext;
use crate::data::{ArgumentFault, CallFailure, Map, Tool, ToolFailure, ToolReply};
use crate::error::{EncodeError, ToolError};
use crate::future::BoxFuture;

pub use function::{IntoBlocking, IntoHandler, WithArguments, WithContext};
pub use reply::{IntoReply, PlainReply, ResultOfReply, ResultOfValue};

/// How the work of a handler is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HandlerStyle {
    /// Its future waits without holding its thread.
    #[default]
    Async,
    /// Its future does all of its work in its first poll and holds its thread: an executor polls it once, off the
    /// async threads.
    Blocking,
}

/// What runs when the model calls a tool.
///
/// `Ok` is what the handler *replied*, reported errors included; it *crashes* by panicking, or by `Err` where it runs
/// elsewhere (a child process, another machine).
pub trait ToolHandler: Send + Sync {
    /// Whether it can take these arguments, which fit the tool's schema. Asked before the call counts as started.
    ///
    /// # Errors
    ///
    /// Every fault that it finds.
    fn check(&self, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        let _ = arguments;
        Ok(())
    }

    /// How its work is done.
    fn style(&self) -> HandlerStyle {
        HandlerStyle::Async
    }

    /// Runs it once. The arguments are shared with the events that tell of the call.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped when the call is stopped; whatever it did by then has been done.
    fn call(
        &self,
        arguments: Arc<Map>,
        context: ToolContext,
    ) -> BoxFuture<'_, Result<ToolReply, ToolError>>;
}

/// Tells whether a tool's effect has happened, for [`Effect::Reconcile`](crate::Effect::Reconcile).
pub trait EffectProbe: Send + Sync {
    /// Looks at the far side.
    ///
    /// # Errors
    ///
    /// When the far side could not be asked.
    fn probe(
        &self,
        idempotency_key: &str,
        arguments: Map,
    ) -> BoxFuture<'_, Result<ProbeAnswer, ToolError>>;
}

/// What a probe found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ProbeAnswer {
    /// It happened, with this value.
    Done(Value),
    /// It did not happen.
    NotDone,
    /// It cannot be told.
    Unknown,
}

/// Runs the handler of a tool.
///
/// `Ok(reply)` is what the handler said, unchanged; `Err` is what the executor saw. The two never mix. An executor has no
/// time limit, no retry and no parallelism of its own.
pub trait ToolExecutor: Send + Sync {
    /// Whether the handler that would run can take these arguments, which fit the tool's schema. Asked before
    /// [`execute`](Self::execute); by default the tool's own handler is asked.
    ///
    /// # Errors
    ///
    /// Every fault that it finds.
    fn check(&self, tool: &Tool, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        match &tool.handler {
            Some(handler) => handler.check(arguments),
            None => Ok(()),
        }
    }

    /// Runs the tool's handler once, with the context as it is.
    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolReply, ToolError>>;
}

/// Makes the value of a call into the text that the model sees.
pub trait ToolResultEncoder: Send + Sync {
    /// Makes a value into text.
    ///
    /// # Errors
    ///
    /// When the value cannot be shown; the call then fails as `encoding_failed`.
    fn encode(&self, value: &Value) -> Result<String, EncodeError>;

    /// Makes a failure into text; by default the stable JSON of `report`, which is what `failure` looks like as data.
    ///
    /// # Errors
    ///
    /// When it cannot be shown; the stable JSON is used then.
    fn encode_failure(
        &self,
        failure: &ToolFailure,
        report: &CallFailure,
    ) -> Result<String, EncodeError> {
        let _ = failure;
        Ok(report.to_content())
    }
}

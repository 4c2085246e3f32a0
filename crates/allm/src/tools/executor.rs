//! The executor that calls handlers in this process.

use std::collections::HashMap;
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use allm_core::{
    ArgumentFault, BoxFuture, HandlerStyle, IntoBlocking, IntoHandler, Map, Tool, ToolContext,
    ToolError, ToolExecutor, ToolHandler, ToolName, ToolReason, ToolReply,
};

use super::wait::Owned;
use crate::panics::{Payload, caught_future, text};

type Outcome = Result<ToolReply, ToolError>;

/// Calls the tool's handler in this process; the executor when no other is set.
///
/// It may be given handlers by name, for tools that carry none, such as tools read from JSON. A tool's own handler
/// wins. Async handlers are polled in place; [blocking](Tool::blocking) ones run off the async threads.
///
/// ```
/// use allm::DefaultExecutor;
/// use serde_json::{Value, json};
///
/// let executor = DefaultExecutor::new()
///     .handler("echo", |value: Value| async move { Ok::<_, std::fmt::Error>(value) });
/// # let _ = executor;
/// ```
#[derive(Clone, Default)]
pub struct DefaultExecutor {
    by_name: Arc<HashMap<ToolName, Arc<dyn ToolHandler>>>,
}

impl DefaultExecutor {
    /// An executor that knows only the handlers of the tools themselves.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An executor with these handlers for tools that carry none.
    pub fn with_handlers<N: Into<ToolName>>(
        handlers: impl IntoIterator<Item = (N, Arc<dyn ToolHandler>)>,
    ) -> Self {
        let by_name = handlers.into_iter().map(|(name, h)| (name.into(), h));
        Self {
            by_name: Arc::new(by_name.collect()),
        }
    }

    /// With a handler for tools of this name that carry none; the same forms as [`Tool::handler`].
    #[must_use]
    pub fn handler<M>(self, name: impl Into<ToolName>, handler: impl IntoHandler<M>) -> Self {
        self.with_handler(name, Arc::new(handler.into_handler()))
    }

    /// With a blocking handler for tools of this name that carry none; the same forms as [`Tool::blocking`].
    #[must_use]
    pub fn blocking<M>(self, name: impl Into<ToolName>, handler: impl IntoBlocking<M>) -> Self {
        self.with_handler(name, Arc::new(handler.into_blocking()))
    }

    /// With a handler for tools of this name that carry none.
    #[must_use]
    pub fn with_handler(
        mut self,
        name: impl Into<ToolName>,
        handler: Arc<dyn ToolHandler>,
    ) -> Self {
        Arc::make_mut(&mut self.by_name).insert(name.into(), handler);
        self
    }

    fn handler_of<'a>(&'a self, tool: &'a Tool) -> Option<&'a Arc<dyn ToolHandler>> {
        tool.handler
            .as_ref()
            .or_else(|| self.by_name.get(&tool.name))
    }
}

impl ToolExecutor for DefaultExecutor {
    fn check(&self, tool: &Tool, arguments: &Map) -> Result<(), Vec<ArgumentFault>> {
        match self.handler_of(tool) {
            Some(handler) => handler.check(arguments),
            None => Ok(()),
        }
    }

    fn execute<'a>(
        &'a self,
        tool: &'a Tool,
        arguments: Arc<Map>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Outcome> {
        Box::pin(async move {
            let outcome = match self.handler_of(tool) {
                None => Err(not_found()),
                Some(handler) => match handler.style() {
                    HandlerStyle::Async => in_place(&**handler, arguments, context).await,
                    HandlerStyle::Blocking => {
                        off_thread(Arc::clone(handler), arguments, context.clone()).await
                    }
                },
            };
            outcome.map_err(|error| named(error, tool))
        })
    }
}

impl fmt::Debug for DefaultExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultExecutor")
            .field("by_name", &self.by_name.keys().collect::<Vec<_>>())
            .finish()
    }
}

pub(super) fn not_found() -> ToolError {
    ToolError::new(ToolReason::NotFound, "the tool has no handler")
}

pub(super) fn named(mut error: ToolError, tool: &Tool) -> ToolError {
    error.tool_name.get_or_insert_with(|| tool.name.clone());
    error
}

async fn in_place(
    handler: &dyn ToolHandler,
    arguments: Arc<Map>,
    context: &ToolContext,
) -> Outcome {
    // The call itself is made inside, because a handler may panic before it gives its future.
    let call = async { handler.call(arguments, context.clone()).await };
    caught_future(call)
        .await
        .unwrap_or_else(|payload| Err(raised(payload)))
}

async fn off_thread(
    handler: Arc<dyn ToolHandler>,
    arguments: Arc<Map>,
    context: ToolContext,
) -> Outcome {
    let (cancel, sink) = (context.cancel.clone(), context.progress.clone());
    let work = move || {
        // A thread may come free only after the call was stopped.
        if cancel.is_cancelled() {
            return Err(exited("it was cancelled before it began"));
        }
        let call = pin!(handler.call(arguments, context));
        let outcome = match call.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => Err(ToolError::new(
                ToolReason::InvalidReturn,
                "a blocking handler did not do its work in one go",
            )),
        };
        if cancel.is_cancelled()
            && let Some(sink) = sink
        {
            sink.late(outcome.clone());
        }
        outcome
    };
    match Owned::blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(joined(error)),
    }
}

pub(super) fn exited(cause: &str) -> ToolError {
    let message = "the handler was stopped before it replied";
    ToolError::new(ToolReason::HandlerExit, message).cause(cause)
}

/// The error of a handler, or an executor, that panicked.
pub(super) fn raised(payload: Payload) -> ToolError {
    ToolError::new(ToolReason::HandlerRaised, "the handler panicked").cause(text(payload))
}

/// The error of a task that gave nothing.
pub(super) fn joined(error: tokio::task::JoinError) -> ToolError {
    match error.try_into_panic() {
        Ok(payload) => raised(payload),
        Err(_) => exited("its task was aborted, or the runtime is shutting down"),
    }
}

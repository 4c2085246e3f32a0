//! What a panic said.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use allm_core::limits::MAX_PANIC_TEXT;
use allm_core::{ToolError, ToolReason};

/// What is said of a panic whose payload is not text.
const NOT_TEXT: &str = "the panic said nothing that is text";

/// The text of a panic, cut at its limit.
pub(super) fn text(payload: Box<dyn Any + Send>) -> String {
    let text = match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => match payload.downcast::<&'static str>() {
            Ok(text) => (*text).to_owned(),
            Err(payload) => {
                discard(payload);
                NOT_TEXT.to_owned()
            }
        },
    };
    cut(text, MAX_PANIC_TEXT)
}

/// Drops a payload whose destructor may panic in turn.
fn discard(payload: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        // It could go on like this for ever.
        std::mem::forget(another);
    }
}

/// `text`, cut between characters without a mark.
pub(super) fn cut(mut text: String, limit: usize) -> String {
    text.truncate(text.floor_char_boundary(limit));
    text
}

/// The error of a handler, or an executor, that panicked.
pub(super) fn raised(payload: Box<dyn Any + Send>) -> ToolError {
    ToolError::new(ToolReason::HandlerRaised, "the handler panicked").cause(text(payload))
}

/// Runs `f`; a panic becomes its text.
pub(super) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(text)
}

/// A future whose panics become its text.
pub(super) struct CatchPanic<F>(Pin<Box<F>>);

impl<F: Future> CatchPanic<F> {
    pub(super) fn new(future: F) -> Self {
        Self(Box::pin(future))
    }
}

impl<F: Future> Future for CatchPanic<F> {
    type Output = Result<F::Output, Box<dyn Any + Send>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is not polled again, only dropped.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    }
}

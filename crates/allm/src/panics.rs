//! Keeping a panic of somebody else's code where it happened.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use allm_core::limits::MAX_PANIC_TEXT;

use crate::tools::cut;

/// What a panic threw.
pub(crate) type Payload = Box<dyn Any + Send>;

/// What is said of a panic whose payload is not text.
const NOT_TEXT: &str = "the panic said nothing that is text";

/// Runs `f`; a panic becomes its text.
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).map_err(text)
}

/// The output of a future, or what its panic threw.
pub(crate) async fn caught_future<F: Future>(future: F) -> Result<F::Output, Payload> {
    let mut future = pin!(future);
    std::future::poll_fn(move |cx| {
        // After a panic the future is not polled again, only dropped.
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    })
    .await
}

/// The text of a panic, cut at its limit.
pub(crate) fn text(payload: Payload) -> String {
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
pub(crate) fn discard(payload: Payload) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(move || drop(payload))) {
        // It could go on like this for ever.
        std::mem::forget(another);
    }
}

//! Keeping a panic of somebody else's code where it happened.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// What a panic threw.
pub(crate) type Payload = Box<dyn Any + Send>;

/// The output of a future, or what its panic threw.
pub(crate) async fn caught<F: Future>(future: F) -> Result<F::Output, Payload> {
    let mut future = pin!(future);
    std::future::poll_fn(move |cx| {
        match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(payload) => Poll::Ready(Err(payload)),
        }
    })
    .await
}

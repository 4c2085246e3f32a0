//! Waiting for one of two things, for both, or not for too long.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle};
use tracing::Span;

/// A task that is aborted when nobody waits for it any more.
pub(super) struct Owned<T>(JoinHandle<T>);

impl<T> Owned<T> {
    /// Runs `f` off the async threads. Dropped before it has begun, it does not begin.
    pub(super) fn blocking(f: impl FnOnce() -> T + Send + 'static) -> Self
    where
        T: Send + 'static,
    {
        let span = Span::current();
        Self(tokio::task::spawn_blocking(move || span.in_scope(f)))
    }
}

impl<T> Future for Owned<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What `future` comes to, if it does so in time; [`Duration::MAX`] is no limit.
pub(super) async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    if limit == Duration::MAX {
        return Some(future.await);
    }
    tokio::time::timeout(limit, future).await.ok()
}

/// The first of two.
pub(super) enum First<A, B> {
    A(A),
    B(B),
}

/// Whichever is ready first; `a` if both are.
pub(super) async fn race<A: Future, B: Future>(a: A, b: B) -> First<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    poll_fn(|cx| {
        if let Poll::Ready(output) = a.as_mut().poll(cx) {
            return Poll::Ready(First::A(output));
        }
        b.as_mut().poll(cx).map(First::B)
    })
    .await
}

/// Both outputs, when both are ready.
#[cfg(all(unix, feature = "process"))]
pub(super) async fn both<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut of_a, mut of_b) = (None, None);
    poll_fn(|cx| {
        if of_a.is_none()
            && let Poll::Ready(output) = a.as_mut().poll(cx)
        {
            of_a = Some(output);
        }
        if of_b.is_none()
            && let Poll::Ready(output) = b.as_mut().poll(cx)
        {
            of_b = Some(output);
        }
        match (of_a.take(), of_b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            (a, b) => {
                (of_a, of_b) = (a, b);
                Poll::Pending
            }
        }
    })
    .await
}

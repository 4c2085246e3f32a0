//! The stream of a call's events.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use allm_core::{BoxStream, Event};
use futures_core::Stream;

/// The events of a call as they happen.
///
/// Lazy: without a poll nothing is sent. After its end it gives the end again.
///
/// # Cancel safety
///
/// Dropping it stops the model call and the tools at once, each exactly once, and leaves nothing behind. Async handlers
/// stop at their next await, blocking ones are abandoned.
#[must_use = "streams do nothing unless polled"]
pub struct EventStream(BoxStream<'static, Event>);

impl EventStream {
    pub(crate) fn new(stream: impl Stream<Item = Event> + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| self.0.as_mut().poll_next(cx)).await
    }

    /// All events to the end.
    pub async fn collect(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").finish_non_exhaustive()
    }
}

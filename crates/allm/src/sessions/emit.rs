//! The way of events from a driver to whoever listens.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use allm_core::{BoxFuture, ChatResult, Event, SessionError};
use futures_core::Stream;

/// Takes events from a driver.
pub(crate) trait Sink: Send {
    /// Takes an event. Ready when the driver may go on.
    fn emit(&mut self, event: Event) -> impl Future<Output = ()> + Send;

    /// The events from now on belong to this attempt at the model call of this turn.
    fn begin(&mut self, turn: u32, attempt: u32) {
        let _ = (turn, attempt);
    }
}

/// What a driver has told and nobody has taken.
#[derive(Clone)]
pub(crate) struct Queue {
    events: Arc<Mutex<VecDeque<Event>>>,
    is_heard: bool,
}

impl Queue {
    /// For somebody who wants to hear all of it.
    pub(crate) fn heard() -> Self {
        Self {
            events: Arc::default(),
            is_heard: true,
        }
    }

    /// For somebody who wants the result alone, and is not to be woken for anything else.
    pub(crate) fn unheard() -> Self {
        Self {
            is_heard: false,
            ..Self::heard()
        }
    }

    pub(crate) const fn is_heard(&self) -> bool {
        self.is_heard
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Event>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<Event> {
        self.lock().pop_front()
    }
}

impl Sink for Queue {
    /// Waits until the event was taken, so that a stream that is dropped stops its run there.
    async fn emit(&mut self, event: Event) {
        if !self.is_heard {
            return;
        }
        self.lock().push_back(event);
        poll_fn(|_| match self.lock().is_empty() {
            true => Poll::Ready(()),
            // Whoever polls the stream takes the event first and polls the driver again after that.
            false => Poll::Pending,
        })
        .await;
    }
}

/// The events of an operation of a session as they happen.
///
/// Lazy: without a poll nothing happens. An operation that is refused gives one `error` event.
/// [`finish`](Self::finish) gives the result.
///
/// # Cancel safety
///
/// For a session that is a value, dropping it is a crash at that position: what happened so far is in the session,
/// whose status is `in_progress`. A stored session is driven by a task of its own, which goes on.
#[must_use = "streams do nothing unless polled"]
pub struct SessionStream<'a> {
    driver: Option<BoxFuture<'a, Result<ChatResult, SessionError>>>,
    queue: Queue,
    result: Option<Result<ChatResult, SessionError>>,
    /// Whether an event of a refusal is still to be told.
    told: bool,
}

impl std::fmt::Debug for SessionStream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionStream").finish_non_exhaustive()
    }
}

impl<'a> SessionStream<'a> {
    pub(crate) fn new(
        queue: Queue,
        driver: impl Future<Output = Result<ChatResult, SessionError>> + Send + 'a,
    ) -> Self {
        Self {
            driver: Some(Box::pin(driver)),
            queue,
            result: None,
            told: false,
        }
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Event> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Takes all events that are left and gives the result.
    ///
    /// # Errors
    ///
    /// Why the operation was refused, or what ended it.
    pub async fn finish(mut self) -> Result<ChatResult, SessionError> {
        while self.next().await.is_some() {}
        // A stream that has ended has a result.
        self.result.unwrap_or_else(|| {
            Err(super::journal::misfit(
                "the operation did not come to its end",
            ))
        })
    }
}

impl Stream for SessionStream<'_> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.queue.pop() {
                if matches!(event, Event::Error(_)) {
                    self.told = true;
                }
                return Poll::Ready(Some(event));
            }
            let Some(driver) = &mut self.driver else {
                return Poll::Ready(None);
            };
            match driver.as_mut().poll(cx) {
                Poll::Ready(result) => {
                    self.driver = None;
                    let refused = result.as_ref().err().filter(|_| !self.told);
                    let event =
                        refused.map(|error| Event::error(allm_core::Error::from(error.clone())));
                    self.result = Some(result);
                    if let Some(event) = event {
                        return Poll::Ready(Some(event));
                    }
                }
                Poll::Pending => {
                    if self.queue.lock().is_empty() {
                        return Poll::Pending;
                    }
                }
            }
        }
    }
}

//! The time limits of a call.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use allm_core::Timeouts;
use tokio::time::{Instant, Sleep, sleep_until};

/// Which limit is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    Timeout,
    Stalled,
}

/// The time limits of a call. Waiting in the queue is bounded by the deadline alone.
pub(super) struct Clock {
    timeouts: Timeouts,
    deadline: Option<Instant>,
    /// The next sign of life is due.
    life: Option<Instant>,
    /// The next event is due.
    event: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Clock {
    pub(super) fn start(timeouts: Timeouts) -> Self {
        Self {
            deadline: after(timeouts.deadline),
            timeouts,
            life: None,
            event: None,
            sleep: None,
        }
    }

    /// The call has left the queue.
    pub(super) fn begun(&mut self) {
        self.life = after(self.timeouts.first_byte);
        self.event = after(self.timeouts.stall);
        self.sleep = None;
    }

    /// The model goes on.
    pub(super) fn alive(&mut self) {
        self.life = after(self.timeouts.idle);
        self.sleep = None;
    }

    /// Something was told.
    pub(super) fn told(&mut self) {
        self.event = after(self.timeouts.stall);
        self.alive();
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Over> {
        let soonest = [self.deadline, self.life, self.event]
            .into_iter()
            .flatten()
            .min();
        let Some(soonest) = soonest else {
            return Poll::Pending;
        };
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(sleep_until(soonest)));
        match sleep.as_mut().poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) if Some(soonest) == self.event => Poll::Ready(Over::Stalled),
            Poll::Ready(()) => Poll::Ready(Over::Timeout),
        }
    }
}

fn after(limit: Option<Duration>) -> Option<Instant> {
    Instant::now().checked_add(limit?)
}

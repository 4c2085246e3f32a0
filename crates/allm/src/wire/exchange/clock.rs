//! The limits of one attempt.

use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use allm_core::Timeouts;
use tokio::time::{Instant, Sleep, sleep_until};

/// What an attempt waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    Head,
    Bytes,
    Tail,
}

/// Which limit has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    FirstByte,
    Idle,
    Stall,
    Deadline,
    Tail,
}

/// The limits of one attempt, and since when they count.
pub(super) struct Clock {
    timeouts: Timeouts,
    began: Instant,
    last_byte: Instant,
    last_frame: Instant,
    tail: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// Whom the timer wakes, and what for. As long as it has not fired, there is nothing to look at.
    armed: Option<(Waits, Waker)>,
}

impl Clock {
    pub(super) fn new(timeouts: Timeouts) -> Self {
        let now = Instant::now();
        Self {
            timeouts,
            began: now,
            last_byte: now,
            last_frame: now,
            tail: None,
            timer: None,
            armed: None,
        }
    }

    /// The request goes out now.
    pub(super) fn start(&mut self) {
        let now = Instant::now();
        self.began = now;
        self.last_byte = now;
        self.last_frame = now;
    }

    /// A sign of life.
    pub(super) fn byte(&mut self) {
        self.last_byte = Instant::now();
    }

    /// Something that counts.
    pub(super) fn frame(&mut self) {
        self.last_frame = self.last_byte;
    }

    /// What is left must come within this time.
    pub(super) fn tail(&mut self, limit: Duration) {
        self.tail = Instant::now().checked_add(limit);
    }

    /// This time, or the deadline of the call if it is nearer.
    pub(super) fn no_later_than(&self, time: Instant) -> Instant {
        let deadline = self.timeouts.deadline;
        let deadline = deadline.and_then(|limit| self.began.checked_add(limit));
        deadline.map_or(time, |deadline| deadline.min(time))
    }

    /// The limits that count now.
    fn limits(&self, waits: Waits) -> impl Iterator<Item = (Instant, Passed)> + use<> {
        let at = |from: Instant, limit: Option<Duration>, passed: Passed| {
            limit
                .and_then(|limit| from.checked_add(limit))
                .map(|at| (at, passed))
        };
        let deadline = at(self.began, self.timeouts.deadline, Passed::Deadline);
        let stall = at(self.last_frame, self.timeouts.stall, Passed::Stall);
        let limits = match waits {
            Waits::Head => [
                at(self.began, self.timeouts.first_byte, Passed::FirstByte),
                deadline,
                stall,
            ],
            Waits::Bytes => [
                at(self.last_byte, self.timeouts.idle, Passed::Idle),
                deadline,
                stall,
            ],
            Waits::Tail => [self.tail.map(|at| (at, Passed::Tail)), None, None],
        };
        limits.into_iter().flatten()
    }

    /// Ready when a limit has passed. The timer is set for the nearest one, and again when it fires too early: limits
    /// move on with every byte, and moving a timer costs more than all else that is done for a byte.
    pub(super) fn poll(&mut self, waits: Waits, cx: &mut Context<'_>) -> Poll<Passed> {
        if let (Some((armed, waker)), Some(timer)) = (&self.armed, &self.timer)
            && *armed == waits
            && !timer.is_elapsed()
            && waker.will_wake(cx.waker())
        {
            return Poll::Pending;
        }
        self.look(waits, cx)
    }

    /// The same, by a look at the clock: for when a timer may be late.
    pub(super) fn look(&mut self, waits: Waits, cx: &mut Context<'_>) -> Poll<Passed> {
        loop {
            let Some((next, passed)) = self.limits(waits).min_by_key(|(at, _)| *at) else {
                return Poll::Pending;
            };
            if Instant::now() >= next {
                return Poll::Ready(passed);
            }
            let timer = self
                .timer
                .get_or_insert_with(|| Box::pin(sleep_until(next)));
            // A tail is nearer than what the timer was set for.
            if timer.deadline() > next {
                timer.as_mut().reset(next);
            }
            self.armed = Some((waits, cx.waker().clone()));
            ready!(timer.as_mut().poll(cx));
            self.timer = None;
        }
    }
}

//! Silence, and the limits that end it.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use allm_core::Timeouts;
use tokio::time::{Instant, Sleep, sleep_until};

/// What a silence ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wake {
    /// It was over.
    Over,
    /// Nothing came within `first_byte`, `idle` or what was left of the deadline.
    Timeout,
    /// No event came within `stall`.
    Stalled,
}

/// Measures silence as a connection would. Only the script's own silence counts: a consumer may take its time.
pub(super) struct Clock {
    limits: Timeouts,
    started: Instant,
    /// Whether anything has come.
    is_heard: bool,
    /// Since when nothing comes, if so.
    quiet_since: Option<Instant>,
    /// Since when no event comes, if so.
    eventless_since: Option<Instant>,
    silence: Option<Silence>,
}

/// A wait. Without a moment it lasts for ever.
struct Silence {
    sleep: Option<Pin<Box<Sleep>>>,
    wake: Wake,
}

impl Clock {
    /// Starts now.
    pub(super) fn new(limits: Timeouts) -> Self {
        Self {
            limits,
            started: Instant::now(),
            is_heard: false,
            quiet_since: None,
            eventless_since: None,
            silence: None,
        }
    }

    /// Something came over the wire.
    pub(super) fn heard(&mut self) {
        self.is_heard = true;
        self.quiet_since = None;
    }

    /// An event came over the wire.
    pub(super) fn event(&mut self) {
        self.heard();
        self.eventless_since = None;
    }

    /// Is silent for this long, or for ever.
    pub(super) fn begin(&mut self, silence: Option<Duration>) {
        let now = Instant::now();
        let quiet_since = *self.quiet_since.get_or_insert(now);
        let eventless_since = *self.eventless_since.get_or_insert(now);
        let quiet_limit = if self.is_heard {
            self.limits.idle
        } else {
            self.limits.first_byte
        };
        let ends = [
            (now, silence, Wake::Over),
            (quiet_since, quiet_limit, Wake::Timeout),
            (eventless_since, self.limits.stall, Wake::Stalled),
            (self.started, self.limits.deadline, Wake::Timeout),
        ];
        // A moment beyond the clock's range never comes. Of equal moments the first of the list is taken.
        let end = ends
            .into_iter()
            .filter_map(|(since, length, wake)| Some((since.checked_add(length?)?, wake)))
            .min_by_key(|(end, _)| *end);
        self.silence = Some(Silence {
            sleep: end.map(|(end, _)| Box::pin(sleep_until(end))),
            wake: end.map_or(Wake::Over, |(_, wake)| wake),
        });
    }

    /// What the present silence ends with, if there is one.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Wake>> {
        let Some(silence) = &mut self.silence else {
            return Poll::Ready(None);
        };
        match &mut silence.sleep {
            Some(sleep) => ready!(sleep.as_mut().poll(cx)),
            None => return Poll::Pending,
        }
        let wake = silence.wake;
        self.silence = None;
        Poll::Ready(Some(wake))
    }
}

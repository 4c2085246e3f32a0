//! Who waits for something to be appended to which session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allm_core::{Fence, SessionId};
use tokio::sync::Notify;

/// Wakes those who wait for a session. A hint and no more: who waits looks by itself as well.
#[derive(Default)]
pub(crate) struct Hints(Mutex<HashMap<SessionId, Waiters>>);

#[derive(Default)]
struct Waiters {
    number: usize,
    /// For those who wait for anything.
    all: Arc<Notify>,
    /// For those who wait for what was appended without a fence.
    inputs: Arc<Notify>,
}

impl Waiters {
    fn wake(&self, by: Writer) {
        self.all.notify_waiters();
        if by != Writer::Driver {
            self.inputs.notify_waiters();
        }
    }
}

/// Who has appended something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Writer {
    /// Whoever has the fence.
    Driver,
    /// Somebody else, or it is not known.
    Anyone,
}

impl Writer {
    pub(crate) const fn with(fence: Option<Fence>) -> Self {
        match fence {
            Some(_) => Self::Driver,
            None => Self::Anyone,
        }
    }
}

impl Hints {
    /// Wakes those that wait for this session.
    pub(crate) fn give(&self, id: &SessionId, by: Writer) {
        if let Some(waiters) = self.map().get(id) {
            waiters.wake(by);
        }
    }

    /// Wakes all: hints may have been lost.
    #[cfg(feature = "postgres")]
    pub(crate) fn give_all(&self) {
        for waiters in self.map().values() {
            waiters.wake(Writer::Anyone);
        }
    }

    /// Ready when a hint for this session is given after the first poll.
    pub(crate) async fn wait(&self, id: &SessionId) {
        let waiting = Waiting::new(self, id, |waiters| &waiters.all);
        waiting.notify.notified().await;
    }

    /// The same, for what somebody else than the driver has appended.
    pub(crate) async fn wait_for_input(&self, id: &SessionId) {
        let waiting = Waiting::new(self, id, |waiters| &waiters.inputs);
        waiting.notify.notified().await;
    }

    fn map(&self) -> MutexGuard<'_, HashMap<SessionId, Waiters>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Waiting<'a> {
    hints: &'a Hints,
    id: &'a SessionId,
    notify: Arc<Notify>,
}

impl<'a> Waiting<'a> {
    fn new(hints: &'a Hints, id: &'a SessionId, of: fn(&Waiters) -> &Arc<Notify>) -> Self {
        let mut map = hints.map();
        let waiters = map.entry(id.clone()).or_default();
        waiters.number += 1;
        let notify = Arc::clone(of(waiters));
        Self { hints, id, notify }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut map = self.hints.map();
        if let Some(waiters) = map.get_mut(self.id) {
            waiters.number -= 1;
            if waiters.number == 0 {
                map.remove(self.id);
            }
        }
    }
}

//! Who waits for something to be appended to which session.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use allm_core::SessionId;
use tokio::sync::Notify;

/// Wakes those who wait for a session. A hint and no more: who waits looks by itself as well.
#[derive(Default)]
pub(crate) struct Hints(Mutex<HashMap<SessionId, Waiters>>);

#[derive(Default)]
struct Waiters {
    number: usize,
    notify: Arc<Notify>,
}

impl Hints {
    /// Wakes all that wait for this session.
    pub(crate) fn give(&self, id: &SessionId) {
        if let Some(waiters) = self.map().get(id) {
            waiters.notify.notify_waiters();
        }
    }

    /// Wakes all: hints may have been lost.
    #[cfg(feature = "postgres")]
    pub(crate) fn give_all(&self) {
        for waiters in self.map().values() {
            waiters.notify.notify_waiters();
        }
    }

    /// Ready when a hint for this session is given after the first poll.
    pub(crate) async fn wait(&self, id: &SessionId) {
        let waiting = Waiting::new(self, id);
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
    fn new(hints: &'a Hints, id: &'a SessionId) -> Self {
        let mut map = hints.map();
        let waiters = map.entry(id.clone()).or_default();
        waiters.number += 1;
        let notify = Arc::clone(&waiters.notify);
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

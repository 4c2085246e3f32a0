//! How many calls there may be.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// How many calls run, and how many are open, of all clients together.
pub(super) struct Gate {
    running: Semaphore,
    open: AtomicUsize,
    most: usize,
    /// Told when no call is open any more.
    empty: Notify,
}

/// A call that is open.
pub(super) struct Open<'a>(&'a Gate);

impl Gate {
    pub(super) fn new(running: usize, open: usize) -> Self {
        Self {
            running: Semaphore::new(running.min(Semaphore::MAX_PERMITS)),
            open: AtomicUsize::new(0),
            most: open,
            empty: Notify::new(),
        }
    }

    /// Lets a call in; `None` when there are too many.
    pub(super) fn open(&self) -> Option<Open<'_>> {
        let before = self.open.fetch_add(1, Ordering::AcqRel);
        let open = Open(self);
        (before < self.most).then_some(open)
    }

    /// Lets an open call run as soon as there is room. It gives its place back while it waits for a person.
    pub(super) async fn run(&self) -> Option<SemaphorePermit<'_>> {
        self.running.acquire().await.ok()
    }

    /// Ready when no call is open.
    pub(super) async fn emptied(&self) {
        loop {
            let told = self.empty.notified();
            if self.open.load(Ordering::Acquire) == 0 {
                return;
            }
            told.await;
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if self.0.open.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.empty.notify_waiters();
        }
    }
}

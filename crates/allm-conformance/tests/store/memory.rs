//! The store in memory with a clock that is set by hand.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use allm_core::Timestamp;
use allm_store::Clock;

pub(crate) struct MemoryStore {
    pub(crate) store: Arc<allm_store::MemoryStore>,
    clock: Clock,
}

impl Default for MemoryStore {
    fn default() -> Self {
        let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).unwrap());
        Self {
            store: Arc::new(allm_store::MemoryStore::with_clock(clock.clone())),
            clock,
        }
    }
}

impl MemoryStore {
    pub(crate) fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }
}

impl Deref for MemoryStore {
    type Target = allm_store::MemoryStore;

    fn deref(&self) -> &Self::Target {
        &self.store
    }
}

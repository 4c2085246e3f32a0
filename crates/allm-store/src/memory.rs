//! A store in memory.

mod answers;
mod state;

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::clock::Clock;
use crate::hints::Hints;
use state::State;

/// A store in memory, for tests and for sessions that may end with the program.
///
/// It keeps the same rules as the stores on disk, with everything behind one lock. Nothing in it blocks.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), allm_core::StoreError> {
/// use allm_core::{PageRequest, SessionFilter, SessionStore};
/// use allm_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// let page = store.list(&SessionFilter::new(), PageRequest::default()).await?;
/// assert!(page.items.is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct MemoryStore {
    clock: Clock,
    hints: Hints,
    state: Mutex<State>,
}

impl MemoryStore {
    /// An empty store with the machine's clock.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store with this clock.
    #[must_use]
    pub fn with_clock(clock: Clock) -> Self {
        Self {
            clock,
            ..Self::default()
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing in here panics with the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("clock", &self.clock)
            .field("sessions", &self.state().len())
            .finish()
    }
}

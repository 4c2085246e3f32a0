//! Who saw a tool run.

use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::wait::lock;

/// Sees when a tool begins and when nothing of it runs any more.
///
/// Whoever makes a tool for the kit calls [`begin`](Self::begin) whenever its work begins and keeps what it gives for as
/// long as the work goes on. Checks that need it are skipped when the tool does not keep its witness.
#[derive(Clone)]
pub struct Witness(Arc<Seen>);

struct Seen {
    state: Mutex<State>,
    changed: Condvar,
    patience: Duration,
}

#[derive(Default)]
struct State {
    begun: u64,
    alive: u64,
    is_released: bool,
    was_held_too_long: bool,
    wakers: Vec<Waker>,
}

impl Witness {
    pub(super) fn new(patience: Duration) -> Self {
        Self(Arc::new(Seen {
            state: Mutex::default(),
            changed: Condvar::new(),
            patience,
        }))
    }

    /// The tool's work begins. It is over when what this gives is dropped.
    #[must_use = "the work is over when this is dropped"]
    pub fn begin(&self) -> Alive {
        self.change(|state| {
            state.begun += 1;
            state.alive += 1;
        });
        Alive(self.clone())
    }

    /// Holds this thread until the kit says so, for [`Behaviour::Blocking`](super::Behaviour::Blocking).
    ///
    /// If the kit cannot say so, because this is the thread that it runs on, it ends by itself after the subject's
    /// patience.
    pub fn hold(&self) {
        let state = lock(&self.0.state);
        let held = self
            .0
            .changed
            .wait_timeout_while(state, self.0.patience, |state| !state.is_released);
        let (mut state, timeout) = held.unwrap_or_else(PoisonError::into_inner);
        state.was_held_too_long |= timeout.timed_out();
    }

    pub(super) fn release(&self) {
        self.change(|state| state.is_released = true);
    }

    pub(super) fn was_held_too_long(&self) -> bool {
        lock(&self.0.state).was_held_too_long
    }

    /// How often the work began.
    pub(super) fn begun(&self) -> u64 {
        lock(&self.0.state).begun
    }

    /// How much work goes on.
    pub(super) fn alive(&self) -> u64 {
        lock(&self.0.state).alive
    }

    /// Whether anybody but the kit has it.
    pub(super) fn is_kept(&self) -> bool {
        Arc::strong_count(&self.0) > 1
    }

    /// Ready when the work has begun so often.
    pub(super) async fn has_begun(&self, times: u64) {
        self.until(|state| state.begun >= times).await;
    }

    /// Ready when no work goes on.
    pub(super) async fn is_over(&self) {
        self.until(|state| state.alive == 0).await;
    }

    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        poll_fn(|cx| {
            let mut state = lock(&self.0.state);
            if is_so(&state) {
                return Poll::Ready(());
            }
            state.wakers.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = lock(&self.0.state);
        change(&mut state);
        let wakers = std::mem::take(&mut state.wakers);
        drop(state);
        self.0.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl fmt::Debug for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Witness")
            .field("begun", &self.begun())
            .field("alive", &self.alive())
            .finish_non_exhaustive()
    }
}

/// A tool's work that goes on.
#[derive(Debug)]
pub struct Alive(Witness);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.change(|state| state.alive -= 1);
    }
}

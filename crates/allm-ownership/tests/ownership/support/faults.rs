//! Stores that fail when the test wants it.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use allm::{BoxFuture, StoreReason};
use tokio::time::Instant;

use super::wrapped::{Call, Fate, Op, Rule};

#[derive(Debug)]
struct State {
    /// How many appends were asked for.
    appends: usize,
    /// The first append that fails, and how many do.
    from: usize,
    times: usize,
    fate: Fate,
    /// When the failure began.
    began: Option<Instant>,
    /// How long everything fails from then on.
    outage: Option<Duration>,
    /// Everything fails for good: the machine is dead.
    dead: bool,
    /// The append that fails only waits.
    pause: bool,
}

/// Fails from one append on.
#[derive(Clone)]
pub(crate) struct Faults(Arc<Mutex<State>>);

impl Faults {
    fn new(from: usize, times: usize, fate: Fate) -> Self {
        Self(Arc::new(Mutex::new(State {
            appends: 0,
            from,
            times,
            fate,
            began: None,
            outage: None,
            dead: false,
            pause: false,
        })))
    }

    /// Nothing fails; appends are counted.
    pub(crate) fn none() -> Self {
        Self::new(usize::MAX, 0, Fate::Done)
    }

    /// One append has this fate.
    pub(crate) fn once(at: usize, fate: Fate) -> Self {
        Self::new(at, 1, fate)
    }

    /// Every append has this fate, from one on.
    pub(crate) fn from(at: usize, fate: Fate) -> Self {
        Self::new(at, usize::MAX, fate)
    }

    /// Everything is unavailable for a time, which begins with an append.
    pub(crate) fn outage(at: usize, time: Duration) -> Self {
        let faults = Self::new(at, 1, Fate::Refused(StoreReason::Unavailable));
        faults.state().outage = Some(time);
        faults
    }

    /// Nothing is answered any more, from one append on: to all others the machine is dead.
    pub(crate) fn death(at: usize) -> Self {
        let faults = Self::new(at, 1, Fate::Hung);
        faults.state().dead = true;
        faults
    }

    /// One append waits until all is well again.
    pub(crate) fn pause(at: usize) -> Self {
        let faults = Self::new(at, 1, Fate::Done);
        faults.state().pause = true;
        faults
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    /// Nothing fails any more.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.from = usize::MAX;
        state.began = None;
        state.dead = false;
    }

    pub(crate) fn appends(&self) -> usize {
        self.state().appends
    }

    /// Whether it has come to the failure.
    pub(crate) fn has_begun(&self) -> bool {
        self.state().began.is_some()
    }
}

impl Rule for Faults {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let mut state = self.state();
        let mut fate = Fate::Done;
        if call.op == Op::Append {
            let number = state.appends;
            state.appends += 1;
            let last = state.from.saturating_add(state.times);
            if (state.from..last).contains(&number) {
                fate = state.fate;
                state.began.get_or_insert_with(Instant::now);
            }
        }
        if let Some(began) = state.began {
            let over = state.outage.is_none_or(|time| began.elapsed() >= time);
            if !over {
                fate = Fate::Refused(StoreReason::Unavailable);
            }
            if state.dead {
                fate = Fate::Hung;
            }
        }
        let waits = state.pause && call.op == Op::Append && state.began.is_some();
        drop(state);
        Box::pin(async move {
            while waits && self.has_begun() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            fate
        })
    }
}

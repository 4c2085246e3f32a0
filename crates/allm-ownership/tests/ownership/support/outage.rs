//! A store that cannot be reached for a while.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use allm::{BoxFuture, StoreReason};
use tokio::time::Instant;

use super::wrapped::{Call, Fate, Op, Rule};

#[derive(Default)]
struct State {
    /// What fails; everything if it is empty.
    what: &'static [Op],
    until: Option<Instant>,
    hangs: bool,
    /// How long it fails from the next conflict on.
    after_conflict: Option<Duration>,
    calls: Vec<Op>,
}

/// Nothing is reached until the time is over.
#[derive(Clone, Default)]
pub(crate) struct Outage(Arc<Mutex<State>>);

impl Outage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("not poisoned")
    }

    /// From now on, for so long.
    pub(crate) fn begin(&self, time: Duration) {
        self.state().until = Some(Instant::now() + time);
    }

    /// As [`begin`](Self::begin), and nothing is answered at all.
    pub(crate) fn hang(&self, time: Duration) {
        self.begin(time);
        self.state().hangs = true;
    }

    /// Loading fails from now on, until so long after the next conflict.
    pub(crate) fn load_after_conflict(&self, time: Duration) {
        let mut state = self.state();
        state.what = &[Op::Load];
        state.after_conflict = Some(time);
    }

    /// How often it was asked for this.
    pub(crate) fn count(&self, op: Op) -> usize {
        let state = self.state();
        state.calls.iter().filter(|call| **call == op).count()
    }
}

impl Rule for Outage {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let mut state = self.state();
        state.calls.push(call.op);
        let is_meant = state.what.is_empty() || state.what.contains(&call.op);
        let is_on = state.after_conflict.is_some()
            || state.until.is_some_and(|until| Instant::now() < until);
        let fate = match is_meant && is_on {
            true if state.hangs => Fate::Hung,
            true => Fate::Refused(StoreReason::Unavailable),
            false => Fate::Done,
        };
        Box::pin(async move { fate })
    }

    fn told(&self, call: &Call, answer: Result<u64, StoreReason>) {
        if call.op == Op::Append && answer == Err(StoreReason::Conflict) {
            let mut state = self.state();
            if let Some(time) = state.after_conflict.take() {
                state.until = Some(Instant::now() + time);
            }
        }
    }

    fn hints(&self) -> bool {
        false
    }
}

//! Calls of one machine that wait, each under its number: several in it may ask for the same.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use allm::{BoxFuture, StoreReason};
use tokio::time::{sleep, timeout};

use super::gates::Gates;
use super::wrapped::{Call, Fate, Op, Rule};
use crate::owners::SOON;

#[derive(Default)]
struct State {
    /// What waits.
    held: &'static [Op],
    asked: Vec<Op>,
    /// What the next call is told that was held.
    refused: Option<StoreReason>,
}

/// Holds calls of some kinds at gates: `Acquire 2` is the second that anyone on the machine asked for.
#[derive(Clone, Default)]
pub(crate) struct Numbered {
    gates: Gates,
    state: Arc<Mutex<State>>,
}

impl Numbered {
    pub(crate) fn holding(held: &'static [Op]) -> Self {
        let numbered = Self::default();
        numbered.hold(held);
        numbered
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("not poisoned")
    }

    /// What waits from now on. Who is at a gate stays there.
    pub(crate) fn hold(&self, held: &'static [Op]) {
        self.state().held = held;
    }

    /// The call that comes to a gate next, beside those that are there.
    pub(crate) async fn next(&self, there: &[&str]) -> String {
        let next = async {
            loop {
                let waiting = self.gates.waiting();
                if let Some(next) = waiting.iter().find(|name| !there.contains(&&***name)) {
                    return next.clone();
                }
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(SOON, next).await.expect("it comes to a gate")
    }

    /// How often this was asked for.
    pub(crate) fn count(&self, op: Op) -> usize {
        let state = self.state();
        state.asked.iter().filter(|asked| **asked == op).count()
    }

    /// The next call that passes a gate is refused.
    pub(crate) fn refuse(&self, reason: StoreReason) {
        self.state().refused = Some(reason);
    }

    pub(crate) fn open(&self, name: &str) {
        self.gates.open(name);
    }
}

impl Rule for Numbered {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let mut state = self.state();
        state.asked.push(call.op);
        let number = state.asked.iter().filter(|op| **op == call.op).count();
        let waits = state.held.contains(&call.op);
        drop(state);
        Box::pin(async move {
            if waits {
                let what = format!("{:?} {number}", call.op);
                self.gates.pass(call.who, &what).await;
                if let Some(reason) = self.state().refused.take() {
                    return Fate::Refused(reason);
                }
            }
            Fate::Done
        })
    }

    fn hints(&self) -> bool {
        false
    }
}

//! Gates: every call that matters waits for the test's permission.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use allm::{BoxFuture, StoreReason, Takeover};
use tokio::sync::oneshot;

use super::wrapped::{Call, Fate, Op, Rule};

/// Who waits for what, and what everyone was answered so far.
#[derive(Default)]
struct State {
    waiting: BTreeMap<String, oneshot::Sender<()>>,
    /// What each machine was answered, in order.
    heard: BTreeMap<&'static str, Vec<String>>,
    /// Nobody has anything to wait for but time: reads and renewals pass.
    flowing: bool,
    open: bool,
}

/// Lets calls through one by one.
#[derive(Clone, Default)]
pub(crate) struct Gates(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Whether a lease that is asked for is given, whoever has it: as if it had run out.
    leases_run_out: bool,
    /// Whether the store has all that a store may have.
    is_whole: bool,
}

impl Gates {
    pub(crate) fn of(leases_run_out: bool, is_whole: bool) -> Self {
        Self(Arc::new(Inner {
            leases_run_out,
            is_whole,
            ..Inner::default()
        }))
    }

    /// Gates at which leases are always given.
    pub(crate) fn without_leases() -> Self {
        Self::of(true, false)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().expect("not poisoned")
    }

    /// The names of those that wait.
    pub(crate) fn waiting(&self) -> Vec<String> {
        self.state().waiting.keys().cloned().collect()
    }

    pub(crate) fn open(&self, name: &str) {
        let waiting = self.state().waiting.remove(name);
        let _ = waiting.expect("somebody waits").send(());
    }

    /// Nothing waits from now on.
    pub(crate) fn open_all(&self) {
        let mut state = self.state();
        state.open = true;
        for (_, waiting) in std::mem::take(&mut state.waiting) {
            let _ = waiting.send(());
        }
    }

    pub(crate) fn flow(&self, flowing: bool) {
        self.state().flowing = flowing;
    }

    /// All that everyone knows: two runs with the same are at the same place.
    pub(crate) fn heard(&self) -> String {
        let state = self.state();
        let waiting: Vec<&String> = state.waiting.keys().collect();
        format!("{:?} {waiting:?}", state.heard)
    }

    /// Waits at a gate of this name.
    pub(crate) async fn pass(&self, who: &'static str, what: &str) {
        let passed = {
            let mut state = self.state();
            if state.open {
                return;
            }
            let (send, passed) = oneshot::channel();
            let before = state.waiting.insert(format!("{who} {what}"), send);
            assert!(before.is_none(), "{who} waits twice for {what}");
            passed
        };
        let _ = passed.await;
        self.note(who, what.to_owned());
    }

    fn note(&self, who: &'static str, what: String) {
        self.state().heard.entry(who).or_default().push(what);
    }
}

impl Rule for Gates {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        Box::pin(async move {
            let gated = match call.op {
                Op::Append | Op::Acquire | Op::Release | Op::Delete => true,
                Op::Load => !self.state().flowing,
                _ => false,
            };
            if gated {
                let what = format!("{:?} {}", call.op, call.kinds.join("+"));
                self.pass(call.who, &what).await;
            }
            Fate::Done
        })
    }

    fn told(&self, call: &Call, answer: Result<u64, StoreReason>) {
        let matters = matches!(call.op, Op::Append | Op::Acquire | Op::Load | Op::Release);
        if matters {
            self.note(call.who, format!("{call} = {answer:?}"));
        }
    }

    fn takeover(&self, asked: Takeover) -> Takeover {
        if self.0.leases_run_out {
            Takeover::Force
        } else {
            asked
        }
    }

    fn is_plain(&self) -> bool {
        !self.0.is_whole
    }

    fn hints(&self) -> bool {
        false
    }
}

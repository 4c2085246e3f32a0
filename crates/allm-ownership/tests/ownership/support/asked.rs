//! A store that notes what it is asked for, and how a run in it ends.

use std::sync::{Arc, Mutex};

use allm::{
    BoxFuture, DeleteIf, DurableSession, LoadFrom, Loaded, SessionStatus, SessionStore, Sessions,
    StoreReason,
};

use super::stores::Store;
use super::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// Notes what a store is asked for, and loses the answers that it is told to lose.
#[derive(Clone, Default)]
pub(crate) struct Asked(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    calls: Vec<String>,
    /// How many answers to appends of this kind are lost.
    loses: (&'static str, usize),
    /// What happens before the next such append.
    meanwhile: Option<BoxFuture<'static, ()>>,
    /// What cannot be done any more, and how often it still can.
    refused: Option<(Op, usize)>,
    is_plain: bool,
}

impl Asked {
    pub(crate) fn plain(is_plain: bool) -> Self {
        let asked = Self::default();
        asked.0.lock().expect("not poisoned").is_plain = is_plain;
        asked
    }

    /// A store whose calls go by this.
    pub(crate) fn around(&self, store: &Store) -> Store {
        Wrapped::around(store, "a", &Arc::new(self.clone()))
    }

    pub(crate) fn lose(&self, kind: &'static str, answers: usize) {
        self.0.lock().expect("not poisoned").loses = (kind, answers);
    }

    /// The answer to the next append of this kind is lost, and before it is asked again this happens.
    pub(crate) fn lose_and(
        &self,
        kind: &'static str,
        meanwhile: impl Future<Output = ()> + Send + 'static,
    ) {
        self.lose(kind, 1);
        self.0.lock().expect("not poisoned").meanwhile = Some(Box::pin(meanwhile));
    }

    /// This can be done so many times, and then no more.
    pub(crate) fn refuse_after(&self, times: usize, op: Op) {
        self.0.lock().expect("not poisoned").refused = Some((op, times));
    }

    /// Everything can be done again.
    pub(crate) fn allow(&self) {
        self.0.lock().expect("not poisoned").refused = None;
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("not poisoned").calls)
    }
}

impl Rule for Asked {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let mut state = self.0.lock().expect("not poisoned");
        state
            .calls
            .push(format!("{:?} {}", call.op, call.kinds.join("+")));
        if let Some((op, left)) = &mut state.refused
            && *op == call.op
        {
            if *left == 0 {
                return Box::pin(async { Fate::Refused(StoreReason::Unavailable) });
            }
            *left -= 1;
        }
        let (kind, left) = state.loses;
        if call.op != Op::Append || !call.kinds.contains(&kind) {
            return Box::pin(async { Fate::Done });
        }
        state.loses = (kind, left.saturating_sub(1));
        if left > 0 {
            return Box::pin(async { Fate::Lost(StoreReason::Unavailable) });
        }
        let meanwhile = state.meanwhile.take();
        Box::pin(async move {
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            Fate::Done
        })
    }

    fn is_plain(&self) -> bool {
        self.0.lock().expect("not poisoned").is_plain
    }
}

/// The session, without what was there of it.
pub(crate) async fn anew(here: &Sessions) -> DurableSession {
    let id = "s".parse().expect("an id");
    let _ = here.delete(&id, DeleteIf::Force).await;
    here.create("s").await.expect("created")
}

/// The session is over and free, and a snapshot of it as it is now is there.
pub(crate) async fn is_over(store: &dyn SessionStore, place: &str) {
    let loaded = is_free(store, place).await;
    assert_eq!(loaded.entries, [], "{place}");
    let snapshot = loaded.snapshot.expect("kept");
    assert_eq!(snapshot.version, loaded.head.version, "{place}");
}

/// The session is over and free.
pub(crate) async fn is_free(store: &dyn SessionStore, place: &str) -> Loaded {
    let id = "s".parse().expect("an id");
    let loaded = store.load(&id, LoadFrom::Snapshot).await.expect("loaded");
    assert_eq!(loaded.head.status, SessionStatus::Completed, "{place}");
    assert_eq!(loaded.head.lease, None, "{place}");
    loaded
}

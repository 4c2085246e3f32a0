//! Calls that wait at the server for a person's answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::ElicitResult;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::calls::OpenCall;
use super::end::End;
use super::question::Question;

/// The calls that wait, by idempotency key.
#[derive(Clone, Default)]
pub(super) struct Suspended(Arc<Mutex<Waiting>>);

#[derive(Default)]
struct Waiting {
    calls: HashMap<String, (u64, SuspendedCall)>,
    next: u64,
}

/// A call that is open at the server, and the question that it waits with.
pub(super) struct SuspendedCall {
    pub(super) call: OpenCall,
    /// Ends with the connection that the call is open on.
    pub(super) end: End,
    pub(super) question: Question,
    pub(super) answer: oneshot::Sender<ElicitResult>,
    pub(super) given: Vec<Given>,
}

/// A question that has been answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Given {
    pub(super) question: Question,
    pub(super) result: ElicitResult,
}

impl Suspended {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a call for a time. When that is over it is dropped, which cancels it at the server.
    pub(super) fn keep(&self, key: String, call: SuspendedCall, limit: Duration) {
        let mut waiting = self.waiting();
        let number = waiting.next;
        waiting.next = number.wrapping_add(1);
        let former = waiting.calls.insert(key.clone(), (number, call));
        drop(waiting);
        drop(former);
        let all = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(limit).await;
            let Some(all) = all.upgrade() else { return };
            let mut waiting = all.lock().unwrap_or_else(PoisonError::into_inner);
            let is_same = waiting.calls.get(&key).is_some_and(|(n, _)| *n == number);
            let given_up = is_same.then(|| waiting.calls.remove(&key));
            drop(waiting);
            drop(given_up);
        });
    }

    pub(super) fn take(&self, key: &str) -> Option<SuspendedCall> {
        let call = self.waiting().calls.remove(key);
        call.map(|(_, call)| call)
    }

    /// Gives all of them up.
    pub(super) fn clear(&self) {
        let calls = std::mem::take(&mut self.waiting().calls);
        drop(calls);
    }
}

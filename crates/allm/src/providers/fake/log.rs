//! What a fake saw.

use std::sync::Arc;

use allm_core::{Failure, ModelCall, ModelRef, Request, TenantId};

use super::Shared;

/// One attempt that reached the fake. The key is never kept.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FakeCall {
    /// What was asked, with every setting resolved.
    pub request: Arc<Request>,
    /// Which model was asked.
    pub model: ModelRef,
    /// For which tenant.
    pub tenant: Option<TenantId>,
    /// Whether the call came with a key.
    pub key_used: bool,
    /// Which attempt of its call it was, from 1.
    pub attempt: u32,
    /// How it ended.
    pub outcome: FakeOutcome,
    /// How many events were taken from its stream.
    pub events_polled: u64,
}

/// How an attempt ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FakeOutcome {
    /// It has not ended.
    Open,
    /// With a whole message.
    Completed,
    /// With an error: the script's own, no reply, an unsendable history, a limit that expired, or `cancelled`.
    Failed(Failure),
    /// Without a closing event, as the script says.
    Cut,
    /// Its stream was dropped.
    Dropped,
}

/// Every attempt, and the streams that are alive.
#[derive(Default)]
pub(super) struct Log {
    pub(super) calls: Vec<FakeCall>,
    pub(super) open: usize,
    pub(super) cleanups: usize,
    pub(super) peak: usize,
}

impl Log {
    /// Records an attempt and gives its place.
    pub(super) fn begin(&mut self, call: &ModelCall) -> usize {
        self.calls.push(FakeCall {
            request: Arc::clone(&call.request),
            model: call.model.clone(),
            tenant: call.tenant.clone(),
            key_used: call.key.is_some(),
            attempt: call.attempt,
            outcome: FakeOutcome::Open,
            events_polled: 0,
        });
        self.open += 1;
        self.peak = self.peak.max(self.open);
        self.calls.len() - 1
    }
}

/// A stream that is alive. Dropping it is the cleanup, and it is dropped exactly once, however the stream ends.
pub(super) struct OpenStream {
    shared: Arc<Shared>,
    place: usize,
}

impl OpenStream {
    pub(super) fn new(shared: Arc<Shared>, place: usize) -> Self {
        Self { shared, place }
    }

    /// Notes an event that is handed out.
    pub(super) fn polled(&self) {
        self.with_call(|call| call.events_polled += 1);
    }

    /// Notes how the stream ended, and closes it.
    pub(super) fn close(self, outcome: FakeOutcome) {
        self.with_call(|call| call.outcome = outcome);
    }

    fn with_call(&self, change: impl FnOnce(&mut FakeCall)) {
        if let Some(call) = self.shared.lock().log.calls.get_mut(self.place) {
            change(call);
        }
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.log.open -= 1;
        state.log.cleanups += 1;
        if let Some(call) = state.log.calls.get_mut(self.place)
            && call.outcome == FakeOutcome::Open
        {
            call.outcome = FakeOutcome::Dropped;
        }
    }
}

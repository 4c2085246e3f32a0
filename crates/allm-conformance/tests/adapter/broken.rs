//! Adapters with one thing wrong in their events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use allm::Fake;
use allm_conformance::CannotExpress;
use allm_conformance::adapter::{self, AdapterSubject, Prepared, Scenario};
use allm_core::{Adapter, BoxFuture, BoxStream, Event, ModelCall, ProviderName};
use futures_core::Stream;

use super::failed;
use super::scripts::{fake, seen};

/// What becomes of an event; `None` is the end of the stream.
pub(crate) type Change = fn(Scenario, Option<Event>) -> Vec<Event>;

/// The scripted provider with changed events.
pub(crate) struct Mangled(pub(crate) Change);

struct MangledAdapter {
    fake: Fake,
    scenario: Scenario,
    change: Change,
}

struct MangledStream {
    inner: BoxStream<'static, Event>,
    scenario: Scenario,
    change: Change,
    ready: VecDeque<Event>,
    is_over: bool,
}

impl Stream for MangledStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(event));
            }
            if self.is_over {
                return Poll::Ready(None);
            }
            let event = ready!(self.inner.as_mut().poll_next(cx));
            self.is_over = event.is_none();
            let changed = (self.change)(self.scenario, event);
            self.ready.extend(changed);
        }
    }
}

impl Adapter for MangledAdapter {
    fn provider(&self) -> &ProviderName {
        self.fake.provider()
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        Box::pin(MangledStream {
            inner: self.fake.stream(call),
            scenario: self.scenario,
            change: self.change,
            ready: VecDeque::new(),
            is_over: false,
        })
    }
}

impl AdapterSubject for Mangled {
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        let fake = fake(scenario)?;
        let adapter = MangledAdapter {
            fake: fake.clone(),
            scenario,
            change: self.0,
        };
        Ok(seen(Prepared::new(adapter), &fake))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// What fails when events are changed so.
pub(crate) async fn with(change: Change) -> Vec<String> {
    let report = adapter::check(&Mangled(change)).await;
    failed(&report).into_iter().map(str::to_owned).collect()
}

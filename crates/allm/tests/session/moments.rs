//! Doing something at a certain moment of a run, from outside of it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use allm::{
    Adapter, BoxFuture, BoxStream, Event, Fake, KeyUse, Map, ModelCall, ProviderName, Tool,
    ToolContext,
};
use futures_core::Stream;
use serde_json::Value;

use crate::support::tool;

type Action = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// The moments of a run: each event of the model, before it is given, and each handler, before it replies. At one of
/// them, counted from 1, something is done.
#[derive(Clone)]
pub(crate) struct Moments {
    passed: Arc<AtomicUsize>,
    at: usize,
    action: Action,
}

impl Moments {
    pub(crate) fn at<F>(at: usize, action: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        Self {
            passed: Arc::default(),
            at,
            action: Arc::new(move || Box::pin(action())),
        }
    }

    pub(crate) fn passed(&self) -> usize {
        self.passed.load(Ordering::SeqCst)
    }

    /// What is to be done at this moment, if it is the one.
    fn next(&self) -> Option<BoxFuture<'static, ()>> {
        let now = self.passed.fetch_add(1, Ordering::SeqCst) + 1;
        (now == self.at).then(|| (self.action)())
    }

    /// A tool with this moment in it.
    pub(crate) fn tool(&self, name: &str, value: Value) -> Tool {
        let moments = self.clone();
        tool(name).handler(move |_: Map, _: ToolContext| {
            let (moments, value) = (moments.clone(), value.clone());
            async move {
                if let Some(action) = moments.next() {
                    action.await;
                }
                Ok::<_, std::fmt::Error>(value)
            }
        })
    }

    /// A model with these moments in its answers.
    pub(crate) fn model(&self, fake: &Fake) -> Interposed {
        Interposed {
            fake: fake.clone(),
            moments: self.clone(),
        }
    }
}

pub(crate) struct Interposed {
    fake: Fake,
    moments: Moments,
}

impl Adapter for Interposed {
    fn provider(&self) -> &ProviderName {
        self.fake.provider()
    }

    fn key_use(&self) -> KeyUse {
        KeyUse::Optional
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        Box::pin(Held {
            events: self.fake.stream(call),
            moments: self.moments.clone(),
            event: None,
            action: None,
        })
    }
}

/// Holds each event back until what is to be done before it is done.
struct Held {
    events: BoxStream<'static, Event>,
    moments: Moments,
    event: Option<Event>,
    action: Option<BoxFuture<'static, ()>>,
}

impl Stream for Held {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        if self.event.is_none() {
            match self.events.as_mut().poll_next(cx) {
                Poll::Ready(Some(event)) => {
                    self.event = Some(event);
                    self.action = self.moments.next();
                }
                other => return other,
            }
        }
        if let Some(action) = &mut self.action {
            if action.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            self.action = None;
        }
        Poll::Ready(self.event.take())
    }
}

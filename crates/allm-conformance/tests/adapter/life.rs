//! For each rule about what lies around the events, an adapter that breaks it alone.

use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use allm::Fake;
use allm_conformance::CannotExpress;
use allm_conformance::adapter::{self, AdapterSubject, KEY, Prepared, Scenario};
use allm_core::{
    Adapter, BoxFuture, BoxStream, CancelToken, Capabilities, Event, Fault, FaultCode, ModelCall,
    ProviderName, Support, ValidationError, ValidationReason,
};
use futures_core::Stream;

use super::failed;
use super::scripts::{fake, seen};

/// A scripted provider behind functions that can be changed.
#[derive(Clone)]
struct Changed {
    fake: Fake,
    scenario: Scenario,
    stream: fn(&Self, ModelCall) -> BoxStream<'static, Event>,
    check: fn(&Self, &ModelCall) -> Result<(), ValidationError>,
    capabilities: Capabilities,
    shared: Arc<Mutex<Option<BoxStream<'static, Event>>>>,
}

impl Changed {
    fn new(scenario: Scenario) -> Result<Self, CannotExpress> {
        Ok(Self {
            fake: fake(scenario)?,
            scenario,
            stream: |this, call| this.fake.stream(call),
            check: |_, _| Ok(()),
            capabilities: Capabilities::default(),
            shared: Arc::default(),
        })
    }
}

impl Adapter for Changed {
    fn provider(&self) -> &ProviderName {
        self.fake.provider()
    }

    fn capabilities(&self, _: &str) -> Capabilities {
        self.capabilities
    }

    fn check(&self, call: &ModelCall) -> Result<(), ValidationError> {
        (self.check)(self, call)
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        (self.stream)(self, call)
    }
}

struct Subject(fn(&mut Changed));

impl AdapterSubject for Subject {
    fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
        let mut changed = Changed::new(scenario)?;
        (self.0)(&mut changed);
        let fake = changed.fake.clone();
        Ok(seen(Prepared::new(changed), &fake))
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

async fn with(change: fn(&mut Changed)) -> Vec<String> {
    let report = adapter::check(&Subject(change)).await;
    failed(&report).into_iter().map(str::to_owned).collect()
}

fn poll(stream: &mut BoxStream<'static, Event>) -> Poll<Option<Event>> {
    let mut cx = Context::from_waker(std::task::Waker::noop());
    stream.as_mut().poll_next(&mut cx)
}

/// A stream of a closure.
struct Of<F>(F);

impl<F: FnMut(&mut Context<'_>) -> Poll<Option<Event>> + Unpin> Stream for Of<F> {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        (self.0)(cx)
    }
}

#[tokio::test(start_paused = true)]
async fn c78_a_stream_without_an_end() {
    let never = with(|changed| {
        changed.stream = |this, call| {
            let mut inner = this.fake.stream(call);
            let is_stuck = this.scenario == Scenario::Refusal;
            Box::pin(Of(move |cx: &mut Context<'_>| {
                match inner.as_mut().poll_next(cx) {
                    Poll::Ready(None) if is_stuck => Poll::Pending,
                    polled => polled,
                }
            }))
        };
    });
    assert_eq!(never.await, ["ends"]);
}

#[tokio::test(start_paused = true)]
async fn c138_a_request_before_the_first_poll() {
    let eager = with(|changed| {
        changed.stream = |this, call| {
            if call.cancel.is_cancelled() {
                return this.fake.stream(call);
            }
            let mut inner = this.fake.stream(call);
            let mut first = Some(poll(&mut inner));
            Box::pin(Of(move |cx: &mut Context<'_>| match first.take() {
                Some(Poll::Ready(event)) => Poll::Ready(event),
                _ => inner.as_mut().poll_next(cx),
            }))
        };
    });
    assert_eq!(eager.await, ["lazy"]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_inside() {
    let stubborn = with(|changed| {
        changed.stream = |this, call| {
            let mut inner = this.fake.stream(call.clone());
            let mut again = (this.scenario == Scenario::Unavailable && !call.cancel.is_cancelled())
                .then(|| this.fake.stream(call));
            Box::pin(Of(move |cx: &mut Context<'_>| {
                if let Some(mut first) = again.take() {
                    let _ = first.as_mut().poll_next(cx);
                }
                inner.as_mut().poll_next(cx)
            }))
        };
    });
    assert_eq!(stubborn.await, ["one_attempt"]);
}

#[tokio::test(start_paused = true)]
async fn c136_a_connection_that_stays_open() {
    let leaking = with(|changed| {
        changed.stream = |this, call| {
            if this.scenario != Scenario::Length || call.cancel.is_cancelled() {
                return this.fake.stream(call);
            }
            // The answer comes from elsewhere, and the provider's own is left half read.
            let mut answer = this.fake.fork().stream(call.clone());
            let mut open = ManuallyDrop::new(this.fake.stream(call));
            let mut is_opened = false;
            Box::pin(Of(move |cx: &mut Context<'_>| {
                if !std::mem::replace(&mut is_opened, true) {
                    let _ = open.as_mut().poll_next(cx);
                }
                answer.as_mut().poll_next(cx)
            }))
        };
    });
    assert_eq!(leaking.await, ["closed_at_the_end"]);
}

#[tokio::test(start_paused = true)]
async fn c135_a_drop_that_closes_nothing() {
    let leaking = with(|changed| {
        changed.stream = |this, call| {
            let mut inner = ManuallyDrop::new(this.fake.stream(call));
            Box::pin(Of(move |cx: &mut Context<'_>| inner.as_mut().poll_next(cx)))
        };
    });
    assert_eq!(leaking.await, ["dropped"]);
}

#[tokio::test(start_paused = true)]
async fn c137_a_token_that_nobody_hears() {
    let deaf = with(|changed| {
        changed.stream = |this, mut call| {
            if !call.cancel.is_cancelled() {
                call.cancel = CancelToken::new();
            }
            this.fake.stream(call)
        };
    });
    assert_eq!(deaf.await, ["cancelled"]);
    let late = with(|changed| {
        changed.stream = |this, mut call| {
            if call.cancel.is_cancelled() {
                call.cancel = CancelToken::new();
            }
            this.fake.stream(call)
        };
    });
    assert_eq!(late.await, ["cancelled_before"]);
}

#[tokio::test(start_paused = true)]
async fn c187_streams_that_share_an_answer() {
    let shared = with(|changed| {
        changed.stream = |this, call| {
            if this.scenario != Scenario::TextInPieces || call.cancel.is_cancelled() {
                return this.fake.stream(call);
            }
            let (fake, shared) = (this.fake.clone(), Arc::clone(&this.shared));
            Box::pin(Of(move |cx: &mut Context<'_>| {
                let mut shared = shared.lock().unwrap();
                let inner = shared.get_or_insert_with(|| fake.stream(call.clone()));
                inner.as_mut().poll_next(cx)
            }))
        };
    });
    assert_eq!(shared.await, ["two_streams"]);
}

#[tokio::test(start_paused = true)]
async fn a_name_that_no_model_string_can_hold() {
    let loud = with(|changed| {
        if changed.scenario != Scenario::RateLimited {
            let script = super::scripts::script(changed.scenario).unwrap();
            changed.fake = Fake::named("Loud Provider").always(script);
        }
    });
    assert_eq!(loud.await, ["provider_name"]);
}

#[tokio::test(start_paused = true)]
async fn capabilities_that_contradict_each_other() {
    let torn = with(|changed| {
        changed.capabilities.tools = Support::No;
        changed.capabilities.parallel_tool_calls = Support::Yes;
    });
    assert_eq!(torn.await, ["capabilities"]);
    let nothing = with(|changed| changed.capabilities.max_output_tokens = Some(0));
    assert_eq!(nothing.await, ["capabilities"]);
}

#[tokio::test(start_paused = true)]
async fn c94_a_check_that_refuses_or_asks() {
    let strict = with(|changed| {
        changed.check = |_, _| {
            let fault = Fault::new("tools", FaultCode::ToolsUnsupported);
            let reason = ValidationReason::UnsupportedOption;
            Err(ValidationError::new(reason, vec![fault]))
        };
    });
    assert_eq!(strict.await, ["check"]);
    let asking = with(|changed| {
        changed.check = |this, call| {
            let _ = poll(&mut this.fake.stream(call.clone()));
            Ok(())
        };
    });
    assert_eq!(asking.await, ["check"]);
}

/// C104.
#[tokio::test(start_paused = true)]
async fn c104_an_adapter_whose_debug_shows_its_key() {
    struct Shown;
    impl AdapterSubject for Shown {
        fn prepare(&self, scenario: Scenario) -> Result<Prepared, CannotExpress> {
            let fake = fake(scenario)?;
            let prepared = Prepared::new(fake.clone()).shown_as(format!("Mine {{ key: {KEY} }}"));
            Ok(seen(prepared, &fake))
        }

        fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
            Box::pin(tokio::time::sleep(duration))
        }
    }
    assert_eq!(failed(&adapter::check(&Shown).await), ["key_not_shown"]);
}

//! Listeners that panic.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use allm::telemetry::{Measured, Metrics};
use allm::{Fake, HaltReason, Script};
use serde_json::json;
use tracing::span::{Attributes, Id, Record};
use tracing::{Subscriber, subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::{Layer, Registry};

use super::{builder, engine};

struct Broken(Arc<AtomicUsize>);

impl Metrics for Broken {
    fn record(&self, measured: &Measured<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("no room for {}", measured.name);
    }
}

/// A panic unwinds to who polls; the end of the call is told on the way, and a second panic there harms nobody.
#[tokio::test(start_paused = true)]
async fn metrics_that_always_panic_do_not_abort() {
    let told = Arc::new(AtomicUsize::new(0));
    let fake = Fake::new().always(Script::new().text("a"));
    let metrics = Broken(Arc::clone(&told));
    let engine = builder(&fake).metrics(metrics).build().expect("valid");
    let chat = tokio::spawn(engine.chat("hi").into_future());
    assert!(chat.await.expect_err("a panic").is_panic());
    assert_eq!(told.load(Ordering::SeqCst), 2);
    assert_eq!((fake.cleanups(), fake.open_streams()), (1, 0));
}

/// Panics at the spans of tools: when they open, or when they are told their outcome.
struct Faulty {
    opens: bool,
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Faulty {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        if self.opens && attributes.metadata().name() == "allm.tool" {
            panic!("a span too many");
        }
    }

    fn on_record(&self, id: &Id, _: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).expect("a span");
        if !self.opens && span.name() == "allm.tool" {
            panic!("a record too many");
        }
    }
}

/// A call has its end also where a listener panics at it; nobody waits for ever.
#[tokio::test(start_paused = true)]
async fn a_listener_that_panics_at_a_tool_does_not_hang_the_run() {
    for opens in [true, false] {
        let layer = Registry::default().with(Faulty { opens });
        let guard = subscriber::set_default(layer);
        let twice = Script::new()
            .call("echo", json!({}))
            .call_raw("echo", "no object");
        let fake = Fake::new().reply(twice).always("done");
        let chat = engine(&fake).chat("hi").max_concurrency(1);
        let run = tokio::time::timeout(Duration::from_secs(600), chat.into_future()).await;
        drop(guard);
        let result = run.expect("no hang").expect("a result");
        assert_eq!(result.halted_reason, HaltReason::Completed);
        assert_eq!(result.steps[0].tool_results.len(), 2);
    }
}

//! What stops a run when nobody was looking: after an answer has ended, between turns, while events wait.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use allm::{
    Adapter, BoxStream, CancelToken, Event, EventStream, Fake, FinishReason, HaltReason, KeyUse,
    Map, ModelCall, ProviderName, Script, Tool,
};
use futures_core::Stream;
use serde_json::json;

use super::{builder, call, engine, tags, text};

const SECOND: Duration = Duration::from_secs(1);

/// Takes events up to and with the first of this tag.
async fn until(events: &mut EventStream, tag: &str) {
    while events.next().await.expect("an event").tag() != tag {}
}

fn result(events: &[Event]) -> &allm::ChatResult {
    match events.last() {
        Some(Event::ChatCompleted(completed)) => &completed.result,
        other => panic!("no result: {other:?}"),
    }
}

/// L256: an answer that has ended is not cancelled, and nothing follows its end.
#[tokio::test]
async fn l256_an_answer_that_has_ended_stands() {
    let fake = Fake::new().always(text("whole"));
    let token = CancelToken::new();
    let mut events = engine(&fake).generate("hi").cancel(token.clone()).stream();
    until(&mut events, "message_completed").await;
    token.cancel();
    assert_eq!(tags(&events.collect().await), [""; 0]);

    let token = CancelToken::new();
    let mut events = engine(&fake).chat("hi").cancel(token.clone()).stream();
    until(&mut events, "message_completed").await;
    token.cancel();
    let rest = events.collect().await;
    assert_eq!(tags(&rest), ["step_completed", "chat_completed"]);
    assert_eq!(result(&rest).halted_reason, HaltReason::Completed);

    let token = CancelToken::new();
    let fires = token.clone();
    let cancel_at_end = move |event: &Event| {
        if matches!(event, Event::MessageCompleted(_)) {
            fires.cancel();
        }
    };
    let answer = engine(&fake).generate("hi").cancel(token);
    let answer = answer.on_event(cancel_at_end).await.expect("an answer");
    assert_eq!(answer.finish_reason, Some(FinishReason::Stop));
}

/// L248: the calls of an answer that has ended are closed when the token fires before they begin.
#[tokio::test]
async fn l248_calls_that_had_not_begun_are_closed() {
    let fake = Fake::new().always(call("a"));
    let token = CancelToken::new();
    let mut events = engine(&fake).chat("hi").cancel(token.clone()).stream();
    until(&mut events, "message_completed").await;
    token.cancel();
    let rest = events.collect().await;
    assert_eq!(
        tags(&rest),
        ["tool_result_encoded", "step_completed", "chat_completed"]
    );
    let result = result(&rest);
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    let answer = &result.steps[0].response;
    assert_eq!(answer.finish_reason, Some(FinishReason::ToolCalls));
    let content = result.steps[0].tool_results.get(0).expect("one").text();
    assert!(content.contains("cancelled"), "{content}");
}

/// L248: what waits for its turn does not begin after the token has fired, also while nobody polls.
#[tokio::test(start_paused = true)]
async fn l248_nothing_begins_behind_a_consumer_that_does_not_look() {
    let began = Arc::new(AtomicUsize::new(0));
    let token = CancelToken::new();
    let tool = Tool::new("slow", "", json!({})).handler({
        let began = Arc::clone(&began);
        let token = token.clone();
        move |_: Map| {
            began.fetch_add(1, Ordering::SeqCst);
            let token = token.clone();
            async move {
                token.cancel();
                Ok::<_, String>(())
            }
        }
    });
    let twice = Script::new()
        .call("slow", json!({}))
        .call("slow", json!({}));
    let fake = Fake::new().always(twice);
    let engine = builder(&fake).tool(tool).build().expect("valid");
    let chat = engine.chat("hi").max_concurrency(1).cancel(token);
    let mut events = chat.stream();
    until(&mut events, "tool_execution_started").await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(began.load(Ordering::SeqCst), 1);
    let rest = events.collect().await;
    assert_eq!(result(&rest).halted_reason, HaltReason::Cancelled);
}

/// Row 15 of section 13: a deadline that passed between two turns costs no model call.
#[tokio::test(start_paused = true)]
async fn l261_the_run_deadline_is_looked_at_before_a_turn() {
    let fake = Fake::new().reply(call("a")).always(text("late"));
    let mut events = engine(&fake).chat("hi").run_deadline(SECOND).stream();
    until(&mut events, "step_completed").await;
    tokio::time::sleep(2 * SECOND).await;
    let rest = events.collect().await;
    assert_eq!(tags(&rest), ["chat_completed"]);
    let result = result(&rest);
    assert_eq!(result.halted_reason, HaltReason::DeadlineExceeded);
    assert_eq!(result.metadata["scope"], "run");
    fake.assert_calls(1);
}

/// L259, C134: events that are there already do not put a deadline off.
#[tokio::test(start_paused = true)]
async fn l259_a_deadline_holds_while_events_wait() {
    let fake = Fake::new().always(Script::new().chunks(["one", "two", "three"]));
    let mut events = engine(&fake).chat("hi").turn_deadline(SECOND).stream();
    until(&mut events, "text_delta").await;
    tokio::time::sleep(2 * SECOND).await;
    let rest = events.collect().await;
    assert_eq!(tags(&rest), ["error", "step_completed", "chat_completed"]);
    assert_eq!(result(&rest).halted_reason, HaltReason::DeadlineExceeded);
    assert_eq!(result(&rest).text(), "one");

    let mut events = engine(&fake).generate("hi").deadline(SECOND).stream();
    until(&mut events, "text_delta").await;
    tokio::time::sleep(2 * SECOND).await;
    assert_eq!(tags(&events.collect().await), ["error"]);
}

/// A provider whose stream stays open after its closing event.
struct Lingers(Fake);

struct Lingering(BoxStream<'static, Event>);

impl Stream for Lingering {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match self.0.as_mut().poll_next(cx) {
            Poll::Ready(None) => Poll::Pending,
            other => other,
        }
    }
}

impl Adapter for Lingers {
    fn provider(&self) -> &ProviderName {
        self.0.provider()
    }

    fn key_use(&self) -> KeyUse {
        KeyUse::Never
    }

    fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
        Box::pin(Lingering(self.0.stream(call)))
    }
}

/// Waiting for the last raw chunks does not make a whole answer a failed one.
#[tokio::test(start_paused = true)]
async fn a_whole_answer_does_not_stall() {
    let fake = Fake::new().always(text("whole"));
    let engine = allm::Engine::builder()
        .provider(Lingers(fake))
        .model("fake:any")
        .build()
        .expect("valid");
    let answer = engine.generate("hi").with_raw_chunks();
    let answer = answer.await.expect("an answer");
    assert_eq!(answer.finish_reason, Some(FinishReason::Stop));
    let events = engine.generate("hi").with_raw_chunks().stream();
    let events = events.collect().await;
    assert_eq!(tags(&events).last(), Some(&"message_completed"));
}

/// A consumer that takes its time is not a provider that stalls.
#[tokio::test(start_paused = true)]
async fn a_slow_consumer_is_not_a_stall() {
    let script = text("one").delay(SECOND).text("two");
    let fake = Fake::new().always(script);
    let chat = engine(&fake).generate("hi").idle_timeout(60 * SECOND);
    let mut events = chat.stall_timeout(60 * SECOND).stream();
    until(&mut events, "text_delta").await;
    tokio::time::sleep(100 * SECOND).await;
    let rest = events.collect().await;
    assert_eq!(tags(&rest).last(), Some(&"message_completed"));
}

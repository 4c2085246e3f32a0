//! What stops a run when nobody was looking: after an answer has ended, between turns, while events wait.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use allm::{
    Adapter, BoxStream, CancelToken, Event, EventStream, Fake, FinishReason, HaltReason, KeyUse,
    Map, ModelCall, ProviderName, Script, Tool, ToolContext,
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

/// L38, L248: a handler hears of the token, and is stopped, also while nobody polls.
#[tokio::test(start_paused = true)]
async fn l248_a_handler_is_stopped_behind_a_consumer_that_does_not_look() {
    struct Tells(Option<tokio::sync::oneshot::Sender<bool>>, CancelToken);

    impl Drop for Tells {
        fn drop(&mut self) {
            let _ = self.0.take().expect("once").send(self.1.is_cancelled());
        }
    }

    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = std::sync::Mutex::new(Some(tell));
    let tool = Tool::new("hangs", "", json!({})).handler(move |_: Map, context: ToolContext| {
        let tells = Tells(tell.lock().unwrap().take(), context.cancel);
        async move {
            std::future::pending::<()>().await;
            drop(tells);
            Ok::<_, String>(())
        }
    });
    let fake = Fake::new().always(call("hangs"));
    let engine = builder(&fake).tool(tool).build().expect("valid");
    let token = CancelToken::new();
    let mut events = engine.chat("hi").cancel(token.clone()).stream();
    until(&mut events, "tool_execution_started").await;
    token.cancel();
    let told = tokio::time::timeout(SECOND, told).await;
    assert_eq!(told.expect("in time"), Ok(true));
    let rest = events.collect().await;
    assert_eq!(result(&rest).halted_reason, HaltReason::Cancelled);
    let content = result(&rest).steps[0].tool_results.get(0).expect("one");
    assert!(content.text().contains("handler_exit"));
}

/// L261: what is left of a turn's time does not count against the next one.
#[tokio::test(start_paused = true)]
async fn l261_a_turn_deadline_ends_with_its_turn() {
    let fake = Fake::new().reply(call("a")).always(text("in time"));
    let mut events = engine(&fake).chat("hi").turn_deadline(SECOND).stream();
    until(&mut events, "step_completed").await;
    tokio::time::sleep(2 * SECOND).await;
    let rest = events.collect().await;
    assert_eq!(result(&rest).halted_reason, HaltReason::Completed);
    fake.assert_calls(2);
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

/// A provider whose stream is like the fake's but for its end.
struct Lingers(Fake, AtEnd);

#[derive(Clone)]
enum AtEnd {
    /// It stays open after its closing event.
    Hangs,
    /// It cancels this when it ends.
    Cancels(CancelToken),
}

struct Lingering(BoxStream<'static, Event>, AtEnd);

impl Stream for Lingering {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        match (self.0.as_mut().poll_next(cx), &self.1) {
            (Poll::Ready(None), AtEnd::Hangs) => Poll::Pending,
            (Poll::Ready(None), AtEnd::Cancels(token)) => {
                token.cancel();
                Poll::Ready(None)
            }
            (other, _) => other,
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
        Box::pin(Lingering(self.0.stream(call), self.1.clone()))
    }
}

/// Waiting for the last raw chunks does not make a whole answer a failed one.
#[tokio::test(start_paused = true)]
async fn a_whole_answer_does_not_stall() {
    let fake = Fake::new().always(text("whole"));
    let engine = allm::Engine::builder()
        .provider(Lingers(fake, AtEnd::Hangs))
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

/// L248: the token fires when the calls of an answer are known and not yet begun.
#[tokio::test]
async fn l248_a_stop_between_the_answer_and_its_calls() {
    let token = CancelToken::new();
    let fake = Fake::new().always(call("a"));
    let engine = builder(&fake)
        .provider(Lingers(fake.clone(), AtEnd::Cancels(token.clone())))
        .build()
        .expect("valid");
    let chat = engine.chat("hi").with_raw_chunks().cancel(token);
    let result = chat.await.expect("a result");
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    let content = result.steps[0].tool_results.get(0).expect("one").text();
    assert!(content.contains("\"cancelled\""), "{content}");
}

/// L271: who is asked hears of it when nobody waits for the answer any more.
#[tokio::test]
async fn l271_dropping_fires_the_token_of_the_model_call() {
    struct Keeps(Fake, Arc<std::sync::Mutex<Option<CancelToken>>>);

    impl Adapter for Keeps {
        fn provider(&self) -> &ProviderName {
            self.0.provider()
        }

        fn key_use(&self) -> KeyUse {
            KeyUse::Never
        }

        fn stream(&self, call: ModelCall) -> BoxStream<'static, Event> {
            *self.1.lock().unwrap() = Some(call.cancel.clone());
            self.0.stream(call)
        }
    }

    let fake = Fake::new().always(Script::new().chunks(["a", "b"]));
    let kept = Arc::default();
    let provider = Keeps(fake.clone(), Arc::clone(&kept));
    let engine = builder(&fake).provider(provider).build().expect("valid");
    for mut events in [engine.chat("hi").stream(), engine.generate("hi").stream()] {
        until(&mut events, "text_delta").await;
        let token = kept.lock().unwrap().take().expect("a call");
        assert!(!token.is_cancelled());
        drop(events);
        assert!(token.is_cancelled());
    }
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

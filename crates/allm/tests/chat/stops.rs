//! Cancelling, deadlines and dropping, on a paused clock.

use std::time::Duration;

use allm::{CancelToken, Fake, HaltReason, Map, Script, Tool};
use serde_json::json;

use super::{builder, call, engine, tags, text};

fn slow() -> Tool {
    Tool::new("slow", "", json!({})).handler(|_: Map| async {
        tokio::time::sleep(Duration::from_secs(3600)).await;
        Ok::<_, String>(())
    })
}

#[tokio::test]
async fn l244_before_the_first_poll() {
    let fake = Fake::new();
    let token = CancelToken::new();
    token.cancel();
    let result = engine(&fake)
        .chat("hi")
        .cancel(token.clone())
        .await
        .expect("a result");
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    let events = engine(&fake)
        .chat("hi")
        .cancel(token.clone())
        .stream()
        .collect()
        .await;
    assert_eq!(tags(&events), ["chat_completed"]);
    let error = engine(&fake)
        .step("hi")
        .cancel(token.clone())
        .await
        .expect_err("refused");
    assert_eq!(error.reason(), "cancelled");
    let error = engine(&fake)
        .generate("hi")
        .cancel(token)
        .await
        .expect_err("refused");
    assert_eq!(error.reason(), "cancelled");
    fake.assert_calls(0);
}

#[tokio::test(start_paused = true)]
async fn l246_between_two_deltas() {
    let fake = Fake::new().reply(text("half").delay(Duration::from_secs(9)).text("never"));
    let token = CancelToken::new();
    let mut events = engine(&fake).chat("hi").cancel(token.clone()).stream();
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        if event.tag() == "text_delta" {
            token.cancel();
        }
        seen.push(event);
    }
    let tags = tags(&seen);
    assert_eq!(
        tags[tags.len() - 3..],
        ["error", "step_completed", "chat_completed"]
    );
    assert_eq!(fake.cleanups(), 1);
}

#[tokio::test(start_paused = true)]
async fn l248_while_a_handler_runs() {
    let fake = Fake::new().reply(call("slow"));
    let engine = builder(&fake).tool(slow()).build().expect("valid");
    let token = CancelToken::new();
    let chat = tokio::spawn(engine.chat("hi").cancel(token.clone()).into_future());
    tokio::time::sleep(Duration::from_secs(1)).await;
    token.cancel();
    let result = chat.await.expect("no panic").expect("a result");
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    let content = result.steps[0].tool_results.get(0).expect("one").text();
    assert!(content.contains("handler_exit"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn l259_l260_deadlines() {
    let second = Duration::from_secs(1);
    let fake = Fake::new().reply(text("half").delay(Duration::from_secs(9)).text("never"));
    let result = engine(&fake)
        .chat("hi")
        .turn_deadline(second)
        .await
        .expect("a result");
    assert_eq!(result.halted_reason, HaltReason::DeadlineExceeded);
    assert_eq!(result.metadata["scope"], "turn");
    assert_eq!(result.text(), "half");

    let fake = Fake::new().reply(call("slow"));
    let engine = builder(&fake).tool(slow()).build().expect("valid");
    let chat = engine
        .chat("hi")
        .run_deadline(second)
        .tool_timeout(Duration::MAX);
    let result = chat.await.expect("a result");
    assert_eq!(result.metadata["scope"], "run");
    let content = result.steps[0].tool_results.get(0).expect("one").text();
    assert!(content.contains("timeout"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn c182_a_silent_provider_is_a_timeout() {
    let fake = Fake::new().always(Script::new().hang());
    let error = engine(&fake).generate("hi").await.expect_err("refused");
    assert_eq!(error.reason(), "timeout");
    fake.assert_calls(3);
}

#[tokio::test(start_paused = true)]
async fn l270_l271_dropping_stops_everything() {
    let fake = Fake::new().reply(text("a").delay(Duration::from_secs(9)).text("b"));
    let mut events = engine(&fake).chat("hi").stream();
    let first = events.next().await;
    assert_eq!(first.map(|event| event.tag()), Some("message_started"));
    drop(events);
    assert_eq!((fake.cleanups(), fake.open_streams()), (1, 0));
}

#[tokio::test]
async fn l274_a_call_that_is_never_polled_does_nothing() {
    let fake = Fake::new();
    drop(engine(&fake).chat("hi"));
    drop(engine(&fake).chat("hi").stream());
    drop(engine(&fake).chat("hi").into_future());
    fake.assert_calls(0);
}

/// L169: `halt_when` is the caller's own code; its panic is the caller's, and nothing is left behind.
#[tokio::test(start_paused = true)]
async fn l169_a_panic_in_halt_when_unwinds_to_the_caller() {
    let fake = Fake::new().reply(call("a")).always(text("x"));
    let engine = engine(&fake);
    let chat = engine
        .chat("hi")
        .halt_when(|step| panic!("after {} results", step.tool_results.len()));
    let panic = tokio::spawn(chat.into_future())
        .await
        .expect_err("a panic")
        .into_panic();
    let said = panic.downcast_ref::<String>().map(String::as_str);
    assert_eq!(said, Some("after 1 results"));
    assert_eq!((fake.cleanups(), fake.open_streams()), (1, 0));
    let result = engine.chat("hi").await.expect("a result");
    assert_eq!(result.text(), "x");
}

/// L272: dropped where a turn has ended, and where the run has.
#[tokio::test(start_paused = true)]
async fn l272_dropped_between_turns_or_at_the_end() {
    for turns in [1, 2] {
        let fake = Fake::new().reply(call("a")).reply(text("x"));
        let mut events = engine(&fake).chat("hi").stream();
        let mut ended = 0;
        while ended < turns {
            let event = events.next().await.expect("a step");
            ended += usize::from(event.tag() == "step_completed");
        }
        drop(events);
        tokio::time::sleep(Duration::from_secs(3600)).await;
        fake.assert_calls(turns);
        assert_eq!((fake.cleanups(), fake.open_streams()), (turns, 0));
        let handle = tokio::runtime::Handle::current();
        assert_eq!(handle.metrics().num_alive_tasks(), 0);
    }
}

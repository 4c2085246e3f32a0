//! Whole conversations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allm::session::Delivery;
use allm::{
    ApprovalRule, CancelToken, Engine, Event, Fake, HaltReason, Script, Session, SessionReason,
    SessionStatus, ToolReply,
};
use serde_json::{Value, json};

use crate::support::{engine, giving, texts, tool};

fn round_trip(session: &Session) -> Session {
    let text = allm::json::to_string(session).expect("it can be written");
    let back: Session =
        allm::json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(&back, session, "{text}");
    back
}

#[tokio::test]
async fn text_and_text() {
    let fake = Fake::new().reply("Hello!").reply("Bye!");
    let engine = engine(&fake, vec![]);
    let mut session = Session::new("a").unwrap();
    assert_eq!(session.status(), SessionStatus::Idle);
    let result = session.reply(&engine, "Hi").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Completed);
    assert_eq!(session.status(), SessionStatus::Completed);
    let mut session = round_trip(&session);
    session.reply(&engine, "Thanks").await.unwrap();
    assert_eq!(
        texts(&session),
        [
            "user: Hi",
            "assistant: Hello!",
            "user: Thanks",
            "assistant: Bye!"
        ]
    );
    assert_eq!(session.turn(), 2);
    let error = session.resume(&engine).await.unwrap_err();
    assert_eq!(error.reason, SessionReason::NothingToResume);
}

#[tokio::test]
async fn tools_run_and_the_model_goes_on() {
    let script = Script::new().call("a", json!({})).call("b", json!({}));
    let fake = Fake::new().reply(script).reply("done");
    let engine = engine(&fake, vec![giving("a", json!(1)), giving("b", json!(2))]);
    let mut session = Session::new("a").unwrap();
    let result = session.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.steps.len(), 2);
    assert_eq!(result.thread, session.thread());
    assert_eq!(
        texts(&session),
        [
            "user: Go",
            "assistant: ",
            "tool: 1",
            "tool: 2",
            "assistant: done"
        ]
    );
    round_trip(&session);
}

#[tokio::test]
async fn a_question_an_approval_and_a_manual_call() {
    let script = Script::new()
        .call("ask", json!({}))
        .call("gated", json!({"x": 1}))
        .call("manual", json!({}))
        .call("plain", json!({}));
    let fake = Fake::new().reply(script).reply("done");
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let gated = tool("gated")
        .approval(ApprovalRule::Always)
        .handler(move |value: Value| {
            count.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, std::fmt::Error>(value) }
        });
    let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
    let engine = engine(
        &fake,
        vec![
            ask,
            gated,
            tool("manual").manual(),
            giving("plain", json!("p")),
        ],
    );
    let mut session = Session::new("a").unwrap();
    let result = session.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::AskUser);
    assert_eq!(session.status(), SessionStatus::AwaitingUser);
    assert_eq!(session.waits().len(), 3);
    let mut session = round_trip(&session);
    // S4, S16
    let result = session.reply(&engine, "Yes").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert!(result.steps.is_empty());
    assert_eq!(session.status(), SessionStatus::AwaitingApproval);
    let mut session = round_trip(&session);
    let approval = session.approvals()[0].clone();
    session.approve(&approval).unwrap();
    session.approve(&approval).unwrap();
    assert_eq!(
        session.deny(&approval, "no").unwrap_err().reason,
        SessionReason::AlreadyDecided
    );
    assert_eq!(session.status(), SessionStatus::AwaitingTools);
    let result = session.resume(&engine).await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    fake.assert_calls(1);
    let mut session = round_trip(&session);
    let id = session.pending_tool_calls()[0].id.clone();
    session
        .submit_tool_result(&id, json!({"ok": true}))
        .unwrap();
    assert_eq!(session.status(), SessionStatus::Idle);
    assert!(session.is_runnable());
    let mut session = round_trip(&session);
    let result = session.resume(&engine).await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Completed);
    assert_eq!(
        texts(&session),
        [
            "user: Go",
            "assistant: ",
            "tool: <awaiting user response>",
            r#"tool: {"x":1}"#,
            r#"tool: {"ok":true}"#,
            "tool: p",
            "assistant: Sure?",
            "user: Yes",
            "assistant: done",
        ]
    );
    assert_eq!(ran.load(Ordering::SeqCst), 1);
    assert_eq!(result.thread, session.thread());
    round_trip(&session);
}

#[tokio::test]
async fn a_failure_and_a_retry() {
    let broken = Script::new()
        .text("half")
        .stream_fail(allm::StreamReason::Interrupted);
    let fake = Fake::new().reply(broken).reply("whole");
    let engine = engine(&fake, vec![]);
    let mut session = Session::new("a").unwrap();
    let result = session.reply(&engine, "Hi").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Error);
    assert_eq!(session.status(), SessionStatus::Error);
    assert_eq!(texts(&session), ["user: Hi"]);
    let mut session = round_trip(&session);
    session.retry(&engine).await.unwrap();
    assert_eq!(texts(&session), ["user: Hi", "assistant: whole"]);
    assert_eq!(
        fake.calls()[0].request.messages,
        fake.calls()[1].request.messages
    );
}

#[tokio::test]
async fn a_dropped_stream_and_a_cancellation() {
    let fake = Fake::new()
        .reply(Script::new().chunks(["one ", "two "]).hang())
        .reply("again");
    let engine = engine(&fake, vec![]);
    let mut session = Session::new("a").unwrap();
    let mut stream = session.reply(&engine, "Hi").stream();
    let mut deltas = 0;
    while deltas < 2 {
        if let Some(Event::TextDelta(_)) = stream.next().await {
            deltas += 1;
        }
    }
    drop(stream);
    assert_eq!(session.status(), SessionStatus::InProgress);
    let mut session = round_trip(&session);
    let mut other = session.clone();
    session.cancel("enough").unwrap();
    assert_eq!(session.status(), SessionStatus::Idle);
    assert_eq!(texts(&session), ["user: Hi", "assistant: one two "]);
    round_trip(&session);
    let mut stream = other.resume(&engine).stream();
    let first = stream.next().await.unwrap();
    assert!(matches!(first, Event::AttemptReset(_)), "{first:?}");
    stream.finish().await.unwrap();
    assert_eq!(texts(&other), ["user: Hi", "assistant: again"]);
    assert_eq!(other.usage().lost_calls, 1);
}

#[tokio::test]
async fn a_token_cancels() {
    let fake = Fake::new().reply(Script::new().text("one").hang());
    let engine = engine(&fake, vec![]);
    let token = CancelToken::new();
    let mut session = Session::new("a").unwrap();
    let mut stream = session.reply(&engine, "Hi").cancel(token.clone()).stream();
    while let Some(event) = stream.next().await {
        if matches!(event, Event::TextDelta(_)) {
            token.cancel();
        }
    }
    let result = stream.finish().await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    assert_eq!(session.status(), SessionStatus::Idle);
    assert_eq!(
        session.thread().last().unwrap().metadata["partial"],
        json!(true)
    );
    session.send("more", Delivery::NextTurn).unwrap();
    round_trip(&session);
}

#[tokio::test]
async fn s21_a_missing_key_keeps_the_message() {
    let engine = Engine::builder().build().unwrap();
    let mut session = Session::new("a").unwrap();
    session.reply(&engine, "Hi").await.unwrap_err();
    assert_eq!(session.status(), SessionStatus::Error);
    assert_eq!(texts(&session), ["user: Hi"]);
    let mut session = round_trip(&session);
    let good = crate::support::engine(&Fake::new().reply("Hello"), vec![]);
    session.retry(&good).await.unwrap();
    assert_eq!(texts(&session), ["user: Hi", "assistant: Hello"]);
}

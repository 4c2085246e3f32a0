//! Section D: sessions that are streamed. What is told once something is durable is looked at elsewhere.

use allm::{
    Beginning, Effect, Engine, Event, Fake, Request, Script, Session, SessionReason, SessionStatus,
    StreamReason,
};
use serde_json::json;

use crate::form::{Form, on_every_form, on_forms, reply};
use crate::support::{World, engine, giving, manual, texts};

/// Text, two calls, text: everything that a plain run tells.
fn plain() -> (Fake, Engine) {
    let calling = Script::new()
        .chunks(["Let me ", "look."])
        .call("a", json!({"x": 1}))
        .call("b", json!({}));
    let ending = Script::new().chunks(["It is ", "done."]);
    // A crash may lose an answer, so each can be had again.
    let is_first = |request: &Request| request.messages.len() == 1;
    let fake = Fake::new().reply_when(is_first, calling.clone());
    let fake = fake.reply_when(is_first, calling).always(ending);
    let b = giving("b", json!(2)).effect(Effect::Idempotent);
    let tools = vec![giving("a", json!(1)).effect(Effect::Pure), b];
    let engine = engine(&fake, tools);
    (fake, engine)
}

/// S43: [`on_every_form`] compares the awaited and the streamed form after each operation of every test here; this one
/// says what it compares.
#[tokio::test(start_paused = true)]
async fn s43_awaited_and_streamed_give_equal_sessions() {
    on_every_form(async |talk| {
        let (fake, engine) = plain();
        talk.watch(&fake);
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(talk.events.is_empty(), talk.form != Form::Streamed);
        assert_eq!(result.thread, talk.thread());
        let end = ["tool: 1", "tool: 2", "assistant: It is done."];
        assert_eq!(texts(talk)[2..], end);
    })
    .await;
}

/// S44
#[tokio::test(start_paused = true)]
async fn s44_a_refusal_is_one_error_event() {
    let fake = Fake::new().reply(Script::new().call("m", json!({})));
    let engine = engine(&fake, vec![manual("m")]);
    let mut session = Session::new("a").unwrap();
    session.reply(&engine, "Go").await.unwrap();
    let before = session.clone();
    let mut stream = session.reply(&engine, "More").stream();
    let event = stream.next().await.unwrap();
    let Event::Error(told) = event else {
        panic!("{event:?}")
    };
    assert_eq!(told.error.reason, "invalid_state");
    assert!(stream.next().await.is_none());
    let error = stream.finish().await.unwrap_err();
    assert_eq!(error.reason, SessionReason::InvalidState);
    assert_eq!(session, before);
    fake.assert_calls(1);
}

/// S44: of a stored session, too.
#[tokio::test(start_paused = true)]
async fn s44_a_refusal_of_a_stored_session_is_one_error_event() {
    on_forms(&[Form::Durable], Beginning::new(), async |talk| {
        let fake = Fake::new().reply(Script::new().call("m", json!({})));
        let engine = engine(&fake, vec![manual("m")]);
        talk.watch(&fake);
        talk.reply(&engine, "Go").await.unwrap();
        let mut session = talk.open().await;
        let (before, entries) = (session.clone(), talk.entries().await.len());
        let mut stream = session.reply(&engine, "More").stream();
        let event = stream.next().await.unwrap();
        let Event::Error(told) = event else {
            panic!("{event:?}")
        };
        assert_eq!(told.error.reason, "invalid_state");
        assert!(stream.next().await.is_none());
        let error = stream.finish().await.unwrap_err();
        assert_eq!(error.reason, SessionReason::InvalidState);
        assert_eq!(error.waits.len(), 1);
        assert_eq!(*session, before);
        assert_eq!(talk.entries().await.len(), entries);
        fake.assert_calls(1);
    })
    .await;
}

/// S44: of a session that has no entry yet, too.
#[tokio::test(start_paused = true)]
async fn s44_a_refusal_leaves_a_new_session_new() {
    let engine = engine(&Fake::new(), vec![]);
    let mut session = Session::new("a").unwrap();
    let error = session.resume(&engine).await.unwrap_err();
    assert_eq!(error.reason, SessionReason::NothingToResume);
    let error = session.retry(&engine).await.unwrap_err();
    assert_eq!(error.reason, SessionReason::InvalidState);
    assert_eq!(session, Session::new("a").unwrap());
}

#[tokio::test(start_paused = true)]
async fn s44_a_stream_that_is_not_polled_does_nothing() {
    on_forms(&[Form::Durable], Beginning::new(), async |talk| {
        let (fake, engine) = plain();
        let mut session = talk.open().await;
        drop(session.reply(&engine, "Go").stream());
        fake.assert_calls(0);
        assert_eq!(talk.entries().await.len(), 1);
    })
    .await;
    let (fake, engine) = plain();
    let mut session = Session::new("a").unwrap();
    drop(session.reply(&engine, "Go").stream());
    assert_eq!(session, Session::new("a").unwrap());
    fake.assert_calls(0);
}

/// S47: dropped at every event, and gone on from there.
#[tokio::test(start_paused = true)]
async fn s47_dropped_at_every_event_keeps_what_was_applied() {
    let (_, engine) = plain();
    let mut whole = Session::new("a").unwrap();
    let mut stream = whole.reply(&engine, "Go").stream();
    let mut all = Vec::new();
    while let Some(event) = stream.next().await {
        all.push(event);
    }
    drop(stream);
    assert!(all.len() > 15, "{all:?}");
    for place in 1..all.len() {
        let (fake, engine) = plain();
        let mut session = Session::new("a").unwrap();
        let mut stream = session.reply(&engine, "Go").stream();
        let mut told = Vec::new();
        for _ in 0..place {
            told.push(stream.next().await.unwrap());
        }
        drop(stream);
        assert_eq!(texts(&session)[0], "user: Go", "{place}");
        if place + 1 == all.len() {
            // What is told at the end was brought about by one entry.
            assert_eq!(session.status(), SessionStatus::Completed);
            break;
        }
        assert_eq!(session.status(), SessionStatus::InProgress, "{place}");
        let results = told
            .iter()
            .filter(|event| matches!(event, Event::ToolResultEncoded(_)));
        let tools = texts(&session);
        let tools = tools.iter().filter(|text| text.starts_with("tool:"));
        assert!(
            tools.count() >= results.count(),
            "{place}: what was told is kept"
        );
        let text = allm::json::to_string(&session).unwrap();
        let mut session: Session = allm::json::from_str(&text).unwrap();
        session.resume(&engine).await.unwrap();
        assert_eq!(session.status(), SessionStatus::Completed, "{place}");
        let texts = texts(&session);
        assert_eq!(texts[2..4], ["tool: 1", "tool: 2"], "{place}");
        let lost = usize::try_from(session.usage().lost_calls).unwrap();
        // A call is lost when nobody knows whether it was made.
        let made = fake.calls().len();
        assert!((2..=2 + lost).contains(&made), "{place}: {made}");
    }
}

/// S48
#[tokio::test(start_paused = true)]
async fn s48_dropped_in_mid_text_and_cancelled_keeps_the_text() {
    on_forms(
        &[Form::Kept, Form::ReadBack],
        Beginning::new(),
        async |talk| {
            let fake = Fake::new()
                .reply(Script::new().chunks(["one ", "two "]).hang())
                .reply("more");
            let engine = talk.engine(&fake, vec![]);
            let is_text = |event: &&Event| matches!(event, Event::TextDelta(_));
            talk.crash(&engine, reply("Go"), |events| {
                events.iter().filter(is_text).count() == 2
            })
            .await;
            talk.cancel().await.unwrap();
            assert_eq!(texts(talk), ["user: Go", "assistant: one two "]);
            let last = talk.thread().messages.last().unwrap().clone();
            assert_eq!(last.metadata["partial"], json!(true));
            talk.reply(&engine, "On").await.unwrap();
        },
    )
    .await;
}

/// S37, S48: a session that failed keeps nothing of the failed answer when it is cancelled.
#[tokio::test(start_paused = true)]
async fn s48_cancelling_a_failure_clears_it() {
    on_every_form(async |talk| {
        let broken = Script::new()
            .text("half")
            .stream_fail(StreamReason::Interrupted);
        let fake = Fake::new().reply(broken).reply("whole");
        let world = World::default();
        let engine = talk.engine(&fake, vec![world.tool("a")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.cancel().await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert_eq!(texts(talk), ["user: Go"]);
        talk.resume(&engine).await.unwrap();
        assert_eq!(texts(talk), ["user: Go", "assistant: whole"]);
    })
    .await;
}

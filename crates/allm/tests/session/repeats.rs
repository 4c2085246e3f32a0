//! Inputs that are given again, because whoever gave them was not answered.

use std::sync::Arc;

use allm::{
    CancelToken, ChatResult, Engine, Fake, HaltReason, InputId, Script, SessionReason,
    SessionStatus, Sessions, SessionsOptions, Tool,
};
use allm_store::MemoryStore;
use serde_json::json;

use crate::form::{Talk, on_every_form, reply};
use crate::support::{asking, engine, key, sent, texts};

#[tokio::test]
async fn s32_a_reply_that_is_given_again_is_not_a_second_one() {
    let sessions = Sessions::with(Arc::new(MemoryStore::new()), SessionsOptions::default());
    let fake = Fake::new().reply("Hello");
    let engine = engine(&fake, vec![]);
    let mut session = sessions.create("s").await.unwrap();
    let id = || InputId::new("one").unwrap();
    drop(session.reply(&engine, "Hi").input_id(id()).await.unwrap());
    let again = session.reply(&engine, "Hi").input_id(id()).await;
    assert_eq!(again.unwrap().thread, session.thread());
    assert_eq!(session.thread().len(), 2);
    let error = session.reply(&engine, "Ho").input_id(id()).await;
    assert_eq!(error.unwrap_err().reason, SessionReason::InputIdReused);
    fake.assert_calls(1);
}

#[tokio::test]
async fn s32_results_that_are_given_again_together() {
    let sessions = Sessions::with(Arc::new(MemoryStore::new()), SessionsOptions::default());
    let tool = || Tool::new("manual", "A tool.", json!({"type": "object"})).manual();
    let script = Script::new()
        .call_with_id("a", "manual", json!({}))
        .call_with_id("b", "manual", json!({}));
    let engine = engine(&Fake::new().reply(script), vec![tool()]);
    let mut session = sessions.create("s").await.unwrap();
    drop(session.reply(&engine, "Go").await.unwrap());
    let calls: Vec<_> = session.waits().into_iter().map(|wait| wait.call).collect();
    let mut version = None;
    for _ in 0..2 {
        session.name_input(InputId::new("both").unwrap());
        let results = calls.iter().map(|call| (*call, "done"));
        session.submit_tool_results(results).await.unwrap();
        assert_eq!(*version.get_or_insert(session.version()), session.version());
    }
}

/// The same reply under the same name.
async fn again(talk: &mut Talk, engine: &Engine, text: &str) -> ChatResult {
    let id = InputId::new("one").unwrap();
    let before = talk.version();
    let result = talk
        .drive(engine, reply(text), |call| call.input_id(id))
        .await
        .unwrap();
    assert_eq!(
        (result.steps.len(), result.final_response.is_some()),
        (0, false)
    );
    assert_eq!(talk.version(), before, "nothing is added");
    assert_eq!(result.thread, talk.thread());
    result
}

async fn first(talk: &mut Talk, engine: &Engine, text: &str) -> ChatResult {
    let id = InputId::new("one").unwrap();
    talk.drive(engine, reply(text), |call| call.input_id(id))
        .await
        .unwrap()
}

/// S32: what came to an end is told as it stands, and nothing is run for it.
#[tokio::test(start_paused = true)]
async fn s32_a_reply_given_again_after_the_end_tells_how_it_stands() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply("Hello");
        let engine = talk.engine(&fake, vec![]);
        first(talk, &engine, "Hi").await;
        let result = again(talk, &engine, "Hi").await;
        assert_eq!(result.halted_reason, HaltReason::Completed);
        fake.assert_calls(1);
    })
    .await;
}

/// S32: a run that was cancelled is not begun again by the repetition of what began it.
#[tokio::test(start_paused = true)]
async fn s32_a_reply_given_again_does_not_undo_a_cancellation() {
    on_every_form(async |talk| {
        let fake = Fake::new();
        let engine = talk.engine(&fake, vec![]);
        let token = CancelToken::new();
        token.cancel();
        let id = InputId::new("one").unwrap();
        talk.drive(&engine, reply("Hi"), |call| call.input_id(id).cancel(token))
            .await
            .unwrap();
        let result = again(talk, &engine, "Hi").await;
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!(talk.status(), SessionStatus::Idle);
        fake.assert_calls(0);
    })
    .await;
}

/// S32: with something open, the repetition tells what it is; the words that were said are no answer to it.
#[tokio::test(start_paused = true)]
async fn s32_a_reply_given_again_answers_no_question() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("ask", json!({})))
            .reply("done");
        let engine = talk.engine(&fake, vec![asking("ask", "Which one?")]);
        first(talk, &engine, "Go").await;
        let result = again(talk, &engine, "Go").await;
        assert_eq!(result.halted_reason, HaltReason::AskUser);
        assert_eq!(result.pending_question.as_deref(), Some("Which one?"));
        // Once it is answered, and nobody has gone on, the repetition goes on.
        talk.answer(key(1, 0), "This one").await.unwrap();
        let result = first(talk, &engine, "Go").await;
        assert_eq!(result.halted_reason, HaltReason::Completed);
        assert_eq!(sent(&fake, 1).last().unwrap(), "user: This one");
    })
    .await;
}

/// S32: a failure is told again; trying again is `retry`.
#[tokio::test(start_paused = true)]
async fn s32_a_reply_given_again_after_a_failure_tells_of_it() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(crate::operations::broken())
            .reply("whole");
        let engine = talk.engine(&fake, vec![]);
        first(talk, &engine, "Hi").await;
        let result = again(talk, &engine, "Hi").await;
        assert_eq!(result.halted_reason, HaltReason::Error);
        assert!(
            result.metadata.contains_key("error"),
            "{:?}",
            result.metadata
        );
        talk.retry(&engine).await.unwrap();
        assert_eq!(texts(talk), ["user: Hi", "assistant: whole"]);
        fake.assert_calls(2);
    })
    .await;
}

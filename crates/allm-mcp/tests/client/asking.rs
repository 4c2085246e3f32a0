//! What servers ask people.

use std::time::Duration;

use allm_core::{Effect, Progress, ToolReason, ToolReply};
use serde_json::json;

use crate::support::*;

/// M40, M41: a question suspends the call with its schema; the answer goes to the server, which finishes the call.
#[tokio::test]
async fn m40_m41_a_question_and_its_answer() {
    let server = connected("plain").await;
    let tool = named(&server.tools(), "ask");
    let asked = run(&tool, nothing(), context("key-1")).await;
    let (text, opts) = question(&asked);
    assert_eq!(text, "Your name?");
    assert_eq!(opts["mode"], json!("form"));
    assert_eq!(opts["server"], json!("plain"));
    assert_eq!(
        opts["schema"]["properties"]["name"]["type"],
        json!("string")
    );
    let said = run(&tool, nothing(), answered("key-1", &asked.unwrap(), "Ada")).await;
    assert_eq!(
        parsed(said),
        json!({"action": "accept", "content": {"name": "Ada"}})
    );
}

/// M183: what is reported after the answer goes to whoever answered, and not to who is gone.
#[tokio::test]
async fn m183_progress_after_an_answer() {
    let server = connected("asks_then_reports").await;
    let tool = named(&server.tools(), "ask");
    let (before, after) = (reports(), reports());
    let mut first = context("key-1");
    first.progress = Some(before.clone());
    let asked = run(&tool, nothing(), first).await.unwrap();
    let mut second = answered("key-1", &asked, "Ada");
    second.progress = Some(after.clone());
    assert!(run(&tool, nothing(), second).await.is_ok());
    assert!(before.0.lock().unwrap().is_empty());
    let report = Progress::new(1.0).total(2.0).message("after the answer");
    assert_eq!(*after.0.lock().unwrap(), [report]);
}

/// M42: a call may ask again.
#[tokio::test]
async fn m42_two_questions_of_one_call() {
    let server = connected("plain").await;
    let tool = named(&server.tools(), "ask_twice");
    let first = run(&tool, nothing(), context("key-1")).await.unwrap();
    let second = run(&tool, nothing(), answered("key-1", &first, "Ada")).await;
    assert_eq!(question(&second).0, "And your age?");
    let said = run(&tool, nothing(), answered("key-1", &second.unwrap(), "36")).await;
    let accept = |content| json!({"action": "accept", "content": content});
    let both = json!([accept(json!({"name": "Ada"})), accept(json!({"age": 36}))]);
    assert_eq!(parsed(said), both);
}

/// M45: an answer that does not fit is asked again, with what is wrong; the call stays open.
#[tokio::test]
async fn m45_an_answer_that_does_not_fit() {
    let server = connected("plain").await;
    let tool = named(&server.tools(), "ask");
    let first = run(&tool, nothing(), context("key-1")).await.unwrap();
    let again = run(
        &tool,
        nothing(),
        answered("key-1", &first, r#"{"name": 7}"#),
    )
    .await;
    let (text, opts) = question(&again);
    assert!(
        text.starts_with("Your name?\nThe answer did not fit: /name: "),
        "{text}"
    );
    assert_eq!(opts["wrong"].as_array().map(Vec::len), Some(1));
    let said = run(&tool, nothing(), answered("key-1", &again.unwrap(), "Ada")).await;
    assert_eq!(parsed(said)["content"], json!({"name": "Ada"}));
}

/// M46: in another process a call that may run again does, and the recorded answer is given.
#[tokio::test]
async fn m46_a_lost_call_that_may_run_again() {
    let server = || {
        scripted("plain")
            .effect("ask_twice", Effect::Idempotent)
            .connect()
    };
    let tool = named(&server().await.unwrap().tools(), "ask_twice");
    let first = run(&tool, nothing(), context("key-1")).await.unwrap();
    let tool = named(&server().await.unwrap().tools(), "ask_twice");
    let second = run(&tool, nothing(), answered("key-1", &first, "Ada")).await;
    assert_eq!(question(&second).0, "And your age?");
    // And once more, with two answers.
    let tool = named(&server().await.unwrap().tools(), "ask_twice");
    let said = run(&tool, nothing(), answered("key-1", &second.unwrap(), "36")).await;
    assert_eq!(parsed(said)[1]["content"], json!({"age": 36}));
}

/// M47: a call that must not run twice is not made again, and that is said.
#[tokio::test]
async fn m47_a_lost_call_that_must_not_run_again() {
    let tool = named(&connected("plain").await.tools(), "ask");
    let asked = run(&tool, nothing(), context("key-1")).await.unwrap();
    let tool = named(&connected("plain").await.tools(), "ask");
    let said = run(&tool, nothing(), answered("key-1", &asked, "Ada"))
        .await
        .unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
    assert!(
        said.message.ends_with("it was not made again"),
        "{}",
        said.message
    );
}

/// M48: a call that nobody answers is given up, and cancelled at the server.
#[tokio::test]
async fn m48_nobody_answers() {
    let notes = Notes::new("m48");
    let server = scripted("plain").env("CANCELLED", notes.path());
    let server = server
        .answer_within(Duration::from_millis(200))
        .connect()
        .await
        .unwrap();
    let tool = named(&server.tools(), "ask");
    let asked = run(&tool, nothing(), context("key-1")).await.unwrap();
    assert_eq!(notes.first().await, json!("the call was stopped"));
    let said = run(&tool, nothing(), answered("key-1", &asked, "Ada"))
        .await
        .unwrap_err();
    assert_eq!(said.reason, ToolReason::HandlerExit);
}

/// M49: a question outside of a call is declined, and the server goes on.
#[tokio::test]
async fn m49_a_question_outside_of_a_call() {
    let server = connected("asks_first").await;
    assert_eq!(call(&server, "echo", nothing()).await, ok(json!("{}")));
}

/// M43: on one pipe a question is that of the call which cannot end without it.
#[tokio::test]
async fn m43_the_call_that_a_question_is_of() {
    let server = connected("plain").await;
    let (ask, sleep) = (
        named(&server.tools(), "ask"),
        named(&server.tools(), "sleep"),
    );
    let sleep = sleep.handler.unwrap();
    let other = sleep.call(Default::default(), context("key-2"));
    let mut other = Box::pin(tokio::time::timeout(Duration::from_millis(500), other));
    let asking = run(&ask, nothing(), context("key-1"));
    let mut asking = Box::pin(asking);
    // While another call is open it cannot be told.
    tokio::select! {
        said = &mut asking => panic!("{said:?}"),
        ended = &mut other => assert!(ended.is_err()),
    }
    drop(other);
    assert_eq!(question(&asking.await).0, "Your name?");
}

/// M43: as many questions as calls are of those calls, where they are of one run.
#[tokio::test]
async fn m43_two_calls_of_one_run_ask() {
    let server = connected("together").await;
    let tool = named(&server.tools(), "ask");
    let (one, two) = tokio::join!(
        run(&tool, nothing(), context("key-1")),
        run(&tool, nothing(), context("key-2")),
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    let (one, two) = tokio::join!(
        run(&tool, nothing(), answered("key-1", &one, "Ada")),
        run(&tool, nothing(), answered("key-2", &two, "Bob")),
    );
    let mut names = [one, two].map(|said| parsed(said)["content"]["name"].to_string());
    names.sort();
    assert_eq!(names, ["\"Ada\"", "\"Bob\""]);
}

/// M53: a question that may be of two runs is declined: it would be put to the wrong person.
#[tokio::test]
async fn m53_a_question_of_one_of_two_runs() {
    let server = connected("together").await;
    let tool = named(&server.tools(), "ask");
    let mut other = context("key-2");
    other.request_id = Some("run-2".into());
    let (one, two) = tokio::join!(
        run(&tool, nothing(), context("key-1")),
        run(&tool, nothing(), other),
    );
    // The first was declined, which ended its call; so the second is known to be of the other one.
    let (declined, asked) = match &one {
        Ok(ToolReply::Ok(_)) => (one, two),
        _ => (two, one),
    };
    assert_eq!(parsed(declined), json!({"action": "decline"}));
    assert_eq!(question(&asked).0, "Your name?");
}

/// M52: a server that wants something done on a page first is called again when it is done.
#[tokio::test]
async fn m50_m52_a_page_first() {
    let server = connected("page_first").await;
    let tool = named(&server.tools(), "echo");
    let asked = run(&tool, nothing(), context("key-1")).await;
    let (text, opts) = question(&asked);
    assert!(text.starts_with("Log in."), "{text}");
    assert_eq!(opts["mode"], json!("url"));
    assert_eq!(opts["url"], json!("https://example.org/login"));
    let said = run(&tool, nothing(), answered("key-1", &asked.unwrap(), "done")).await;
    assert_eq!(said, ok(json!("{}")));
}

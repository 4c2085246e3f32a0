//! Sections A and K: waits that nobody answers in time, and approvals that are void.

use std::time::Duration;

use allm::session::{EntryBody, Outcome};
use allm::{
    Beginning, Effect, Engine, Fake, HaltReason, Script, SessionReason, SessionStatus, Tool,
};
use serde_json::json;

use crate::approvals::{gated, one};
use crate::form::{Form, Talk, on_durable, on_every_form, on_forms, reply};
use crate::support::{World, asking, key, manual, map, outcomes, sent, texts};

async fn soon(talk: &mut Talk) -> (Fake, World, Engine) {
    let script = Script::new().call("act", json!({"x": 1}));
    let fake = Fake::new().reply(script).reply("done");
    let world = World::default();
    let engine = talk.engine(&fake, vec![gated(&world, "act")]);
    talk.drive(&engine, reply("Go"), |call| {
        call.approval_expiry(Duration::from_millis(20))
    })
    .await
    .unwrap();
    (fake, world, engine)
}

#[tokio::test(start_paused = true)]
async fn s144_it_is_too_late_to_decide() {
    on_every_form(async |talk| {
        let (fake, world, engine) = soon(talk).await;
        let approval = talk.approvals().remove(0);
        talk.pass_expiry();
        let late = [
            talk.approve(&approval).await,
            talk.deny(&approval, "no").await,
        ];
        for result in late {
            assert_eq!(result.unwrap_err().reason, SessionReason::ApprovalExpired);
        }
        talk.expire().await.unwrap();
        assert_eq!(outcomes(talk), [Some(Outcome::Expired)]);
        let version = talk.version();
        talk.expire().await.unwrap();
        assert_eq!(talk.version(), version, "once");
        let error = talk.approve(&approval).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::ApprovalExpired);
        talk.resume(&engine).await.unwrap();
        assert!(sent(&fake, 1)[2].contains(r#""reason":"expired""#));
        assert_eq!(world.count("act"), 0);
    })
    .await;
}

/// S144: the next operation closes it, too.
#[tokio::test(start_paused = true)]
async fn s144_the_next_operation_closes_what_has_expired() {
    on_every_form(async |talk| {
        let (fake, _, engine) = soon(talk).await;
        talk.pass_expiry();
        talk.reply(&engine, "Well?").await.unwrap();
        let sent = sent(&fake, 1);
        assert!(sent[2].contains("expired"), "{sent:?}");
        assert_eq!(sent[3], "user: Well?");
    })
    .await;
}

/// S144: two sweeps write one entry.
#[tokio::test(start_paused = true)]
async fn s144_two_sweeps_close_it_once() {
    on_durable(async |talk| {
        let _ = soon(talk).await;
        talk.pass_expiry();
        let (mut here, mut there) = (talk.open().await, talk.open().await);
        let (one, other) = tokio::join!(here.expire(), there.expire());
        one.unwrap();
        other.unwrap();
        let entries = talk.entries().await;
        let is_expiry = |entry: &&EntryBody| matches!(entry, EntryBody::Expired(_));
        assert_eq!(entries.iter().filter(is_expiry).count(), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s145_a_decision_in_time_is_good_for_ever() {
    on_forms(&[Form::Durable], Beginning::new(), async |talk| {
        let (_, world, engine) = soon(talk).await;
        let due = talk.next_expiry().unwrap();
        talk.clock
            .set(allm::Timestamp::from_millis(due.as_millis() - 1).unwrap());
        talk.approve(key(1, 0)).await.unwrap();
        talk.clock.advance(Duration::from_secs(24 * 60 * 60));
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

/// S147: whatever changed, a person is asked again.
#[tokio::test(start_paused = true)]
async fn s147_a_tool_that_changed_is_asked_about_again() {
    let changes: [fn(&mut Tool); 3] = [
        |tool| tool.description = "Another tool.".to_owned(),
        |tool| tool.schema = json!({"type": "object", "title": "other"}).into(),
        |tool| tool.effect = Effect::Idempotent,
    ];
    for change in changes {
        on_every_form(async |talk| {
            let (fake, world, _) = one(talk).await;
            let first = talk.approvals().remove(0);
            talk.approve(&first).await.unwrap();
            let mut changed = gated(&world, "act");
            change(&mut changed);
            let engine = talk.engine(&fake, vec![changed]);
            let result = talk.resume(&engine).await.unwrap();
            assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
            assert_eq!(talk.status(), SessionStatus::AwaitingApproval);
            assert_eq!(world.count("act"), 0);
            let second = talk.approvals().remove(0);
            assert_ne!(second.approval_id, first.approval_id);
            let error = talk.approve(&first).await.unwrap_err();
            assert_eq!(error.reason, SessionReason::ApprovalMismatch);
            talk.approve(&second).await.unwrap();
            talk.resume(&engine).await.unwrap();
            assert_eq!(world.count("act"), 1);
            assert_eq!(talk.status(), SessionStatus::Completed);
        })
        .await;
    }
}

/// S147: an edit is void with its approval.
#[tokio::test(start_paused = true)]
async fn s147_an_edit_is_void_with_its_approval() {
    on_every_form(async |talk| {
        let (fake, world, engine) = one(talk).await;
        let edited = map(json!({"x": 9}));
        talk.approve_with(&engine, key(1, 0), edited).await.unwrap();
        let changed = gated(&world, "act").effect(Effect::Idempotent);
        let engine = talk.engine(&fake, vec![changed]);
        talk.resume(&engine).await.unwrap();
        assert_eq!(talk.approvals()[0].arguments, map(json!({"x": 1})));
        talk.approve(key(1, 0)).await.unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.entered()[0].arguments, map(json!({"x": 1})));
        assert_eq!(texts(talk)[2], r#"tool: {"x":1}"#);
    })
    .await;
}

/// S146: a saved session whose arguments were altered is not read; what a driver does beyond that is looked at beside it.
#[tokio::test(start_paused = true)]
async fn s146_altered_arguments_are_not_read() {
    on_every_form(async |talk| {
        let (_, world, _) = one(talk).await;
        talk.approve(key(1, 0)).await.unwrap();
        let session = allm::Session::from((**talk).clone());
        let text = allm::json::to_string(&session).unwrap();
        for (from, to) in [(r#""x":1"#, r#""x":2"#), (r#"\"x\":1"#, r#"\"x\":2"#)] {
            assert!(text.contains(from), "{text}");
            let altered: Result<allm::Session, _> = allm::json::from_str(&text.replace(from, to));
            assert!(altered.is_err(), "{from}");
        }
        assert_eq!(world.count("act"), 0);
    })
    .await;
}

/// S8: how long a question and a manual call wait is a setting; for ever, unless it is said.
#[tokio::test(start_paused = true)]
async fn s8_a_question_and_a_manual_call_that_nobody_answers() {
    on_every_form(async |talk| {
        let script = Script::new().call("ask", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![asking("ask", "Which one?"), manual("m")]);
        talk.drive(&engine, reply("Go"), |call| {
            call.wait_expiry(Duration::from_millis(20))
        })
        .await
        .unwrap();
        let due: Vec<_> = talk
            .waits()
            .iter()
            .map(|open| open.wait.expires_at())
            .collect();
        assert!(due.iter().all(Option::is_some), "{due:?}");
        // The question is asked a moment after the manual call was left.
        talk.pass_to(due.into_iter().flatten().max().unwrap());
        let late = talk.submit(key(1, 1), "late").await.unwrap_err();
        assert_eq!(late.reason, SessionReason::NotWaiting);
        let late = talk.answer(key(1, 0), "This one").await.unwrap_err();
        assert_eq!(late.reason, SessionReason::NotWaiting);
        talk.expire().await.unwrap();
        let late = talk.answer(key(1, 0), "This one").await.unwrap_err();
        assert_eq!(late.reason, SessionReason::NotWaiting);
        assert_eq!(outcomes(talk), [Some(Outcome::Expired); 2]);
        assert_eq!(talk.status(), SessionStatus::Idle);
        // Neither the sentinel nor the question is left.
        assert_eq!(talk.thread().len(), 4);
        talk.resume(&engine).await.unwrap();
        let sent = sent(&fake, 1);
        assert_eq!(sent.len(), 4);
        assert!(sent[2].contains(r#""reason":"expired""#), "{sent:?}");
        assert!(sent[3].contains(r#""reason":"expired""#), "{sent:?}");
    })
    .await;
}

/// S8: nothing said is for ever.
#[tokio::test(start_paused = true)]
async fn s8_a_question_waits_for_ever() {
    on_every_form(async |talk| {
        let script = Script::new().call("ask", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script);
        let engine = talk.engine(&fake, vec![asking("ask", "Which one?"), manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(talk.next_expiry(), None);
    })
    .await;
}

/// A time limit of nothing is refused before anything happens.
#[tokio::test(start_paused = true)]
async fn s144_no_time_at_all_is_refused() {
    type Set = for<'a> fn(allm::SessionCall<'a>) -> allm::SessionCall<'a>;
    let settings: [(&str, Set); 2] = [
        ("approval_expiry", |call| {
            call.approval_expiry(Duration::ZERO)
        }),
        ("wait_expiry", |call| call.wait_expiry(Duration::ZERO)),
    ];
    for (name, set) in settings {
        on_every_form(async |talk| {
            let fake = Fake::new();
            let engine = talk.engine(&fake, vec![]);
            let error = talk.drive(&engine, reply("Go"), set).await.unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
            fake.assert_calls(0);
        })
        .await;
    }
}

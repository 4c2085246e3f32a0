//! Section K: calls that a person must agree to.

use allm::session::{Approval, ApprovalRef, Decision, EntryBody, Outcome, arguments_hash};
use allm::{ApprovalRule, Engine, Fake, HaltReason, Script, SessionReason, SessionStatus, Tool};
use serde_json::{Value, json};

use crate::form::{Form, Talk, on_durable, on_every_form};
use crate::support::{World, engine, giving, key, map, message, outcomes, sent, texts};

pub(crate) fn gated(world: &World, name: &str) -> Tool {
    world.tool(name).approval(ApprovalRule::Always)
}

/// One gated call of `act`.
pub(crate) async fn one(talk: &mut Talk) -> (Fake, World, Engine) {
    let script = Script::new().call("act", json!({"x": 1}));
    let fake = Fake::new().reply(script).reply("done");
    let world = World::default();
    let engine = talk.engine(&fake, vec![gated(&world, "act")]);
    let result = talk.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert_eq!(talk.status(), SessionStatus::AwaitingApproval);
    (fake, world, engine)
}

/// S134: each form decides where it was not asked.
#[tokio::test(start_paused = true)]
async fn s134_an_approved_call_runs_once_with_the_approved_arguments() {
    on_every_form(async |talk| {
        let (fake, world, engine) = one(talk).await;
        let approval = talk.approvals().remove(0);
        assert_eq!(approval.tool.as_str(), "act");
        assert_eq!(approval.call, key(1, 0));
        assert_eq!(approval.arguments, map(json!({"x": 1})));
        assert_eq!(approval.arguments_hash, arguments_hash(&approval.arguments));
        let day = 24 * 60 * 60 * 1000;
        let expires = approval.expires_at.unwrap().as_millis();
        let open_for = expires - approval.requested_at.as_millis();
        assert!((day - 5_000..=day).contains(&open_for), "{open_for}");
        assert_eq!(world.count("act"), 0);
        talk.approve(&approval).await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(talk.is_runnable());
        assert_eq!(world.count("act"), 0);
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        assert_eq!(world.entered()[0].arguments, map(json!({"x": 1})));
        assert_eq!(sent(&fake, 1)[2], r#"tool: {"x":1}"#);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s135_siblings_have_run_while_the_approval_is_open() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("a", json!({}))
            .call("act", json!({}))
            .call("b", json!({}));
        let fake = Fake::new().reply(script);
        let world = World::default();
        let tools = vec![
            giving("a", json!(1)),
            gated(&world, "act"),
            giving("b", json!(2)),
        ];
        let engine = talk.engine(&fake, tools);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(texts(talk)[2..], ["tool: 1", "tool: 2"]);
        assert_eq!(talk.approvals().len(), 1);
        assert_eq!(world.count("act"), 0);
    })
    .await;
}

/// S136: three decisions in each of the six orders, a resume after each or only at the end.
#[tokio::test(start_paused = true)]
async fn s136_three_approvals_in_every_order() {
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for order in orders {
        for each in [false, true] {
            on_every_form(async |talk| {
                let script = (0..3).fold(Script::new(), |script, n| {
                    script.call("act", json!({"n": n}))
                });
                let fake = Fake::new().reply(script).reply("done");
                let world = World::default();
                let engine = talk.engine(&fake, vec![gated(&world, "act")]);
                talk.reply(&engine, "Go").await.unwrap();
                for (done, index) in order.into_iter().enumerate() {
                    match index {
                        1 => talk.deny(key(1, 1), "no").await.unwrap(),
                        _ => talk.approve(key(1, index)).await.unwrap(),
                    }
                    if each && talk.has_ready_call() {
                        talk.resume(&engine).await.unwrap();
                    }
                    if done < 2 {
                        fake.assert_calls(1);
                    }
                }
                if talk.status() != SessionStatus::Completed {
                    talk.resume(&engine).await.unwrap();
                }
                assert_eq!(talk.status(), SessionStatus::Completed);
                fake.assert_calls(2);
                assert_eq!(world.count("act"), 2);
                let texts = texts(talk);
                assert_eq!(texts[2], r#"tool: {"n":0}"#);
                assert!(texts[3].contains("denied"), "{texts:?}");
                assert_eq!(texts[4], r#"tool: {"n":2}"#);
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s137_one_of_two_approved() {
    on_every_form(async |talk| {
        let script = Script::new().call("act", json!({})).call("act", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![gated(&world, "act")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.approve(key(1, 1)).await.unwrap();
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
        assert_eq!(world.count("act"), 1);
        assert_eq!(talk.status(), SessionStatus::AwaitingApproval);
        assert_eq!(talk.approvals()[0].call, key(1, 0));
        fake.assert_calls(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s138_a_denied_call_is_not_run() {
    on_every_form(async |talk| {
        let (fake, world, engine) = one(talk).await;
        talk.deny(key(1, 0), "too dear").await.unwrap();
        assert_eq!(outcomes(talk), [Some(Outcome::Denied)]);
        assert_eq!(talk.status(), SessionStatus::Idle);
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 0);
        let told = sent(&fake, 1)[2].clone();
        assert!(
            told.contains(r#""reason":"denied""#) && told.contains("too dear"),
            "{told}"
        );
    })
    .await;
}

/// A gated tool with a number `x`.
fn strict(world: &World) -> Tool {
    let mut tool = gated(world, "act");
    tool.schema = json!({
        "type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"],
    })
    .into();
    tool
}

#[tokio::test(start_paused = true)]
async fn s139_edited_arguments_must_fit_the_schema() {
    on_every_form(async |talk| {
        let script = Script::new().call("act", json!({"x": 1}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![strict(&world)]);
        talk.reply(&engine, "Go").await.unwrap();
        let version = talk.version();
        let edited = map(json!({"x": "one"}));
        let error = talk
            .approve_with(&engine, key(1, 0), edited)
            .await
            .unwrap_err();
        assert_eq!(error.reason, SessionReason::InvalidArguments);
        let paths: Vec<_> = error
            .faults
            .iter()
            .map(|fault| fault.path.to_string())
            .collect();
        assert_eq!(paths, ["/x"]);
        assert_eq!((talk.version(), talk.approvals().len()), (version, 1));
        talk.approve(key(1, 0)).await.unwrap();
    })
    .await;
}

/// S139: nobody is asked about arguments that do not fit.
#[tokio::test(start_paused = true)]
async fn s139_bad_arguments_are_refused_before_anyone_is_asked() {
    on_every_form(async |talk| {
        let script = Script::new().call("act", json!({"x": "one"}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![strict(&world)]);
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        assert!(sent(&fake, 1)[2].contains("invalid_arguments"));
        assert_eq!(world.count("act"), 0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s140_edited_arguments_are_run_and_named() {
    on_every_form(async |talk| {
        let script = Script::new().call_raw("act", r#"{ "x":  1 }"#);
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![strict(&world)]);
        talk.reply(&engine, "Go").await.unwrap();
        let before = message(talk, 1);
        let edited = map(json!({"x": 2}));
        talk.approve_with(&engine, key(1, 0), edited.clone())
            .await
            .unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.entered()[0].arguments, edited);
        assert_eq!(message(talk, 1), before);
        assert_eq!(before.tool_calls[0].raw_arguments, r#"{ "x":  1 }"#);
        let result = message(talk, 2);
        let parts: Vec<_> = result.content.iter().map(|p| p.as_text()).collect();
        let note = r#"{"edited_arguments":{"x":2}}"#;
        assert_eq!(parts, [Some(note), Some(r#"{"x":2}"#)]);
        if talk.form == Form::Durable {
            let entries = talk.entries().await;
            let decided = entries.iter().find_map(|entry| match entry {
                EntryBody::ApprovalDecided(decided) => Some(decided),
                _ => None,
            });
            let decided = decided.unwrap();
            let Decision::Edited(edit) = &decided.decision else {
                panic!("{decided:?}")
            };
            assert_eq!(edit.arguments, edited);
            let seen = arguments_hash(&map(json!({"x": 1})));
            assert_eq!(decided.arguments_hash, seen);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s141_an_approval_of_something_else() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("act", json!({"x": 1}))
            .call("act", json!({"x": 2}));
        let fake = Fake::new().reply(script);
        let world = World::default();
        let engine = talk.engine(&fake, vec![gated(&world, "act")]);
        talk.reply(&engine, "Go").await.unwrap();
        let version = talk.version();
        let [first, second]: [Approval; 2] = talk.approvals().try_into().unwrap();
        let seen = |id, call, arguments_hash| ApprovalRef::Seen {
            id,
            call,
            arguments_hash,
        };
        let foreign = allm::ApprovalId::from_bytes([7; 16]);
        let wrong = [
            seen(first.approval_id, first.call, second.arguments_hash),
            seen(first.approval_id, second.call, second.arguments_hash),
            seen(foreign, first.call, first.arguments_hash),
        ];
        for wrong in wrong {
            for approve in [true, false] {
                let result = match approve {
                    true => talk.approve(wrong.clone()).await,
                    false => talk.deny(wrong.clone(), "no").await,
                };
                assert_eq!(result.unwrap_err().reason, SessionReason::ApprovalMismatch);
            }
        }
        assert_eq!(talk.version(), version);
        assert_eq!(world.count("act"), 0);
    })
    .await;
}

/// S141: the approval of a session whose id was used again.
#[tokio::test(start_paused = true)]
async fn s141_an_approval_of_a_session_that_was_deleted() {
    on_durable(async |talk| {
        let sessions = talk.sessions();
        let mut approvals = Vec::new();
        for _ in 0..2 {
            let fake = Fake::new().reply(Script::new().call("act", json!({})));
            let world = World::default();
            let engine = engine(&fake, vec![gated(&world, "act")]);
            if !approvals.is_empty() {
                let id = allm::SessionId::new("again").unwrap();
                sessions.delete(&id, allm::DeleteIf::Any).await.unwrap();
            }
            let mut session = sessions.create("again").await.unwrap();
            session.reply(&engine, "Go").await.unwrap();
            approvals.push(session.approvals().remove(0));
        }
        let mut session = sessions.open("again").await.unwrap();
        let error = session.approve(&approvals[0]).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::ApprovalMismatch);
        session.approve(&approvals[1]).await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s142_key_order_and_spacing_make_no_other_approval() {
    on_every_form(async |talk| {
        let script = Script::new().call_raw("act", r#"{ "b": [1,  2], "a": 1.0 }"#);
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![gated(&world, "act")]);
        talk.reply(&engine, "Go").await.unwrap();
        let approval = talk.approvals().remove(0);
        let other: Value = serde_json::from_str(r#"{"a":1,"b":[1,2]}"#).unwrap();
        let seen = ApprovalRef::Seen {
            id: approval.approval_id,
            call: approval.call,
            arguments_hash: arguments_hash(&map(other)),
        };
        talk.approve(seen).await.unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s143_a_decision_is_taken_once() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("act", json!({"x": 1}))
            .call("act", json!({"x": 2}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![gated(&world, "act")]);
        talk.reply(&engine, "Go").await.unwrap();
        let approval = talk.approvals().remove(0);
        talk.approve(&approval).await.unwrap();
        let version = talk.version();
        talk.approve(&approval).await.unwrap();
        talk.approve(key(1, 0)).await.unwrap();
        let error = talk.deny(&approval, "no").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::AlreadyDecided);
        let edited = map(json!({"x": 3}));
        let error = talk
            .approve_with(&engine, &approval, edited)
            .await
            .unwrap_err();
        assert_eq!(error.reason, SessionReason::AlreadyDecided);
        assert_eq!(talk.version(), version);
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        let version = talk.version();
        talk.approve(&approval).await.unwrap();
        assert_eq!(talk.version(), version);
        talk.deny(key(1, 1), "no").await.unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

/// S143: with the model's next answer the call is closed for good.
#[tokio::test(start_paused = true)]
async fn s143_approving_after_the_turn_is_over_runs_nothing() {
    on_every_form(async |talk| {
        let (_, world, engine) = one(talk).await;
        let approval = talk.approvals().remove(0);
        talk.approve(&approval).await.unwrap();
        talk.resume(&engine).await.unwrap();
        let version = talk.version();
        let again = talk.approve(&approval).await;
        assert_eq!(again.unwrap_err().reason, SessionReason::ApprovalMismatch);
        assert_eq!((talk.version(), world.count("act")), (version, 1));
    })
    .await;
}

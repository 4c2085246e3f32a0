//! Section P: a tool that asks a person and goes on with the answer.

use std::sync::Arc;
use std::time::Duration;

use allm::session::{CallState, EntryBody, Outcome, Wait};
use allm::{
    AnswerTo, ApprovalRule, Effect, Engine, Event, Fake, HaltReason, InputId, Map, ProbeAnswer,
    Script, SessionReason, SessionStatus, Tool, ToolContext, ToolReply,
};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::effects::{Probe, told_unknown};
use crate::form::{Form, Op, Talk, on_durable, on_every_form, reply};
use crate::support::{World, key, manual, outcomes, sent, texts, tool};

const WENT_ON: &str = r#"tool: {"answer":"red","state":{"page":2}}"#;

fn acting() -> Fake {
    Fake::new()
        .reply(Script::new().call("act", json!({"x": 1})))
        .reply("done")
}

/// `act` has asked.
async fn asked(talk: &mut Talk, tool: Tool) -> (Fake, Engine) {
    let fake = acting();
    let engine = talk.engine(&fake, vec![tool]);
    let result = talk.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::AskUser);
    assert_eq!(result.pending_question.as_deref(), Some("Which one?"));
    assert_eq!(talk.status(), SessionStatus::AwaitingUser);
    (fake, engine)
}

fn going(world: &World) -> Tool {
    world.going("act", Effect::AtMostOnce, 0)
}

#[tokio::test(start_paused = true)]
async fn s180_a_question_whose_answer_goes_to_the_tool() {
    on_every_form(async |talk| {
        let world = World::default();
        let (fake, _) = asked(talk, going(&world)).await;
        let open = talk.question().unwrap();
        let Wait::Question(question) = open.wait else {
            panic!("a question")
        };
        assert_eq!(question.answer_to(), AnswerTo::Tool);
        assert_eq!(question.options["schema"], json!({"type": "string"}));
        assert_eq!(texts(talk), ["user: Go", "assistant: "]);
        if talk.form == Form::Streamed {
            let asked = talk.events.iter().find_map(|event| match event {
                Event::AskUserRequested(asked) => Some(asked),
                _ => None,
            });
            assert_eq!(asked.unwrap().answer_to, AnswerTo::Tool);
        }
        fake.assert_calls(1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s181_a_reply_runs_the_tool_again_with_the_answer() {
    on_every_form(async |talk| {
        let world = World::default();
        let (fake, engine) = asked(talk, going(&world)).await;
        let result = talk.reply(&engine, "red").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        assert_eq!(result.steps.len(), 1, "no second step for the turn");
        let entered = world.entered();
        assert_eq!(entered.len(), 2);
        assert_eq!(entered[0], entered[1], "the same arguments and key");
        assert_eq!(sent(&fake, 1), ["user: Go", "assistant: ", WENT_ON]);
        assert_eq!(texts(talk)[2..], [WENT_ON, "assistant: done"]);
        if talk.form == Form::Durable {
            let entries = talk.entries().await.into_iter();
            let intents = entries.filter_map(|entry| match entry {
                EntryBody::ToolIntent(intent) => Some((intent.attempt, intent.key)),
                _ => None,
            });
            let key = &entered[0].key;
            let intents: Vec<_> = intents.collect();
            assert_eq!(intents, [(1, key.clone()), (2, key.clone())]);
        }
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s182_an_answer_alone_starts_nothing() {
    on_every_form(async |talk| {
        let world = World::default();
        let (fake, engine) = asked(talk, going(&world)).await;
        talk.answer("c-none", "red").await.unwrap_err();
        talk.answer(key(1, 0), "red").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(talk.is_runnable());
        assert_eq!(world.count("act"), 1);
        talk.resume(&engine).await.unwrap();
        assert_eq!(texts(talk)[2], WENT_ON);
        fake.assert_calls(2);
    })
    .await;
}

/// S183: the second answer is the one that counts.
#[tokio::test(start_paused = true)]
async fn s183_a_tool_asks_again() {
    on_every_form(async |talk| {
        let asks = tool("act").handler(|_: Value, context: ToolContext| async move {
            let Some(answer) = context.answer else {
                return ToolReply::ask_and_go_on("Which one?");
            };
            match &answer.state {
                None => {
                    let first = json!(answer.text());
                    ToolReply::ask_and_go_on_with("And which other?", Map::new(), first)
                }
                Some(first) => ToolReply::ok(&json!([first, answer.text()])),
            }
        });
        let (fake, engine) = asked(talk, asks).await;
        let result = talk.reply(&engine, "red").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::AskUser);
        assert_eq!(result.pending_question.as_deref(), Some("And which other?"));
        assert_eq!(talk.status(), SessionStatus::AwaitingUser);
        fake.assert_calls(1);
        talk.reply(&engine, "blue").await.unwrap();
        assert_eq!(texts(talk)[2], r#"tool: ["red","blue"]"#);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s184_beside_other_waits() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("act", json!({}))
            .call("by_hand", json!({}))
            .call("other", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let other = world.going("other", Effect::Pure, 0);
        let engine = talk.engine(&fake, vec![going(&world), manual("by_hand"), other]);
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(talk.waits().len(), 3);
        let result = talk.reply(&engine, "red").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::AskUser);
        assert_eq!((world.count("act"), world.count("other")), (2, 1));
        let result = talk.reply(&engine, "blue").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
        fake.assert_calls(1);
        talk.submit(key(1, 1), "by hand").await.unwrap();
        talk.resume(&engine).await.unwrap();
        let blue = r#"tool: {"answer":"blue","state":{"page":2}}"#;
        assert_eq!(texts(talk)[2..5], [WENT_ON, "tool: by hand", blue]);
        fake.assert_calls(2);
    })
    .await;
}

/// S185: by the name of an input, an answer counts once, also when the tool has asked again since.
#[tokio::test(start_paused = true)]
async fn s185_an_answer_that_is_given_again() {
    on_every_form(async |talk| {
        let world = World::default();
        let (fake, engine) = asked(talk, going(&world)).await;
        let id = || InputId::new("one").unwrap();
        talk.drive(&engine, reply("red"), |call| call.input_id(id()))
            .await
            .unwrap();
        let version = talk.version();
        talk.name("one").answer(key(1, 0), "red").await.ok();
        assert_eq!(talk.version(), version);
        assert_eq!(world.count("act"), 2);
        fake.assert_calls(2);

        let fake = acting();
        let asks = tool("act").handler(|_: Value| async { ToolReply::ask_and_go_on("Again?") });
        let engine = talk.engine(&fake, vec![asks]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.name("two").answer(key(3, 0), "red").await.unwrap();
        talk.resume(&engine).await.unwrap();
        let version = talk.version();
        talk.name("two").answer(key(3, 0), "red").await.unwrap();
        assert_eq!(
            talk.version(),
            version,
            "it is not an answer to the second question"
        );
        assert_eq!(talk.status(), SessionStatus::AwaitingUser);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s186_nobody_answers() {
    on_every_form(async |talk| {
        let world = World::default();
        let (fake, engine) = asked(talk, going(&world)).await;
        talk.cancel().await.unwrap();
        assert_eq!(outcomes(talk), [Some(Outcome::Cancelled)]);
        let late = talk.answer(key(1, 0), "red").await.unwrap_err();
        assert_eq!(late.reason, SessionReason::NotWaiting);
        talk.reply(&engine, "Well?").await.unwrap();
        assert!(sent(&fake, 1)[2].contains(r#""reason":"cancelled""#));
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s186_it_expires() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let engine = talk.engine(&fake, vec![going(&world)]);
        talk.drive(&engine, reply("Go"), |call| {
            call.wait_expiry(Duration::from_millis(20))
        })
        .await
        .unwrap();
        talk.pass_expiry();
        talk.expire().await.unwrap();
        assert_eq!(outcomes(talk), [Some(Outcome::Expired)]);
        talk.resume(&engine).await.unwrap();
        assert!(sent(&fake, 1)[2].contains(r#""reason":"expired""#));
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s187_an_approval_holds_for_the_attempt_with_the_answer() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let gated = going(&world).approval(ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![gated]);
        talk.reply(&engine, "Go").await.unwrap();
        let approval = talk.approvals().remove(0);
        talk.approve(&approval).await.unwrap();
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::AskUser);
        let result = talk.reply(&engine, "red").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        assert_eq!(talk.approvals(), []);
        assert_eq!(texts(talk)[2], WENT_ON);
        assert_eq!(world.count("act"), 2);
    })
    .await;
}

/// S187: nobody agreed to what the tool is now.
#[tokio::test(start_paused = true)]
async fn s187_a_tool_that_changed_since_needs_a_new_approval() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let gated = |world: &World| going(world).approval(ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![gated(&world)]);
        talk.reply(&engine, "Go").await.unwrap();
        let approval = talk.approvals().remove(0);
        talk.approve(&approval).await.unwrap();
        talk.resume(&engine).await.unwrap();
        let mut changed = gated(&world);
        changed.description = "Another tool.".into();
        let engine = talk.engine(&fake, vec![changed]);
        let result = talk.reply(&engine, "red").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
        assert_eq!(world.count("act"), 1);
        let again = talk.approvals().remove(0);
        assert_ne!(again.approval_id, approval.approval_id);
        talk.approve(&again).await.unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(texts(talk)[2], WENT_ON, "with the answer that was given");
    })
    .await;
}

/// S188: somebody answers while the driver still has a sibling to run.
#[tokio::test(start_paused = true)]
async fn s188_an_answer_that_comes_while_a_sibling_runs() {
    on_durable(async |talk| {
        let script = Script::new().call("act", json!({})).call("slow", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let free = Arc::new(Notify::new());
        let held = Arc::clone(&free);
        let slow = tool("slow").handler(move |_: Value| {
            let held = Arc::clone(&held);
            async move {
                held.notified().await;
                Ok::<_, std::fmt::Error>("slow")
            }
        });
        let engine = talk.engine(&fake, vec![going(&world), slow]);
        let mut driving = talk.open().await;
        let mut other = talk.open().await;
        let answering = async {
            while other.question().is_none() {
                tokio::time::sleep(Duration::from_millis(100)).await;
                other.reload().await.unwrap();
            }
            assert_eq!(other.status(), SessionStatus::InProgress);
            other.answer(key(1, 0), "red").await.unwrap();
            while world.count("act") < 2 {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            free.notify_one();
        };
        let (result, ()) = tokio::join!(driving.reply(&engine, "Go").into_future(), answering);
        assert_eq!(result.unwrap().halted_reason, HaltReason::Completed);
        talk.reload().await;
        assert_eq!(texts(talk)[2..4], [WENT_ON, "tool: slow"]);
        fake.assert_calls(2);
    })
    .await;
}

/// S189: a crash while nothing runs loses nothing, whatever the tool may do twice.
#[tokio::test(start_paused = true)]
async fn s189_a_crash_in_the_attempt_that_has_the_answer() {
    let probe = || Probe::saying([Ok(ProbeAnswer::NotDone)]);
    for (effect, again) in [
        (Effect::Pure, true),
        (Effect::Idempotent, true),
        (probe().effect(), true),
        (Effect::AtMostOnce, false),
    ] {
        on_every_form(async |talk| {
            let world = World::default();
            let effect = match &effect {
                Effect::Reconcile(_) => probe().effect(),
                effect => effect.clone(),
            };
            let (fake, engine) = asked(talk, world.going("act", effect, 2)).await;
            talk.answer(key(1, 0), "red").await.unwrap();
            let before = world.clone();
            talk.crash(&engine, Op::Resume, move |_| before.count("act") == 2)
                .await;
            assert_eq!(talk.status(), SessionStatus::InProgress);
            talk.resume(&engine).await.unwrap();
            assert_eq!(world.count("act"), if again { 3 } else { 2 });
            match again {
                true => assert_eq!(texts(talk)[2], WENT_ON),
                false => assert!(told_unknown(&sent(&fake, 1))),
            }
            let keys = world.keys("act");
            assert!(keys.iter().all(|key| *key == keys[0]));
        })
        .await;
    }
}

/// S189: a person who is asked what happened may have it run again, and the answer is still there.
#[tokio::test(start_paused = true)]
async fn s189_a_rerun_has_the_answer_too() {
    on_every_form(async |talk| {
        let world = World::default();
        let (_, engine) = asked(talk, world.going("act", Effect::AtMostOnce, 2)).await;
        talk.answer(key(1, 0), "red").await.unwrap();
        let before = world.clone();
        talk.crash(&engine, Op::Resume, move |_| before.count("act") == 2)
            .await;
        talk.drive(&engine, Op::Resume, |call| {
            call.on_unknown_outcome(allm::OnUnknownOutcome::AskPerson)
        })
        .await
        .unwrap();
        assert_eq!(talk.status(), SessionStatus::AwaitingTools);
        talk.rerun(key(1, 0)).await.unwrap();
        let call = talk.open_turn().unwrap().get(key(1, 0)).unwrap();
        assert!(matches!(call.state, CallState::Ready { .. }));
        talk.resume(&engine).await.unwrap();
        assert_eq!(texts(talk)[2], WENT_ON);
    })
    .await;
}

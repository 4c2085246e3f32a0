//! Section G, in one process: calls of which nobody knows what they came to, and tools that changed meanwhile.

use allm::session::{EntryBody, Outcome};
use allm::{
    ApprovalRule, Effect, Engine, Event, Fake, HaltReason, OnUnknownOutcome, ProbeAnswer, Script,
    SessionReason, SessionStatus, Tool,
};
use serde_json::json;

use crate::effects::{Probe, acting, crashed_in, told_unknown};
use crate::form::{Form, Op, Talk, on_every_form, reply};
use crate::support::{World, giving, key, manual, outcomes, sent, texts};

/// S92: the model is told and the run goes on.
#[tokio::test(start_paused = true)]
async fn s92_the_model_is_told() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let act = world.stuck("act", Effect::AtMostOnce);
        let engine = crashed_in(talk, &fake, &world, act).await;
        let engine = engine
            .with(|builder| builder.on_unknown_outcome(OnUnknownOutcome::TellModel))
            .unwrap();
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        let told = sent(&fake, 1)[2].clone();
        assert!(told_unknown(std::slice::from_ref(&told)), "{told}");
        assert!(told.contains("may have taken effect"), "{told}");
        assert!(told.contains("not run again"), "{told}");
    })
    .await;
}

/// A call of unknown outcome that a person is asked about.
async fn asked_person(talk: &mut Talk, fake: &Fake, world: &World) -> Engine {
    let act = world.stuck("act", Effect::AtMostOnce);
    let engine = crashed_in(talk, fake, world, act).await;
    let engine = engine
        .with(|builder| builder.on_unknown_outcome(OnUnknownOutcome::AskPerson))
        .unwrap();
    let result = talk.resume(&engine).await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::ManualToolCalls);
    assert_eq!(talk.status(), SessionStatus::AwaitingTools);
    assert_eq!(talk.waits()[0].call, key(1, 0));
    fake.assert_calls(1);
    engine
}

/// S92: a person is asked and no model; what the person gives is the result.
#[tokio::test(start_paused = true)]
async fn s92_a_person_is_asked() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let engine = asked_person(talk, &fake, &world).await;
        talk.submit(key(1, 0), "it did").await.unwrap();
        talk.resume(&engine).await.unwrap();
        assert_eq!(sent(&fake, 1)[2], "tool: it did");
        assert_eq!(world.count("act"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s93_a_person_lets_it_run_again() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let engine = asked_person(talk, &fake, &world).await;
        talk.rerun(key(1, 0)).await.unwrap();
        let version = talk.version();
        talk.rerun(key(1, 0)).await.unwrap();
        assert_eq!(talk.version(), version, "the same again is nothing new");
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(talk.is_runnable());
        talk.resume(&engine).await.unwrap();
        let keys = world.keys("act");
        assert_eq!(keys.len(), 2);
        assert_eq!(keys[0], keys[1]);
        assert_eq!(texts(talk)[2], r#"tool: {"times":2}"#);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// A gated call that was agreed to and begun when the process died.
async fn crashed_after_approval(talk: &mut Talk, fake: &Fake, tool: &Tool, world: &World) {
    let engine = talk.engine(fake, vec![tool.clone()]);
    talk.reply(&engine, "Go").await.unwrap();
    talk.approve(key(1, 0)).await.unwrap();
    let before = world.clone();
    talk.crash(&engine, Op::Resume, move |_| before.count("act") == 1)
        .await;
    assert_eq!(talk.status(), SessionStatus::InProgress);
}

fn gated(world: &World, effect: Effect) -> Tool {
    world.stuck("act", effect).approval(ApprovalRule::Always)
}

/// S93: what was agreed to holds for the second run, too, as long as the tool is the same.
#[tokio::test(start_paused = true)]
async fn s93_a_gated_call_runs_again_under_its_approval() {
    for is_changed in [false, true] {
        on_every_form(async |talk| {
            let (fake, world) = (acting(), World::default());
            let mut tool = gated(&world, Effect::AtMostOnce);
            crashed_after_approval(talk, &fake, &tool, &world).await;
            if is_changed {
                tool.description = "Another tool.".to_owned();
            }
            let engine = talk.engine(&fake, vec![tool]);
            let engine = engine
                .with(|builder| builder.on_unknown_outcome(OnUnknownOutcome::AskPerson))
                .unwrap();
            talk.resume(&engine).await.unwrap();
            talk.rerun(key(1, 0)).await.unwrap();
            talk.resume(&engine).await.unwrap();
            if is_changed {
                assert_eq!(talk.status(), SessionStatus::AwaitingApproval);
                assert_eq!(world.count("act"), 1);
                return;
            }
            assert_eq!(talk.status(), SessionStatus::Completed);
            assert_eq!(world.count("act"), 2);
            if talk.form == Form::Durable {
                let intents = talk
                    .entries()
                    .await
                    .into_iter()
                    .filter_map(|entry| match entry {
                        EntryBody::ToolIntent(intent) => Some(intent.approval_id),
                        _ => None,
                    });
                let intents: Vec<_> = intents.collect();
                assert!(intents[0].is_some());
                assert_eq!(intents, [intents[0]; 2]);
            }
        })
        .await;
    }
}

/// S147: a call that may have begun is not run again as what the tool is now.
#[tokio::test(start_paused = true)]
async fn s147_a_begun_call_is_not_run_again_when_its_tool_changed() {
    let not_done = || Probe::saying([Ok(ProbeAnswer::NotDone)]).effect();
    for effect in [Effect::Idempotent, not_done()] {
        for is_changed in [false, true] {
            on_every_form(async |talk| {
                let (fake, world) = (acting(), World::default());
                let effect = match &effect {
                    Effect::Reconcile(_) => not_done(),
                    other => other.clone(),
                };
                let mut tool = gated(&world, effect);
                crashed_after_approval(talk, &fake, &tool, &world).await;
                if is_changed {
                    tool.description = "Another tool.".to_owned();
                }
                let engine = talk.engine(&fake, vec![tool]);
                talk.resume(&engine).await.unwrap();
                assert_eq!(talk.status(), SessionStatus::Completed);
                assert_eq!(world.count("act"), if is_changed { 1 } else { 2 });
                assert_eq!(told_unknown(&sent(&fake, 1)), is_changed);
            })
            .await;
        }
    }
}

/// S99: the operation that finds the loop returns a result that says so, and has run nothing.
#[tokio::test(start_paused = true)]
async fn s99_a_crash_loop_is_a_result() {
    on_every_form(async |talk| {
        let hanging = || Script::new().text("half").hang();
        let mut fake = Fake::new();
        for _ in 0..3 {
            fake = fake.reply(hanging());
        }
        let fake = fake.reply("done");
        let engine = talk.engine(&fake, vec![]);
        let is_text = |event: &Event| matches!(event, Event::TextDelta(_));
        let until = |events: &[Event]| events.iter().any(is_text);
        talk.crash(&engine, reply("Go"), until).await;
        talk.crash(&engine, Op::Resume, until).await;
        talk.crash(&engine, Op::Resume, until).await;
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Error);
        assert_eq!(result.metadata["error"]["reason"], "crash_loop");
        assert_eq!(result.thread, talk.thread());
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(talk.failure().unwrap().kind, "crash_loop");
        fake.assert_calls(3);
        talk.retry(&engine).await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s93_only_an_unknown_outcome_can_be_run_again() {
    on_every_form(async |talk| {
        let script = Script::new().call("m", json!({})).call("a", json!({}));
        let fake = Fake::new().reply(script);
        let engine = talk.engine(&fake, vec![manual("m"), giving("a", json!(1))]);
        talk.reply(&engine, "Go").await.unwrap();
        let error = talk.rerun(key(1, 0)).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::WrongWait);
        let error = talk.rerun(key(1, 1)).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::NotWaiting);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s94_the_stricter_effect_holds() {
    let cases = [
        (Effect::Idempotent, Effect::AtMostOnce),
        (Effect::AtMostOnce, Effect::Idempotent),
        (Effect::AtMostOnce, Effect::Pure),
    ];
    for (before, after) in cases {
        on_every_form(async |talk| {
            let (fake, world) = (acting(), World::default());
            let act = world.stuck("act", before.clone());
            crashed_in(talk, &fake, &world, act).await;
            let engine = talk.engine(&fake, vec![world.stuck("act", after.clone())]);
            talk.resume(&engine).await.unwrap();
            assert_eq!(world.count("act"), 1, "{before:?} and then {after:?}");
            assert!(told_unknown(&sent(&fake, 1)));
        })
        .await;
    }
}

/// S203: an intent tells the effect that held for it, so that the next crash does not loosen it.
#[tokio::test(start_paused = true)]
async fn s203_the_stricter_effect_is_what_an_intent_records() {
    on_every_form(async |talk| {
        let calls = Script::new()
            .call("first", json!({}))
            .call("act", json!({}));
        let fake = Fake::new().reply(calls).reply("done");
        let world = World::default();
        talk.watch(&fake);
        let engine = |effect: Effect| {
            Engine::builder()
                .provider(fake.clone())
                .model("fake:any")
                .tool(world.stuck("first", Effect::Pure))
                .tool(world.stuck("act", effect))
                .max_concurrency(1)
                .build()
                .unwrap()
        };
        // The run begins with a tool that may be run once, and ends before it is.
        let before = world.clone();
        let strict = engine(Effect::AtMostOnce);
        talk.crash(&strict, reply("Go"), move |_| before.count("first") == 1)
            .await;
        let engine = engine(Effect::Idempotent);
        let before = world.clone();
        talk.crash(&engine, Op::Resume, move |_| before.count("act") == 1)
            .await;
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        assert!(
            texts(talk)
                .iter()
                .any(|text| text.contains("unknown_outcome"))
        );
    })
    .await;
}

/// S94: what was idempotent and can be probed now is probed.
#[tokio::test(start_paused = true)]
async fn s94_what_can_be_probed_now_is_probed() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let act = world.stuck("act", Effect::Idempotent);
        crashed_in(talk, &fake, &world, act).await;
        let probe = Probe::saying([Ok(ProbeAnswer::Done(json!("it did")))]);
        let engine = talk.engine(&fake, vec![world.stuck("act", probe.effect())]);
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        assert_eq!(texts(talk)[2], "tool: it did");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s95_a_tool_that_is_gone_and_had_begun() {
    for effect in [Effect::AtMostOnce, Effect::Idempotent] {
        on_every_form(async |talk| {
            let (fake, world) = (acting(), World::default());
            let act = world.stuck("act", effect.clone());
            crashed_in(talk, &fake, &world, act).await;
            let engine = talk.engine(&fake, vec![giving("other", json!(1))]);
            talk.resume(&engine).await.unwrap();
            assert_eq!(world.count("act"), 1);
            assert!(told_unknown(&sent(&fake, 1)));
        })
        .await;
    }
}

/// S95: without an intent it is a call of an unknown tool.
#[tokio::test(start_paused = true)]
async fn s95_a_tool_that_is_gone_and_had_not_begun() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let act = world.stuck("act", Effect::Pure);
        crashed_in(talk, &fake, &world, act).await;
        let engine = talk.engine(&fake, vec![giving("other", json!(1))]);
        let result = talk.resume(&engine).await.unwrap();
        // Its siblings may have run, so the turn stands, and the failure is that of the call.
        assert_eq!(result.halted_reason, HaltReason::ToolError);
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(outcomes(talk), [Some(Outcome::NotRun)]);
        fake.assert_calls(1);
        talk.retry(&engine).await.unwrap();
        let told = sent(&fake, 1)[2].clone();
        assert!(told.contains(r#""reason":"unknown_tool""#), "{told}");
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let act = world.stuck("act", Effect::Pure);
        let engine = talk.engine(&fake, vec![act]);
        let telling = engine
            .with(|builder| builder.unknown_tools(allm::UnknownTools::TellModel))
            .unwrap();
        let before = world.clone();
        talk.crash(&telling, reply("Go"), move |_| before.count("act") == 1)
            .await;
        let engine = talk.engine(&fake, vec![giving("other", json!(1))]);
        talk.resume(&engine).await.unwrap();
        assert!(
            sent(&fake, 1)[2].contains("there are: other"),
            "{:?}",
            sent(&fake, 1)
        );
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

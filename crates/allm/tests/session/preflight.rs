//! What cannot even be begun, while calls are open.

use std::time::Duration;

use allm::session::EntryBody;
use allm::{
    ApprovalRule, Effect, Engine, Fake, Script, SessionError, SessionReason, SessionStatus,
};
use serde_json::json;

use crate::effects::{acting, crashed_in};
use crate::form::{Form, Op, Talk, on_every_form, reply};
use crate::support::{World, texts};

/// Goes on with a model that the engine does not know.
async fn with_no_model(talk: &mut Talk, engine: &Engine, op: Op) {
    let refused = talk
        .drive(engine, op, |call| call.model("nobody:any"))
        .await;
    is_refused(refused.map(drop));
}

fn is_refused(result: Result<(), SessionError>) {
    assert_eq!(result.unwrap_err().reason, SessionReason::Engine);
}

async fn runs(talk: &Talk) -> usize {
    let entries = talk.entries().await;
    let is_run =
        |entry: &&EntryBody| matches!(entry, EntryBody::RunStarted(_) | EntryBody::Recovered(_));
    entries.iter().filter(is_run).count()
}

/// S201: a call that was agreed to stays ready.
#[tokio::test(start_paused = true)]
async fn s201_an_approved_call_is_left_as_it_is() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let tool = world.tool("act").approval(ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![tool]);
        talk.reply(&engine, "Go").await.unwrap();
        let approval = talk.approvals().remove(0);
        talk.approve(&approval).await.unwrap();
        let version = talk.version();
        with_no_model(talk, &engine, Op::Resume).await;
        assert_eq!(talk.version(), version, "nothing is written");
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(talk.is_runnable());
        assert_eq!(world.count("act"), 0);
        talk.resume(&engine).await.unwrap();
        assert_eq!(world.count("act"), 1);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S201: the answer to a tool is kept.
#[tokio::test(start_paused = true)]
async fn s201_an_answer_to_a_tool_is_kept() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let tool = world.going("act", Effect::AtMostOnce, 0);
        let engine = talk.engine(&fake, vec![tool]);
        talk.reply(&engine, "Go").await.unwrap();
        with_no_model(talk, &engine, reply("red")).await;
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert!(talk.is_runnable());
        assert_eq!(world.count("act"), 1);
        talk.resume(&engine).await.unwrap();
        assert_eq!(
            texts(talk)[2],
            r#"tool: {"answer":"red","state":{"page":2}}"#
        );
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S201: a run that nobody drives is not taken over by whoever cannot go on with it, however often.
#[tokio::test(start_paused = true)]
async fn s201_a_run_is_not_taken_over_by_whoever_cannot_drive_it() {
    on_every_form(async |talk| {
        let (fake, world) = (acting(), World::default());
        let tool = world.stuck("act", Effect::Idempotent);
        let able = crashed_in(talk, &fake, &world, tool).await;
        let unable = Engine::builder()
            .provider(Fake::named("other").always("no"))
            .model("other:any")
            .build()
            .unwrap();
        let version = talk.version();
        for _ in 0..4 {
            is_refused(talk.resume(&unable).await.map(drop));
            assert_eq!(talk.status(), SessionStatus::InProgress);
        }
        assert_eq!(talk.version(), version, "nothing is written");
        talk.resume(&able).await.unwrap();
        assert_eq!(world.count("act"), 2);
        assert_eq!(talk.status(), SessionStatus::Completed);
        if talk.form == Form::Durable {
            assert_eq!(runs(talk).await, 2);
        }
    })
    .await;
}

/// S202: only what is about to be run has an intent, so a crash leaves no doubt about the others.
#[tokio::test(start_paused = true)]
async fn s202_what_waits_at_the_gate_has_no_intent() {
    on_every_form(async |talk| {
        let calls = (0..6).fold(Script::new(), |script, x| {
            script.call("act", json!({"x": x}))
        });
        let fake = Fake::new().reply(calls).reply("done");
        let world = World::default();
        let hangs = world.hanging("act", 2);
        talk.watch(&fake);
        let engine = Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tool(hangs)
            .max_concurrency(2)
            .build()
            .unwrap();
        let before = world.clone();
        talk.crash(&engine, reply("Go"), move |_| before.count("act") == 2)
            .await;
        if talk.form == Form::Durable {
            let entries = talk.entries().await;
            let is_intent = |entry: &&EntryBody| matches!(entry, EntryBody::ToolIntent(_));
            assert_eq!(entries.iter().filter(is_intent).count(), 2);
        }
        talk.resume(&engine).await.unwrap();
        let unknown = texts(talk);
        let unknown = unknown
            .iter()
            .filter(|text| text.contains("unknown_outcome"));
        assert_eq!(unknown.count(), 2);
        assert_eq!(world.count("act"), 6);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S202: no more calls run at once than may, also when they are begun one after the other.
#[tokio::test(start_paused = true)]
async fn s202_the_limit_holds_for_all_calls_of_a_turn() {
    on_every_form(async |talk| {
        let calls = (0..7).fold(Script::new(), |script, x| {
            script.call("act", json!({"x": x}))
        });
        let fake = Fake::new().reply(calls).reply("done");
        let (tool, most) = crate::support::crowded("act", Duration::from_secs(1));
        talk.watch(&fake);
        let engine = Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tool(tool)
            .max_concurrency(3)
            .build()
            .unwrap();
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(most(), 3);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

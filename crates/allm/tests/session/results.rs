//! Section C: what the end of a run makes of a session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use allm::session::{Delivery, Outcome};
use allm::{
    AdapterReason, ApiKey, BoxFuture, CancelToken, Cost, Engine, Fake, FinishReason, HaltReason,
    KeyError, KeyRequest, KeySource, KeyUse, OnToolError, Script, SessionCall, SessionStatus,
    StreamReason, Usage,
};
use serde_json::json;

use crate::form::{Op, Talk, on_every_form, reply};
use crate::support::{
    World, api_key, asking, failing, giving, halting, manual, outcomes, sent, texts,
};

/// A way to halt: what the model says, and what the call sets.
struct Way {
    reason: &'static str,
    status: SessionStatus,
    script: fn() -> Script,
    set: for<'a> fn(SessionCall<'a>) -> SessionCall<'a>,
}

fn calling(name: &str) -> Script {
    let usage = Usage {
        cost: Some(Cost {
            total: 1.0,
            input: None,
            output: None,
        }),
        ..Usage::io(9, 1)
    };
    Script::new().call(name, json!({})).usage(usage)
}

fn fired(call: SessionCall<'_>) -> SessionCall<'_> {
    let token = CancelToken::new();
    token.cancel();
    call.cancel(token)
}

fn ways() -> Vec<Way> {
    let way = |reason, status, script, set| Way {
        reason,
        status,
        script,
        set,
    };
    use SessionStatus::{AwaitingTools, AwaitingUser, Completed, Error, Idle};
    vec![
        way("completed", Completed, || Script::from("done"), |c| c),
        way(
            "halt_when",
            Completed,
            || calling("a"),
            |c| c.halt_when(|_| true),
        ),
        way("closed", Completed, || calling("halts"), |c| c),
        way("max_turns", Idle, || calling("a"), |c| c.max_turns(1)),
        way(
            "budget_exhausted",
            Idle,
            || calling("a"),
            |c| c.max_run_tokens(10),
        ),
        way(
            "deadline_exceeded",
            Idle,
            || Script::new().text("h").hang(),
            |c| c.run_deadline(Duration::from_secs(1)),
        ),
        way(
            "truncated",
            Idle,
            || calling("a").finish(FinishReason::Length),
            |c| c,
        ),
        way("cancelled", Idle, || Script::from("never"), fired),
        way("ask_user", AwaitingUser, || calling("ask"), |c| c),
        way("manual_tool_calls", AwaitingTools, || calling("m"), |c| c),
        way(
            "tool_error",
            Error,
            || calling("fails"),
            |c| c.on_tool_error(OnToolError::Halt),
        ),
        way(
            "error",
            Error,
            || {
                Script::new()
                    .text("h")
                    .stream_fail(StreamReason::Interrupted)
            },
            |c| c,
        ),
        way("error", Error, || calling("nobody"), |c| c),
    ]
}

fn tools_of(talk: &mut Talk, fake: &Fake) -> Engine {
    let tools = vec![
        giving("a", json!(1)),
        asking("ask", "?"),
        manual("m"),
        failing("fails"),
        halting("halts", "closed"),
    ];
    talk.engine(fake, tools)
}

/// S36: each reason by each operation.
#[tokio::test(start_paused = true)]
async fn s36_each_halt_gives_its_status_whatever_began_the_run() {
    for way in ways() {
        for op in [reply("Go"), Op::Resume, Op::Step, Op::Retry] {
            on_every_form(async |talk| {
                let failing = Script::new().fail(AdapterReason::InvalidRequest);
                let fake = match op {
                    Op::Retry => Fake::new().reply(failing),
                    _ => Fake::new(),
                };
                let fake = fake.reply((way.script)()).always("more");
                let engine = tools_of(talk, &fake);
                match op {
                    Op::Reply(_) => {}
                    Op::Retry => {
                        let _ = talk.reply(&engine, "Go").await;
                        assert_eq!(talk.status(), SessionStatus::Error);
                    }
                    _ => talk.send("Go", Delivery::NextTurn).await.unwrap(),
                }
                let result = talk.drive(&engine, op.clone(), way.set).await.unwrap();
                // A step's only turn is used up before its budget is looked at.
                let reason = match (&op, way.reason) {
                    (Op::Step, "budget_exhausted") => "max_turns",
                    (_, reason) => reason,
                };
                assert_eq!(result.halted_reason.as_str(), reason, "{op:?}");
                assert_eq!(talk.last_halt(), Some(&result.halted_reason));
                assert_eq!(talk.status(), way.status, "{op:?}: {}", way.reason);
                if result.halted_reason != HaltReason::Error {
                    assert_eq!(result.thread, talk.thread(), "{op:?}: {}", way.reason);
                }
            })
            .await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn s37_a_failure_in_mid_stream_keeps_the_partial_aside() {
    on_every_form(async |talk| {
        let broken = Script::new()
            .text("half")
            .call("a", json!({}))
            .stream_fail(StreamReason::Interrupted);
        let fake = Fake::new().reply(broken);
        let engine = tools_of(talk, &fake);
        let result = talk.reply(&engine, "Hi").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Error);
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(texts(talk), ["user: Hi"]);
        let failure = talk.failure().unwrap();
        assert_eq!(failure.partial.as_ref().unwrap().text(), "half");
        assert_eq!((failure.kind.as_str(), failure.turn), ("interrupted", 1));
        assert!(talk.open_turn().is_none());
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s38_an_unknown_tool_runs_nothing() {
    on_every_form(async |talk| {
        let script = Script::new().call("a", json!({})).call("nobody", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![world.tool("a")]);
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Error);
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(talk.failure().unwrap().kind, "unknown_tool");
        assert_eq!(texts(talk), ["user: Go"]);
        assert_eq!(world.count("a"), 0);
        talk.retry(&engine).await.unwrap();
        assert_eq!(sent(&fake, 1), ["user: Go"]);
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s39_a_tool_error_keeps_the_results_of_the_others() {
    on_every_form(async |talk| {
        let script = Script::new().call("fails", json!({})).call("a", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = tools_of(talk, &fake);
        talk.drive(&engine, reply("Go"), |call| {
            call.on_tool_error(OnToolError::Halt)
        })
        .await
        .unwrap();
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(outcomes(talk), [Some(Outcome::Failed), Some(Outcome::Ok)]);
        let before = texts(talk);
        assert_eq!(before[3], "tool: 1");
        talk.retry(&engine).await.unwrap();
        assert_eq!(sent(&fake, 1), before);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s40_calls_of_an_answer_that_was_cut_off_are_not_run() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("a", json!({}))
            .call_cut_off("a", ["{\"x\""])
            .finish(FinishReason::Length);
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![world.tool("a")]);
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Truncated);
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert_eq!(outcomes(talk), [Some(Outcome::NotRun); 2]);
        assert_eq!(world.count("a"), 0);
        talk.reply(&engine, "On").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S41: the second request is refused before it is sent.
#[tokio::test(start_paused = true)]
async fn s41_a_refusal_of_the_second_turn_is_a_result() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().call("a", json!({})))
            .reply("done");
        let fake = fake.with_key_use(KeyUse::Required);
        talk.watch(&fake);
        let engine = Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tool(giving("a", json!(1)))
            .key_source(OneKey::default())
            .build()
            .unwrap();
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Error);
        assert_eq!(result.steps.len(), 1);
        assert_eq!(talk.status(), SessionStatus::Error);
        assert_eq!(texts(talk), ["user: Go", "assistant: ", "tool: 1"]);
        fake.assert_calls(1);
        talk.drive(&engine, Op::Retry, |call| call.api_key(api_key()))
            .await
            .unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// Gives a key once.
#[derive(Default)]
struct OneKey(AtomicBool);

impl KeySource for OneKey {
    fn key(&self, _: KeyRequest) -> BoxFuture<'_, Result<Option<ApiKey>, KeyError>> {
        let given = self.0.swap(true, Ordering::SeqCst);
        Box::pin(async move { Ok((!given).then(api_key)) })
    }
}

/// S42: what a worker does with everything it finds.
#[tokio::test(start_paused = true)]
async fn s42_a_worker_leaves_what_was_ended_alone() {
    for way in ways() {
        on_every_form(async |talk| {
            let fake = Fake::new().reply((way.script)()).always("more");
            let engine = tools_of(talk, &fake);
            talk.drive(&engine, reply("Go"), way.set).await.unwrap();
            assert!(!talk.is_runnable(), "{}", way.reason);
            let calls = fake.calls().len();
            if talk.is_runnable() {
                talk.resume(&engine).await.unwrap();
            }
            fake.assert_calls(calls);
            if talk.waits().is_empty() && talk.failure().is_none() {
                talk.send("More", Delivery::NextTurn).await.unwrap();
                assert!(talk.is_runnable(), "{}", way.reason);
                talk.resume(&engine).await.unwrap();
                fake.assert_calls(calls + 1);
            }
        })
        .await;
    }
}

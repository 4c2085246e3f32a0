//! S33 to S35: what holds for a run, and what an unfinished one goes on with.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::{
    Beginning, Engine, ErrorDecision, Event, Fake, HaltReason, OnToolError, Script, SessionId,
    SessionReason, SessionStatus, Tool, ToolContext,
};
use serde_json::{Value, json};

use crate::form::{Op, beginning, on_durable, on_every_form, reply};
use crate::support::{World, giving, map, sent, tool};

/// What handlers were told: the context as they read it, and the session's id.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<(Value, String)>>>);

impl Heard {
    fn tool(&self) -> Tool {
        let heard = self.clone();
        tool("hear").handler(move |_: Value, context: ToolContext| {
            let told = match (context.get::<&str>(), context.get::<allm::Map>()) {
                (Some(text), _) => json!(text),
                (None, Some(map)) => Value::Object(map.clone()),
                (None, None) => json!(null),
            };
            let id = context.session_id.as_ref().map(ToString::to_string);
            heard.0.lock().unwrap().push((told, id.unwrap_or_default()));
            async { Ok::<_, std::fmt::Error>(()) }
        })
    }

    fn take(&self) -> (Value, String) {
        self.0.lock().unwrap().pop().unwrap()
    }
}

fn hearing() -> Fake {
    let call = || Script::new().call("hear", json!({}));
    Fake::new().reply(call()).reply("done")
}

fn with_context(fake: &Fake, tool: Tool) -> Engine {
    let builder = Engine::builder().provider(fake.clone()).model("fake:any");
    let builder = builder.tool(tool).context("the engine's");
    builder.build().unwrap()
}

/// S33
#[tokio::test(start_paused = true)]
async fn s33_the_context_of_the_call_the_session_and_the_engine() {
    let own = || Beginning::new().context(map(json!({"of": "the session"})));
    let id = |text: &str| SessionId::new(text).unwrap();
    beginning(own(), async |talk| {
        let (fake, heard) = (hearing(), Heard::default());
        let engine = with_context(&fake, heard.tool());
        talk.drive(&engine, reply("Go"), |call| {
            call.context("the call's").session_id(id("other"))
        })
        .await
        .unwrap();
        assert_eq!(heard.take(), (json!("the call's"), "other".to_owned()));
    })
    .await;
    beginning(own(), async |talk| {
        let (fake, heard) = (hearing(), Heard::default());
        let engine = with_context(&fake, heard.tool());
        talk.reply(&engine, "Go").await.unwrap();
        let expected = (json!({"of": "the session"}), "order-42".to_owned());
        assert_eq!(heard.take(), expected);
    })
    .await;
    on_every_form(async |talk| {
        let (fake, heard) = (hearing(), Heard::default());
        let engine = with_context(&fake, heard.tool());
        talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(heard.take(), (json!("the engine's"), "order-42".to_owned()));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s34_options_hold_for_one_run() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply("one").reply("two");
        let engine = talk.engine(&fake, vec![]);
        talk.drive(&engine, reply("1"), |call| {
            call.temperature(0.5).max_tokens(7)
        })
        .await
        .unwrap();
        talk.reply(&engine, "2").await.unwrap();
        let of = |place: usize| {
            let request = fake.calls()[place].request.clone();
            (request.temperature, request.max_tokens)
        };
        assert_eq!(of(0), (Some(0.5), Some(7)));
        assert_eq!(of(1), (None, None));
    })
    .await;
}

/// S34: the unfinished run keeps its settings and what is left of its turns.
#[tokio::test(start_paused = true)]
async fn s34_an_unfinished_run_goes_on_with_its_own_options() {
    on_every_form(async |talk| {
        let call = || Script::new().call("a", json!({}));
        let fake = Fake::new()
            .reply(call())
            .reply(Script::new().text("half").hang())
            .reply(call())
            .reply("too much");
        let engine = talk.engine(&fake, vec![giving("a", json!(1))]);
        let other = Engine::builder()
            .provider(fake.clone())
            .model("fake:other")
            .tool(giving("a", json!(1)))
            .build()
            .unwrap();
        let is_text = |event: &Event| matches!(event, Event::TextDelta(_));
        // The options are those of the engine here, so that the run is begun with them.
        let first = engine
            .with(|builder| builder.temperature(0.5).max_turns(2))
            .unwrap();
        talk.crash(&first, reply("Go"), |events| events.iter().any(is_text))
            .await;
        assert_eq!(talk.status(), SessionStatus::InProgress);
        let result = talk
            .drive(&other, Op::Resume, |call| {
                call.temperature(1.5).max_turns(9)
            })
            .await
            .unwrap();
        // One turn was left of two.
        assert_eq!(result.halted_reason, HaltReason::MaxTurns);
        let last = &fake.calls()[2];
        assert_eq!(last.request.temperature, Some(0.5));
        assert_eq!(last.model.to_string(), "fake:any");
        assert_eq!(sent(&fake, 1), sent(&fake, 2));
        fake.assert_calls(3);
    })
    .await;
}

/// S34: the time that earlier drivers used is used; the time in which nobody drove the run is not.
#[tokio::test(start_paused = true)]
async fn s34_a_deadline_is_of_the_run_and_not_of_its_driver() {
    on_durable(async |talk| {
        let hanging = || Script::new().text("half").hang();
        let fake = Fake::new()
            .reply(Script::new().call("slow", json!({})))
            .reply(hanging())
            .reply(hanging());
        let clock = talk.clock.clone();
        let slow = tool("slow").handler(move |_: Value| {
            let clock = clock.clone();
            async move {
                for _ in 0..20 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    clock.advance(Duration::from_secs(1));
                }
                Ok::<_, std::fmt::Error>(())
            }
        });
        let engine = talk.engine(&fake, vec![slow]);
        let engine = engine
            .with(|builder| builder.run_deadline(Duration::from_secs(60)))
            .unwrap();
        let is_text = |event: &Event| matches!(event, Event::TextDelta(_));
        talk.crash(&engine, reply("Go"), |events| events.iter().any(is_text))
            .await;
        talk.send("Are you there?", allm::session::Delivery::NextRun)
            .await
            .unwrap();
        let begun = tokio::time::Instant::now();
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::DeadlineExceeded);
        let took = begun.elapsed().as_secs();
        assert!((40..=41).contains(&took), "{took}");
        fake.assert_calls(3);
    })
    .await;
}

/// S35: each hook that the run began with must be there again.
#[tokio::test(start_paused = true)]
async fn s35_a_missing_hook_is_refused_before_anything_is_sent() {
    type With = fn(allm::EngineBuilder) -> allm::EngineBuilder;
    let hooks: [(&str, With); 3] = [
        ("halt_when", |builder| builder.halt_when(|_| false)),
        ("on_tool_error", |builder| {
            builder.on_tool_error(OnToolError::decide(|_, _| ErrorDecision::Continue))
        }),
        ("approval_policy", |builder| {
            builder.approval_policy(|_| allm::ApprovalAnswer::Run)
        }),
    ];
    for (name, with) in hooks {
        on_every_form(async |talk| {
            let hanging = Script::new().text("half").hang();
            let fake = Fake::new().reply(hanging).reply("done");
            let world = World::default();
            let engine = talk.engine(&fake, vec![world.tool("a")]);
            let hooked = engine.with(with).unwrap();
            let is_text = |event: &Event| matches!(event, Event::TextDelta(_));
            talk.crash(&hooked, reply("Go"), |events| events.iter().any(is_text))
                .await;
            let error = talk.resume(&engine).await.unwrap_err();
            assert_eq!(error.reason, SessionReason::MissingHook);
            assert!(error.message.contains(name), "{error}");
            fake.assert_calls(1);
            assert_eq!(talk.status(), SessionStatus::InProgress);
            talk.resume(&hooked).await.unwrap();
            assert_eq!(talk.status(), SessionStatus::Completed);
        })
        .await;
    }
}

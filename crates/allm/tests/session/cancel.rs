//! Section M: cancellation. From another machine it is looked at elsewhere.

use std::time::Duration;

use allm::session::{EntryBody, ModelEnd, Outcome};
use allm::{
    CancelToken, Effect, Event, Fake, HaltReason, Map, Request, Script, SessionReason,
    SessionStatus, ToolContext, Usage, validate,
};
use serde_json::json;

use crate::form::{Form, Talk, on_durable, on_every_form, reply};
use crate::moments::Moments;
use crate::support::{World, asking, giving, key, manual, outcomes, texts, tool};

/// Cancels at the event of this place among those that `is` says yes to.
fn cancelling(
    token: &CancelToken,
    place: usize,
    is: fn(&Event) -> bool,
) -> impl Fn(&Event) + Send + Sync + 'static {
    let (token, seen) = (token.clone(), std::sync::atomic::AtomicUsize::new(0));
    move |event| {
        if is(event) && seen.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1 == place {
            token.cancel();
        }
    }
}

fn sendable(talk: &Talk) {
    validate::request(&Request::new(talk.thread())).unwrap();
}

#[tokio::test(start_paused = true)]
async fn s155_in_mid_text_the_text_and_the_usage_are_kept() {
    on_every_form(async |talk| {
        let talking = Script::new()
            .usage(Usage::io(9, 2))
            .chunks(["one ", "two "])
            .hang();
        let fake = Fake::new().reply(talking).reply("done");
        let engine = talk.engine(&fake, vec![]);
        let token = CancelToken::new();
        let watch = cancelling(&token, 2, |event| matches!(event, Event::TextDelta(_)));
        let result = talk
            .drive(&engine, reply("Go"), move |call| {
                call.cancel(token).on_event(watch)
            })
            .await
            .unwrap();
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert_eq!(talk.last_halt(), Some(&HaltReason::Cancelled));
        assert_eq!(texts(talk), ["user: Go", "assistant: one two "]);
        let last = talk.thread().messages.last().unwrap().clone();
        assert_eq!(last.metadata["partial"], json!(true));
        if talk.form == Form::Durable {
            let entries = talk.entries().await;
            let failed = entries.iter().find_map(|entry| match entry {
                EntryBody::ModelFailed(failed) => Some(failed),
                _ => None,
            });
            let failed = failed.unwrap();
            assert_eq!(failed.end, ModelEnd::Stopped);
            let partial = failed.partial.as_ref().unwrap();
            assert_eq!(partial.text(), "one two ");
            assert_eq!(failed.usage, partial.usage);
        }
        sendable(talk);
        talk.reply(&engine, "On").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S155: of an answer of which nothing came there is no message.
#[tokio::test(start_paused = true)]
async fn s155_before_anything_came_there_is_no_message() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply("never").reply("done");
        let engine = talk.engine(&fake, vec![]);
        let token = CancelToken::new();
        token.cancel();
        let result = talk
            .drive(&engine, reply("Go"), move |call| call.cancel(token))
            .await
            .unwrap();
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!(texts(talk), ["user: Go"]);
        fake.assert_calls(0);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s156_in_mid_arguments_nothing_is_run() {
    on_every_form(async |talk| {
        let calling = Script::new()
            .call("act", json!({}))
            .call_cut_off("act", ["{\"x\"", ": 1"])
            .hang();
        let fake = Fake::new().reply(calling).reply("done");
        let world = World::default();
        let engine = talk.engine(&fake, vec![world.tool("act")]);
        let token = CancelToken::new();
        let is_last = |event: &Event| {
            matches!(event, Event::ToolCallDelta(delta) if delta.arguments_delta == ": 1")
        };
        let watch = cancelling(&token, 1, is_last);
        let result = talk
            .drive(&engine, reply("Go"), move |call| {
                call.cancel(token).on_event(watch)
            })
            .await
            .unwrap();
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!(talk.status(), SessionStatus::Idle);
        assert_eq!(world.count("act"), 0);
        let texts = texts(talk);
        let closed = texts.iter().filter(|text| text.contains(r#""reason":"cancelled""#));
        assert_eq!(closed.count(), 2, "{texts:?}");
        sendable(talk);
        if talk.form == Form::Durable {
            let entries = talk.entries().await;
            let raw = entries.iter().find_map(|entry| match entry {
                EntryBody::ModelFailed(failed) => {
                    let calls = &failed.partial.as_ref()?.message.tool_calls;
                    Some(calls.last()?.raw_arguments.clone())
                }
                _ => None,
            });
            assert_eq!(raw.unwrap(), "{\"x\": 1");
        }
        talk.reply(&engine, "On").await.unwrap();
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s157_with_one_of_three_tools_done() {
    on_every_form(async |talk| {
        let script = ["a", "stops", "stuck"]
            .iter()
            .fold(Script::new(), |script, name| script.call(*name, json!({})));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        let token = CancelToken::new();
        let fire = token.clone();
        let stops = tool("stops").handler(move |_: Map, _: ToolContext| {
            let fire = fire.clone();
            async move {
                tokio::time::sleep(Duration::from_secs(1)).await;
                fire.cancel();
                std::future::pending::<()>().await;
                Ok::<_, std::fmt::Error>(())
            }
        });
        talk.watch(&fake);
        let engine = allm::Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tools(vec![
                giving("a", json!(1)),
                stops,
                world.stuck("stuck", Effect::Idempotent),
            ])
            .max_concurrency(3)
            .build()
            .unwrap();
        let begun = tokio::time::Instant::now();
        let result = talk
            .drive(&engine, reply("Go"), move |call| call.cancel(token))
            .await
            .unwrap();
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        assert_eq!(talk.status(), SessionStatus::Idle);
        let cancelled = Some(Outcome::Cancelled);
        assert_eq!(outcomes(talk), [Some(Outcome::Ok), cancelled, cancelled]);
        assert_eq!(texts(talk)[2], "tool: 1");
        sendable(talk);
        talk.reply(&engine, "On").await.unwrap();
        assert_eq!(world.count("stuck"), 1);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn s158_open_waits_are_closed() {
    on_every_form(async |talk| {
        let script = Script::new()
            .call("ask", json!({}))
            .call("gated", json!({}))
            .call("m", json!({}))
            .call("a", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let gated = giving("gated", json!(1)).approval(allm::ApprovalRule::Always);
        let tools = vec![
            asking("ask", "?"),
            gated,
            manual("m"),
            giving("a", json!(1)),
        ];
        let engine = talk.engine(&fake, tools);
        talk.reply(&engine, "Go").await.unwrap();
        let approval = talk.approvals().remove(0);
        talk.cancel().await.unwrap();
        let cancelled = Some(Outcome::Cancelled);
        assert_eq!(
            outcomes(talk),
            [cancelled, cancelled, cancelled, Some(Outcome::Ok)]
        );
        let late = [
            talk.answer(key(1, 0), "x").await,
            talk.approve(&approval).await,
            talk.approve(key(1, 1)).await,
            talk.submit(key(1, 2), "x").await,
        ];
        for result in late {
            let error = result.unwrap_err();
            assert_eq!(error.reason, SessionReason::NotWaiting);
            assert_eq!(error.outcome, cancelled);
        }
        sendable(talk);
        talk.reply(&engine, "On").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

/// S158: a call that was approved and has not run is closed, too.
#[tokio::test(start_paused = true)]
async fn s158_a_ready_call_is_closed() {
    on_every_form(async |talk| {
        let fake = Fake::new().reply(Script::new().call("act", json!({})));
        let world = World::default();
        let gated = world.tool("act").approval(allm::ApprovalRule::Always);
        let engine = talk.engine(&fake, vec![gated]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.approve(key(1, 0)).await.unwrap();
        talk.cancel().await.unwrap();
        assert_eq!(outcomes(talk), [Some(Outcome::Cancelled)]);
        assert_eq!(world.count("act"), 0);
        assert!(!talk.is_runnable());
    })
    .await;
}

/// S159: twice during a run is one entry. In every status it is in `matrix`.
#[tokio::test(start_paused = true)]
async fn s159_twice_during_a_run_adds_one_entry() {
    on_durable(async |talk| {
        let store = talk.store.clone();
        let moments = Moments::at(2, move || {
            let store = store.clone();
            async move {
                let there = allm::Sessions::with(store, allm::SessionsOptions::default());
                let mut session = there.open("order-42").await.unwrap();
                session.cancel("once").await.unwrap();
                session.cancel("twice").await.unwrap();
            }
        });
        let fake = Fake::new().reply(Script::new().text("one").hang());
        let engine = allm::Engine::builder()
            .provider(moments.model(&fake))
            .model("fake:any")
            .build()
            .unwrap();
        let result = talk.reply(&engine, "Go").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Cancelled);
        let entries = talk.entries().await;
        let stops = entries
            .iter()
            .filter(|entry| matches!(entry, EntryBody::StopRequested(_)));
        assert_eq!(stops.count(), 1);
    })
    .await;
}

/// S161, in one process: a run that nobody drives is settled without a handler.
#[tokio::test(start_paused = true)]
async fn s161_a_run_that_nobody_drives_is_settled() {
    on_every_form(async |talk| {
        let script = ["a", "act", "pure"]
            .iter()
            .fold(Script::new(), |script, name| script.call(*name, json!({})));
        let fake = Fake::new().reply(script).reply("done");
        let world = World::default();
        talk.watch(&fake);
        let engine = allm::Engine::builder()
            .provider(fake.clone())
            .model("fake:any")
            .tools(vec![
                giving("a", json!(1)),
                world.stuck("act", Effect::AtMostOnce),
                world.stuck("pure", Effect::Pure),
            ])
            .max_concurrency(3)
            .build()
            .unwrap();
        let before = world.clone();
        let is_result = |event: &Event| matches!(event, Event::ToolResultEncoded(_));
        talk.crash(&engine, reply("Go"), move |events| {
            events.iter().any(is_result) && before.entered().len() == 2
        })
        .await;
        talk.cancel().await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Idle);
        let expected = [Outcome::Ok, Outcome::UnknownOutcome, Outcome::Cancelled];
        assert_eq!(outcomes(talk), expected.map(Some));
        assert_eq!(world.entered().len(), 2);
        sendable(talk);
        talk.reply(&engine, "On").await.unwrap();
        assert_eq!(talk.status(), SessionStatus::Completed);
    })
    .await;
}

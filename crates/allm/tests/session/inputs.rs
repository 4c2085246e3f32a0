//! Section L: what is said while a turn goes on.

use std::sync::Arc;

use allm::session::{Delivery, EntryBody, ModelEnd};
use allm::{
    Engine, Event, Fake, HaltReason, Request, Script, Session, SessionStatus, SessionStore,
    Sessions, SessionsOptions,
};
use allm_store::MemoryStore;
use serde_json::json;

use crate::form::{Form, on_every_form, reply};
use crate::moments::Moments;
use crate::support::{asking, giving, key, manual, message, sent, texts};

const MORE: &str = "user: more";

fn two_turns() -> Fake {
    let calling = Script::new()
        .chunks(["Let me ", "look."])
        .call("a", json!({}))
        .call("b", json!({}));
    // A crash may lose the first answer, so it can be had again.
    let is_first = |request: &Request| request.messages.len() == 1;
    let fake = Fake::new().reply_when(is_first, calling.clone());
    fake.reply_when(is_first, calling).always("done")
}

/// The message stands once, after the results of its turn and before an answer; and it was sent.
fn stands_well(texts: &[String], fake: &Fake, place: usize) {
    let found: Vec<_> = (0..texts.len()).filter(|at| texts[*at] == MORE).collect();
    assert_eq!(found.len(), 1, "{place}: {texts:?}");
    let at = found[0];
    assert!(
        texts[at + 1].starts_with("assistant: "),
        "{place}: {texts:?}"
    );
    let calls = texts
        .iter()
        .position(|text| text == "assistant: Let me look.");
    let results = calls.unwrap() + 1;
    assert_eq!(
        texts[results..results + 2],
        ["tool: 1", "tool: 2"],
        "{place}"
    );
    assert!(at >= results + 2, "{place}: {texts:?}");
    let requests = fake.calls().len();
    assert_eq!(
        sent(fake, requests - 1)[..],
        texts[..texts.len() - 1],
        "{place}"
    );
}

/// S149: a value whose stream is dropped at each event, and which is told something before it goes on.
#[tokio::test(start_paused = true)]
async fn s149_send_at_every_event_of_a_value() {
    let tools = || vec![giving("a", json!(1)), giving("b", json!(2))];
    for place in 1.. {
        let fake = two_turns();
        // A call that began is run again, so that what is compared does not depend on the place.
        let tools = tools()
            .into_iter()
            .map(|tool| tool.effect(allm::Effect::Idempotent));
        let engine = crate::support::engine(&fake, tools.collect());
        let mut session = Session::new("a").unwrap();
        let mut stream = session.reply(&engine, "Go").stream();
        let mut ended = false;
        for _ in 0..place {
            ended = stream.next().await.is_none();
        }
        drop(stream);
        if ended {
            assert!(place > 15, "{place}");
            return;
        }
        session.send("more", Delivery::NextTurn).unwrap();
        session.resume(&engine).await.unwrap();
        assert_eq!(session.status(), SessionStatus::Completed, "{place}");
        stands_well(&texts(&session), &fake, place);
    }
}

/// A stored session, its store, and an engine that does this at a moment of the run.
struct Scene {
    sessions: Sessions,
    fake: Fake,
    engine: Engine,
    moments: Moments,
}

async fn scene(at: usize, fake: Fake, delivery: &[Delivery]) -> Scene {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let sessions = Sessions::with(Arc::clone(&store), SessionsOptions::default());
    sessions.create("s").await.unwrap();
    let deliveries = delivery.to_vec();
    let moments = Moments::at(at, move || {
        let there = Sessions::with(Arc::clone(&store), SessionsOptions::default());
        let deliveries = deliveries.clone();
        async move {
            let mut session = there.open("s").await.unwrap();
            for (place, delivery) in deliveries.into_iter().enumerate() {
                let text = match place {
                    0 => "more".to_owned(),
                    place => format!("more {place}"),
                };
                session.send(text, delivery).await.unwrap();
            }
        }
    });
    let engine = Engine::builder()
        .provider(moments.model(&fake))
        .model("fake:any")
        .tools(vec![
            moments.tool("a", json!(1)),
            moments.tool("b", json!(2)),
        ])
        .build()
        .unwrap();
    Scene {
        sessions,
        fake,
        engine,
        moments,
    }
}

/// S149: a stored session that somebody else sends to at each moment of the run.
#[tokio::test(start_paused = true)]
async fn s149_send_at_every_moment_of_a_stored_run() {
    for place in 1.. {
        let scene = scene(place, two_turns(), &[Delivery::NextTurn]).await;
        let mut session = scene.sessions.open("s").await.unwrap();
        session.reply(&scene.engine, "Go").await.unwrap();
        if scene.moments.passed() < place {
            assert!(place > 10, "{place}");
            return;
        }
        assert_eq!(session.status(), SessionStatus::Completed, "{place}");
        stands_well(&texts(&session), &scene.fake, place);
    }
}

/// The first moment of the second answer: two tools and the events of the first one came before.
async fn moments_of_first_turn() -> usize {
    let scene = scene(0, two_turns(), &[]).await;
    let mut session = scene.sessions.open("s").await.unwrap();
    let max = session
        .reply(&scene.engine, "Go")
        .max_turns(1)
        .await
        .unwrap();
    assert_eq!(max.halted_reason, HaltReason::MaxTurns);
    scene.moments.passed()
}

#[tokio::test(start_paused = true)]
async fn s150_a_message_during_the_last_answer_is_answered() {
    let at = moments_of_first_turn().await + 2;
    let scene = scene(at, two_turns(), &[Delivery::NextTurn]).await;
    let mut session = scene.sessions.open("s").await.unwrap();
    let result = session.reply(&scene.engine, "Go").await.unwrap();
    assert_eq!(result.steps.len(), 3);
    assert_eq!(
        texts(&session)[4..],
        ["assistant: done", MORE, "assistant: done"]
    );
}

#[tokio::test(start_paused = true)]
async fn s150_without_a_turn_left_the_message_stays() {
    let at = moments_of_first_turn().await + 2;
    let scene = scene(at, two_turns(), &[Delivery::NextTurn]).await;
    let mut session = scene.sessions.open("s").await.unwrap();
    let result = session
        .reply(&scene.engine, "Go")
        .max_turns(2)
        .await
        .unwrap();
    assert_eq!(result.halted_reason, HaltReason::MaxTurns);
    assert_eq!(session.inbox().len(), 1);
    assert_eq!(session.status(), SessionStatus::Idle);
    assert!(session.is_runnable());
    session.resume(&scene.engine).await.unwrap();
    assert!(session.inbox().is_empty());
    assert_eq!(
        texts(&session)[4..],
        ["assistant: done", MORE, "assistant: done"]
    );
}

#[tokio::test(start_paused = true)]
async fn s151_a_message_for_the_next_run() {
    let deliveries = [Delivery::NextRun, Delivery::NextRun];
    let scene = scene(2, two_turns(), &deliveries).await;
    let mut session = scene.sessions.open("s").await.unwrap();
    session.reply(&scene.engine, "Go").await.unwrap();
    for place in 0..scene.fake.calls().len() {
        assert!(!sent(&scene.fake, place).contains(&MORE.to_owned()));
    }
    assert_eq!(session.inbox().len(), 2);
    assert_eq!(session.status(), SessionStatus::Idle);
    let before = scene.fake.calls().len();
    session.reply(&scene.engine, "On").await.unwrap();
    let first = sent(&scene.fake, before);
    assert_eq!(first[5..], [MORE, "user: more 1", "user: On"]);
}

/// S151: also when the next run begins with an open turn.
#[tokio::test(start_paused = true)]
async fn s151_a_message_for_the_next_run_comes_after_the_open_turn() {
    on_every_form(async |talk| {
        let script = Script::new().call("m", json!({})).call("ask", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![manual("m"), asking("ask", "Sure?")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.send("more", Delivery::NextRun).await.unwrap();
        talk.submit(key(1, 0), "x").await.unwrap();
        talk.reply(&engine, "Yes").await.unwrap();
        let end = [
            "tool: x",
            "tool: <awaiting user response>",
            "assistant: Sure?",
            "user: Yes",
            MORE,
        ];
        assert_eq!(sent(&fake, 1)[2..], end);
    })
    .await;
}

/// S152: the text is kept, and the message answered.
#[tokio::test(start_paused = true)]
async fn s152_an_interruption_during_text() {
    let talking = Script::new().chunks(["one ", "two "]).hang();
    let fake = Fake::new().reply(talking).reply("done");
    // The third event is the second piece of text; the message is sent before it is seen.
    let scene = scene(3, fake, &[Delivery::Interrupt]).await;
    let mut session = scene.sessions.open("s").await.unwrap();
    let result = session.reply(&scene.engine, "Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Completed);
    assert_eq!(session.status(), SessionStatus::Completed);
    let all = texts(&session);
    assert_eq!(
        all,
        ["user: Go", "assistant: one two ", MORE, "assistant: done"]
    );
    let kept = message(&session, 1);
    assert_eq!(kept.metadata["partial"], json!(true));
    assert_eq!(session.usage().lost_calls, 0);
    scene.fake.assert_calls(2);
}

#[tokio::test(start_paused = true)]
async fn s152_an_interruption_during_tools_waits_for_them() {
    let first = moments_of_first_turn().await;
    // The last moment of the first turn is in a handler.
    let scene = scene(first, two_turns(), &[Delivery::Interrupt]).await;
    let mut session = scene.sessions.open("s").await.unwrap();
    session.reply(&scene.engine, "Go").await.unwrap();
    let all = texts(&session);
    assert_eq!(all[2..], ["tool: 1", "tool: 2", MORE, "assistant: done"]);
    scene.fake.assert_calls(2);
}

/// S152: a message that cannot wait, sent to a run that nobody drives, is in the next request.
#[tokio::test(start_paused = true)]
async fn s152_an_interruption_of_a_run_that_nobody_drives() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply(Script::new().text("half").hang())
            .reply("done");
        let engine = talk.engine(&fake, vec![]);
        let is_text = |event: &Event| matches!(event, Event::TextDelta(_));
        talk.crash(&engine, reply("Go"), |events| events.iter().any(is_text))
            .await;
        talk.send("more", Delivery::Interrupt).await.unwrap();
        talk.resume(&engine).await.unwrap();
        fake.assert_calls(2);
        assert_eq!(sent(&fake, 1), ["user: Go", MORE]);
        assert_eq!(talk.status(), SessionStatus::Completed);
        if talk.form == Form::Durable {
            let entries = talk.entries().await;
            let interrupted = entries.iter().any(|entry| {
                matches!(entry, EntryBody::ModelFailed(f) if f.end == ModelEnd::Interrupted)
            });
            assert!(interrupted);
        }
    })
    .await;
}

/// S200: the second pass is one answer to its nudge; a message that cannot wait waits for its end.
#[tokio::test(start_paused = true)]
async fn s200_an_interruption_of_a_second_pass_that_nobody_drives() {
    on_every_form(async |talk| {
        let fake = Fake::new()
            .reply("All is well")
            .reply(Script::new().text("{").hang())
            .reply("{}")
            .reply("done")
            .reply("{}");
        talk.watch(&fake);
        let engine = reporting(fake.clone());
        let is_second = |event: &&Event| matches!(event, Event::TextDelta(_));
        talk.crash(&engine, reply("Go"), |events| {
            events.iter().filter(is_second).count() == 2
        })
        .await;
        talk.send("more", Delivery::Interrupt).await.unwrap();
        let result = talk.resume(&engine).await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        fake.assert_calls(3);
        assert!(!sent(&fake, 2).contains(&MORE.to_owned()));
        assert_eq!(talk.inbox().len(), 1);
        assert!(talk.is_runnable());
        talk.resume(&engine).await.unwrap();
        assert_eq!(sent(&fake, 3).last().unwrap(), MORE);
    })
    .await;
}

/// S200: at every moment of a run with a second pass, the message is answered once and the run ends.
#[tokio::test(start_paused = true)]
async fn s200_an_interruption_at_every_moment_of_two_passes() {
    for at in 1.. {
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let there = Sessions::with(Arc::clone(&store), SessionsOptions::default());
        let moments = Moments::at(at, move || {
            let there = there.clone();
            async move {
                let mut session = there.open("s").await.unwrap();
                session.send("more", Delivery::Interrupt).await.unwrap();
            }
        });
        let calling = Script::new().call("a", json!({}));
        let is_nudged = |request: &Request| request.messages.last().unwrap().text() == NUDGE;
        let is_first = |request: &Request| request.messages.len() == 1;
        let fake = (0..9).fold(Fake::new().reply_when(is_first, calling), |fake, _| {
            fake.reply_when(is_nudged, "{}")
        });
        let fake = fake.always("done");
        let engine = Engine::builder()
            .provider(moments.model(&fake))
            .model("fake:any")
            .tool(moments.tool("a", json!(1)))
            .response_format(report())
            .structured_finalize()
            .structured_finalize_nudge(NUDGE)
            .max_turns(2)
            .build()
            .unwrap();
        let sessions = Sessions::with(store, SessionsOptions::default());
        let mut session = sessions.create("s").await.unwrap();
        session.reply(&engine, "Go").await.unwrap();
        if moments.passed() < at {
            assert!(at > 10, "there were moments of both passes");
            return;
        }
        while session.is_runnable() {
            session.resume(&engine).await.unwrap();
        }
        let all = texts(&session);
        let found = all.iter().filter(|text| *text == MORE).count();
        assert_eq!(found, 1, "{at}: {all:?}");
        assert!(fake.calls().len() <= 6, "{at}: {}", fake.calls().len());
        assert!(session.inbox().is_empty());
    }
}

const NUDGE: &str = "As JSON, please.";

fn report() -> allm::ResponseFormat {
    allm::ResponseFormat::json_schema("report", json!({"type": "object"}))
}

/// An engine that asks for a report in a second pass.
fn reporting(fake: Fake) -> Engine {
    Engine::builder()
        .provider(fake)
        .model("fake:any")
        .response_format(report())
        .structured_finalize()
        .structured_finalize_nudge(NUDGE)
        .build()
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn s153_a_message_answers_no_wait() {
    on_every_form(async |talk| {
        let script = Script::new().call("ask", json!({})).call("m", json!({}));
        let fake = Fake::new().reply(script).reply("done");
        let engine = talk.engine(&fake, vec![asking("ask", "Sure?"), manual("m")]);
        talk.reply(&engine, "Go").await.unwrap();
        talk.send("more", Delivery::NextTurn).await.unwrap();
        assert_eq!(talk.waits().len(), 2);
        assert_eq!(talk.inbox().len(), 1);
        talk.submit(key(1, 1), "x").await.unwrap();
        assert_eq!(talk.inbox().len(), 1);
        let result = talk.reply(&engine, "Yes").await.unwrap();
        assert_eq!(result.halted_reason, HaltReason::Completed);
        let end = ["assistant: Sure?", "user: Yes", MORE, "assistant: done"];
        assert_eq!(texts(talk)[4..], end);
    })
    .await;
}

//! L: what is said while a turn runs.

use std::sync::Arc;
use std::time::Duration;

use allm::session::Delivery;
use allm::{Event, Fake, HaltReason, Role, Script, SessionStatus};
use serde_json::json;

use crate::owners::{held, tool};
use crate::support::faults::Faults;
use crate::support::gates::Gates;
use crate::support::journal::{Journal, texts};
use crate::support::stores::{all, memory, sessions};
use crate::support::world::{ONCE, PURE, World, model};
use crate::support::wrapped::Wrapped;

/// S149
#[tokio::test(start_paused = true)]
async fn s149_a_message_at_every_event_comes_between_turns() {
    let mut at = 0;
    loop {
        let ground = memory();
        let here = sessions(ground.machine(0));
        let fake = Fake::new()
            .reply(
                Script::new()
                    .text("Let me")
                    .call(PURE, json!({}))
                    .call(ONCE, json!({})),
            )
            .reply("done")
            .reply("heard");
        let engine = World::default().engine("a", None, &fake).build().unwrap();
        let mut session = here.create("s").await.expect("created");
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        let mut stream = session.reply(&engine, "Go").stream();
        let mut number = 0;
        let mut sent = false;
        while stream.next().await.is_some() {
            if number == at {
                other.send("aside", Delivery::NextTurn).await.expect("sent");
                sent = true;
            }
            number += 1;
        }
        let result = stream.finish().await.expect("done");
        assert_eq!(result.halted_reason, HaltReason::Completed);
        if !sent {
            break;
        }
        other.reload().await.expect("read");
        if other.status() != SessionStatus::Completed {
            // It came after the last answer.
            assert!(other.is_runnable(), "event {at}");
            other.resume(&engine).await.expect("delivered");
        }
        let said = texts(&other);
        let place = said.iter().position(|text| text == "User: aside");
        let place = place.unwrap_or_else(|| panic!("event {at}: {said:?}"));
        assert!(
            said[place - 1].starts_with("Tool: once") || said[place - 1] == "Assistant: done",
            "event {at}: {said:?}"
        );
        assert_eq!(said.iter().filter(|text| *text == "User: aside").count(), 1);
        // It was in a request, and in none that had calls without results.
        let asked = fake.calls();
        let last = asked.last().expect("asked");
        let heard = &last.request.messages;
        assert!(heard.iter().any(|message| message.text() == "aside"));
        at += 1;
    }
    assert!(at > 10, "{at} events");
}

/// S150
#[tokio::test(flavor = "multi_thread")]
async fn s150_a_message_during_the_last_answer() {
    for ground in all().await {
        for turns in [1, 8] {
            let id = format!("s{turns}");
            let here = sessions(ground.machine(0));
            let script = Script::new()
                .text("one")
                .delay(Duration::from_millis(1500))
                .text("two");
            let fake = Fake::new().reply(script).reply("heard");
            let engine = World::default().engine("a", None, &fake).max_turns(turns);
            let engine = engine.build().expect("an engine");
            let mut session = here.create(id.clone()).await.expect("created");
            let mut other = sessions(ground.machine(1)).open(id).await.expect("opened");
            let mut stream = session.reply(&engine, "Go").stream();
            while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
            other.send("aside", Delivery::NextTurn).await.expect("sent");
            let result = stream.finish().await.expect("done");
            if turns == 1 {
                assert_eq!(result.steps.len(), 1, "{}", ground.name);
                assert_eq!(session.inbox().len(), 1);
                assert!(session.is_runnable());
                session.resume(&engine).await.expect("delivered");
            } else {
                assert_eq!(result.steps.len(), 2, "{}", ground.name);
            }
            let expected = [
                "User: Go",
                "Assistant: onetwo",
                "User: aside",
                "Assistant: heard",
            ];
            assert_eq!(texts(&session), expected, "{}", ground.name);
        }
    }
}

/// S151
#[tokio::test(flavor = "multi_thread")]
async fn s151_messages_for_the_next_run() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("first", Delivery::NextRun).await.expect("sent");
        other.send("second", Delivery::NextRun).await.expect("sent");
        held.gates.open_all();
        let (end, mut session) = held.run.await.expect("no panic");
        assert_eq!(end, Ok(()), "{}", ground.name);
        let calls = held.fake.calls();
        assert_eq!(calls.len(), 2);
        for call in &calls {
            let said = &call.request.messages;
            assert!(said.iter().all(|message| message.text() != "first"));
        }
        session.reload().await.expect("read");
        let engine = held.world.engine("a", None, &held.fake).build().unwrap();
        session.resume(&engine).await.expect("done");
        let calls = held.fake.calls();
        let users = calls[2].request.messages.iter();
        let users: Vec<String> = users
            .filter(|message| message.role == Role::User)
            .map(|message| message.text())
            .collect();
        assert_eq!(users, ["Go", "first", "second"], "{}", ground.name);
    }
}

/// S152
#[tokio::test(flavor = "multi_thread")]
async fn s152_an_interruption_of_text() {
    for ground in all().await {
        let here = sessions(ground.machine(0));
        let fake = Fake::new()
            .reply(Script::new().text("one").hang())
            .reply("heard");
        let engine = World::default().engine("a", None, &fake).build().unwrap();
        let mut session = here.create("s").await.expect("created");
        let mut other = sessions(ground.machine(2)).open("s").await.expect("opened");
        let mut stream = session.reply(&engine, "Go").stream();
        while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
        other
            .send("stop that", Delivery::Interrupt)
            .await
            .expect("sent");
        let result = stream.finish().await.expect("done");
        assert_eq!(result.halted_reason, HaltReason::Completed);
        let expected = [
            "User: Go",
            "Assistant: one",
            "User: stop that",
            "Assistant: heard",
        ];
        assert_eq!(texts(&session), expected, "{}", ground.name);
        let thread = session.thread();
        let partial = &thread.messages.get(1).expect("what had come").metadata;
        assert_eq!(
            partial.get("partial"),
            Some(&json!(true)),
            "{}",
            ground.name
        );
    }
}

/// S152
#[tokio::test(flavor = "multi_thread")]
async fn s152_an_interruption_lets_tools_finish() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("now", Delivery::Interrupt).await.expect("sent");
        // The driver looks at least twice a second.
        tokio::time::sleep(Duration::from_millis(1200)).await;
        held.gates.open_all();
        let (end, session) = held.run.await.expect("no panic");
        assert_eq!(end, Ok(()), "{}", ground.name);
        let said = texts(&session);
        let first = ["User: Go", "Assistant: ", "Tool: once", "User: now"];
        assert_eq!(said[..4], first, "{}", ground.name);
        held.world.assert_counts(&[ONCE], ground.name);
    }
}

/// S153
#[tokio::test(flavor = "multi_thread")]
async fn s153_a_message_answers_no_wait() {
    for ground in all().await {
        let calls = Script::new()
            .call("manual", json!({}))
            .call("manual", json!({}));
        let fake = Fake::new().reply(calls).reply("done");
        let engine = World::default().engine("a", None, &fake);
        let engine = engine.tool(tool("manual").manual()).build().unwrap();
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        session.reply(&engine, "Go").await.expect("it waits");
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("aside", Delivery::NextTurn).await.expect("sent");
        assert_eq!(other.waits().len(), 2);
        assert_eq!(other.status(), SessionStatus::AwaitingTools);
        for wait in session.waits() {
            other
                .submit_tool_result(wait.call, "r")
                .await
                .expect("taken");
        }
        other.resume(&engine).await.expect("done");
        let expected = [
            "User: Go",
            "Assistant: ",
            "Tool: r",
            "Tool: r",
            "User: aside",
            "Assistant: done",
        ];
        assert_eq!(texts(&other), expected, "{}", ground.name);
    }
}

/// S154: the driver dies at every append after the message was sent.
#[tokio::test(start_paused = true)]
async fn s154_a_message_outlives_the_driver() {
    for at in 1..6 {
        let ground = memory();
        let faults = Faults::death(at);
        let rule = Arc::new(faults.clone());
        let machine = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
        let world = World::default();
        let fake = model(&[PURE, ONCE]);
        let engine = world.engine("a", None, &fake).build().expect("an engine");
        let mut session = machine.create("s").await.expect("created");
        let run = {
            let engine = engine.clone();
            tokio::spawn(async move { session.reply(&engine, "Go").await })
        };
        while !faults.has_begun() && !run.is_finished() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("aside", Delivery::NextTurn).await.expect("sent");
        let leases = Gates::without_leases();
        leases.open_all();
        let there = sessions(&Wrapped::around(ground.machine(2), "b", &Arc::new(leases)));
        let mut next = there.open("s").await.expect("opened");
        next.resume(&engine).await.expect("it goes on");
        let journal = Journal::read(ground.machine(0), "s").await;
        assert_eq!(journal.session.status(), SessionStatus::Completed);
        let heard = journal.texts();
        let heard = heard.iter().filter(|text| *text == "User: aside").count();
        assert_eq!(heard, 1, "append {at}");
        assert!(journal.session.inbox().is_empty());
        world.assert_counts(&[PURE, ONCE], &format!("append {at}"));
        run.abort();
    }
}

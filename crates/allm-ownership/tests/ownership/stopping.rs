//! M: cancelled from elsewhere, or by nobody; and machines that shut down.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allm::session::EntryBody;
use allm::{Event, Fake, HaltReason, Script, SessionReason, SessionStatus, Usage};
use serde_json::json;
use tokio::time::timeout;

use crate::owners::{SOON, held, tool, until_waiting};
use crate::support::faults::Faults;
use crate::support::gates::Gates;
use crate::support::journal::{Journal, texts};
use crate::support::stores::{all, memory, sessions};
use crate::support::world::{ALL, IDEMPOTENT, ONCE, PURE, World, model};
use crate::support::wrapped::Wrapped;

/// S155, S160: the third machine of PostgreSQL neither tells nor hears, and SQLite tells nobody.
#[tokio::test(flavor = "multi_thread")]
async fn s155_s160_cancelled_in_mid_text_from_another_machine() {
    for ground in all().await {
        let here = sessions(ground.machine(2));
        let script = Script::new().text("one").usage(Usage::io(3, 2)).hang();
        let fake = Fake::new().reply(script).reply("again");
        let engine = World::default().engine("a", None, &fake).build().unwrap();
        let mut session = here.create("s").await.expect("created");
        let mut stream = session.reply(&engine, "Go").stream();
        while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.cancel("enough").await.expect("cancelled");
        let began = Instant::now();
        let result = stream.finish().await.expect("it ends");
        let took = began.elapsed();
        assert!(took < Duration::from_secs(5), "{}: {took:?}", ground.name);
        assert_eq!(
            result.halted_reason,
            HaltReason::Cancelled,
            "{}",
            ground.name
        );
        assert_eq!(session.status(), SessionStatus::Idle);
        assert_eq!(session.last_halt(), Some(&HaltReason::Cancelled));
        assert_eq!(
            texts(&session),
            ["User: Go", "Assistant: one"],
            "{}",
            ground.name
        );
        session
            .reply(&engine, "And now?")
            .await
            .expect("it can be sent");
    }
}

/// S160: by its own clock.
#[tokio::test(start_paused = true)]
async fn s160_within_a_second_without_a_hint() {
    let ground = memory();
    let silent = Gates::default();
    silent.open_all();
    let here = sessions(&Wrapped::around(ground.machine(0), "a", &Arc::new(silent)));
    let fake = Fake::new().reply(Script::new().text("one").hang());
    let engine = World::default().engine("a", None, &fake).build().unwrap();
    let mut session = here.create("s").await.expect("created");
    let mut stream = session.reply(&engine, "Go").stream();
    while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
    let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
    other.cancel("enough").await.expect("cancelled");
    let began = tokio::time::Instant::now();
    stream.finish().await.expect("it ends");
    assert!(
        began.elapsed() <= Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
}

/// S156
#[tokio::test(flavor = "multi_thread")]
async fn s156_cancelled_in_mid_arguments() {
    for ground in all().await {
        let here = sessions(ground.machine(0));
        let world = World::default();
        let script = Script::new().call_cut_off(ONCE, ["{\"a\":", "1"]).hang();
        let fake = Fake::new().reply(script);
        let engine = world.engine("a", None, &fake).build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        let mut stream = session.reply(&engine, "Go").stream();
        let mut deltas = 0;
        while deltas < 2 {
            if matches!(stream.next().await, Some(Event::ToolCallDelta(_))) {
                deltas += 1;
            }
        }
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.cancel("enough").await.expect("cancelled");
        stream.finish().await.expect("it ends");
        assert_eq!(world.entered(ONCE), 0);
        let journal = Journal::read(ground.machine(0), "s").await;
        assert_eq!(journal.session.status(), SessionStatus::Idle);
        let partial = journal.bodies().find_map(|body| match body {
            EntryBody::ModelFailed(failed) => failed.partial.clone(),
            _ => None,
        });
        let partial = partial.expect("what had come");
        let raw = serde_json::to_string(&partial).expect("JSON");
        assert!(raw.contains(r#"{\"a\":1"#), "{}: {raw}", ground.name);
        // What had come of it is in the conversation, with an end.
        let thread = journal.session.thread();
        let last = thread.last().expect("a message");
        assert_eq!(last.role, allm::Role::Tool, "{}", ground.name);
        assert!(
            last.text().contains("cancelled"),
            "{}: {}",
            ground.name,
            last.text()
        );
    }
}

/// S157
#[tokio::test(flavor = "multi_thread")]
async fn s157_cancelled_with_one_of_three_done() {
    for ground in all().await {
        let (gates, world) = (Gates::default(), World::default());
        let fake = model(&[PURE, ONCE, IDEMPOTENT]);
        let engine = world.engine("a", Some(&gates), &fake).build().unwrap();
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        until_waiting(&gates, 3).await;
        gates.open("a effect pure");
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        let one_done = async {
            while Journal::read(ground.machine(1), "s")
                .await
                .count("tool_outcome")
                < 1
            {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, one_done).await.expect("it comes to its end");
        other.cancel("enough").await.expect("cancelled");
        let result = timeout(SOON, run)
            .await
            .expect("at once")
            .expect("no panic");
        assert_eq!(
            result.expect("a result").halted_reason,
            HaltReason::Cancelled
        );
        let journal = Journal::read(ground.machine(2), "s").await;
        let outcomes = journal.outcomes();
        assert_eq!(
            outcomes,
            ["ok", "cancelled", "cancelled"],
            "{}",
            ground.name
        );
        assert_eq!(journal.session.status(), SessionStatus::Idle);
        assert_eq!(world.effects(ONCE), 0);
    }
}

/// S157: a handler that cannot be stopped comes to its end later. That is kept, and changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn s157_what_a_blocking_handler_comes_to_later_is_kept() {
    for is_timed_out in [false, true] {
        for ground in all().await {
            let (begin, begun) = std::sync::mpsc::channel();
            let (go_on, wait) = std::sync::mpsc::channel::<()>();
            let wait = std::sync::Mutex::new(wait);
            let slow = tool("slow").blocking(move |_: serde_json::Value| {
                begin.send(()).expect("somebody waits");
                let _ = wait.lock().expect("not poisoned").recv();
                Ok::<_, std::fmt::Error>(json!({"paid": true}))
            });
            let slow = match is_timed_out {
                true => slow.timeout(Duration::from_millis(20)),
                false => slow,
            };
            let fake = Fake::new()
                .reply(Script::new().call("slow", json!({})))
                .reply("done");
            let engine = World::default().engine("a", None, &fake);
            let engine = engine.tool(slow).build().expect("an engine");
            let mut session = sessions(ground.machine(0))
                .create("s")
                .await
                .expect("created");
            let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
            let begun = tokio::task::spawn_blocking(move || begun.recv());
            begun.await.expect("no panic").expect("it began");
            let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
            if !is_timed_out {
                other.cancel("enough").await.expect("cancelled");
            }
            let result = timeout(SOON, run)
                .await
                .expect("at once")
                .expect("no panic");
            let expected = match is_timed_out {
                true => ("timed_out", HaltReason::Completed),
                false => ("cancelled", HaltReason::Cancelled),
            };
            assert_eq!(result.expect("a result").halted_reason, expected.1);
            other.reload().await.expect("read");
            let (status, thread) = (other.status(), other.thread());
            go_on.send(()).expect("it waits");
            let kept = async {
                loop {
                    let journal = Journal::read(ground.machine(1), "s").await;
                    if journal.count("late_outcome") == 1 {
                        return journal;
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            let journal = timeout(SOON, kept).await.expect("it is kept");
            assert_eq!(journal.outcomes(), [expected.0], "{}", ground.name);
            assert_eq!(
                (journal.session.status(), journal.session.thread()),
                (status, thread)
            );
            let late = journal.entries.iter().find_map(|entry| match &entry.body {
                EntryBody::LateOutcome(late) => Some(late.clone()),
                _ => None,
            });
            let late = late.expect("it is there");
            assert_eq!((late.outcome.as_str(), late.attempt), ("ok", 1));
            assert_eq!(late.content, r#"{"paid":true}"#);
        }
    }
}

/// S158
#[tokio::test(flavor = "multi_thread")]
async fn s158_cancel_closes_what_waits() {
    for ground in all().await {
        let calls = Script::new()
            .call("manual", json!({}))
            .call("manual", json!({}));
        let fake = Fake::new().reply(calls);
        let engine = World::default().engine("a", None, &fake);
        let engine = engine.tool(tool("manual").manual()).build().unwrap();
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        session.reply(&engine, "Go").await.expect("it waits");
        let waits = session.waits();
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.cancel("enough").await.expect("cancelled");
        assert_eq!(other.status(), SessionStatus::Idle, "{}", ground.name);
        for wait in waits {
            let late = session.submit_tool_result(wait.call, "late").await;
            assert_eq!(late.unwrap_err().reason, SessionReason::NotWaiting);
        }
        let journal = Journal::read(ground.machine(2), "s").await;
        assert_eq!(journal.outcomes(), ["cancelled"; 2], "{}", ground.name);
    }
}

/// S159
#[tokio::test(flavor = "multi_thread")]
async fn s159_cancelling_nothing_and_cancelling_twice() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        let mut third = sessions(ground.machine(2)).open("s").await.expect("opened");
        other.cancel("enough").await.expect("cancelled");
        third.cancel("enough").await.expect("cancelled");
        let (end, mut session) = held.run.await.expect("no panic");
        assert_eq!(end, Ok(()), "{}", ground.name);
        let journal = Journal::read(ground.machine(0), "s").await;
        assert_eq!(journal.count("stop_requested"), 1, "{}", ground.name);
        session.cancel("again").await.expect("nothing to do");
        third.cancel("again").await.expect("nothing to do");
        let after = Journal::read(ground.machine(0), "s").await;
        assert_eq!(after.kinds(), journal.kinds(), "{}", ground.name);
    }
}

/// S161: the driver died at any append.
#[tokio::test(start_paused = true)]
async fn s161_an_orphan_is_settled_without_a_driver() {
    for at in 1..7 {
        let ground = memory();
        let faults = Faults::death(at);
        let rule = Arc::new(faults.clone());
        let machine = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
        let world = World::default();
        let fake = model(&ALL);
        let engine = world.engine("a", None, &fake).build().expect("an engine");
        let mut session = machine.create("s").await.expect("created");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        while !faults.has_begun() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let before = Journal::read(ground.machine(1), "s").await;
        let leases = Gates::without_leases();
        leases.open_all();
        let there = sessions(&Wrapped::around(ground.machine(1), "b", &Arc::new(leases)));
        let entered: u32 = ALL.iter().map(|tool| world.entered(tool)).sum();
        let asked = fake.calls().len();
        let mut other = there.open("s").await.expect("opened");
        other.cancel("nobody is there").await.expect("settled");
        let journal = Journal::read(ground.machine(1), "s").await;
        assert_eq!(journal.session.status(), SessionStatus::Idle, "append {at}");
        assert_eq!(journal.session.last_halt(), Some(&HaltReason::Cancelled));
        assert_eq!(*other, journal.session, "append {at}");
        assert_eq!(
            entered,
            ALL.iter().map(|tool| world.entered(tool)).sum::<u32>()
        );
        assert_eq!(fake.calls().len(), asked);
        if let Some(turn) = before.session.open_turn() {
            for (call, outcome) in turn.calls().zip(journal.outcomes()) {
                let expected = match (&call.intent(), call.outcome()) {
                    (_, Some(known)) => known.to_string(),
                    (Some(_), None) => "unknown_outcome".to_owned(),
                    (None, None) => "cancelled".to_owned(),
                };
                assert_eq!(outcome, expected, "append {at}: {}", call.call.name);
            }
        }
        run.abort();
    }
}

/// S162
#[tokio::test(flavor = "multi_thread")]
async fn s162_shutdown_leaves_runs_to_others() {
    for ground in all().await {
        let tools = [PURE, IDEMPOTENT, ONCE];
        let (gates, world) = (Gates::default(), World::default());
        let fake = model(&tools);
        let here = sessions(ground.machine(0));
        let engine = world.engine("a", Some(&gates), &fake).build().unwrap();
        let mut session = here.create("tools").await.expect("created");
        let in_tools = {
            let engine = engine.clone();
            tokio::spawn(async move { session.reply(&engine, "Go").await })
        };
        until_waiting(&gates, 3).await;
        let text = Fake::new()
            .reply(Script::new().text("one").hang())
            .reply("two");
        let talking = World::default().engine("a", None, &text).build().unwrap();
        let mut session = here.create("text").await.expect("created");
        let mut stream = session.reply(&talking, "Go").stream();
        while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
        drop(stream);
        // One call comes to its end within the grace.
        let shutting = {
            let here = here.clone();
            tokio::spawn(async move { here.shutdown(Duration::from_millis(700)).await })
        };
        gates.open("a effect pure");
        timeout(SOON, shutting)
            .await
            .expect("it ends")
            .expect("no panic");
        let error = in_tools.await.expect("no panic").unwrap_err();
        assert_eq!(error.reason, SessionReason::Busy, "{}", ground.name);
        let refused = here
            .create("more")
            .await
            .expect("created")
            .reply(&talking, "Go")
            .await;
        assert_eq!(refused.unwrap_err().reason, SessionReason::Busy);
        for (id, engine) in [("tools", &engine), ("text", &talking)] {
            let journal = Journal::read(ground.machine(1), id).await;
            assert_eq!(journal.session.status(), SessionStatus::InProgress, "{id}");
            assert_eq!(journal.count("stop_requested"), 0);
            for body in journal.bodies() {
                if let EntryBody::ToolOutcome(entry) = body {
                    assert_eq!(entry.outcome.to_string(), "ok", "{}", ground.name);
                }
            }
            gates.open_all();
            let mut other = sessions(ground.machine(1)).open(id).await.expect("opened");
            other.resume(engine).await.expect("at once");
            assert_eq!(other.status(), SessionStatus::Completed, "{}", ground.name);
        }
        world.assert_counts(&tools, ground.name);
        let journal = Journal::read(ground.machine(2), "tools").await;
        let outcomes: Vec<String> = journal
            .bodies()
            .filter_map(|body| match body {
                EntryBody::ToolOutcome(entry) => Some(entry.outcome.to_string()),
                _ => None,
            })
            .collect();
        assert_eq!(outcomes.len(), 3, "{outcomes:?}");
        assert!(outcomes.contains(&"unknown_outcome".to_owned()));
        assert_eq!(world.entered(PURE), 1, "its outcome was stored in time");
    }
}

//! J: who may drive, and who may write.

use std::sync::Arc;
use std::time::Duration;

use allm::session::{Annotated, Delivery};
use allm::{
    ApprovalRule, DeleteIf, DurableSession, Engine, Fake, HaltReason, OnUnknownOutcome, Script,
    SessionId, SessionReason, SessionStatus, Takeover, Tool, ToolContext, ToolReply, WriterId,
};
use allm_store::Clock;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::gates::Gates;
use crate::support::journal::{Journal, texts};
use crate::support::stores::{Ground, all, clocked, sessions};
use crate::support::world::{IDEMPOTENT, ONCE, PURE, World, model};

/// Long enough for any machine, and short enough for a test that fails.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The tools whose recovery waits for no deadline.
const QUICK: [&str; 3] = [PURE, IDEMPOTENT, ONCE];

pub(crate) fn tool(name: &str) -> Tool {
    Tool::new(name, "A tool.", json!({"type": "object"}))
}

/// Waits until somebody is at one of these gates, in real time.
pub(crate) async fn until_waiting(gates: &Gates, count: usize) {
    let waiting = async {
        while gates.waiting().len() < count {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    timeout(SOON, waiting)
        .await
        .expect("somebody comes to the gate");
}

/// A run of machine 0 that has entered the handler of `once` and is held there.
pub(crate) struct Held {
    pub(crate) gates: Gates,
    pub(crate) world: World,
    pub(crate) fake: Fake,
    pub(crate) run: tokio::task::JoinHandle<(Result<(), SessionReason>, DurableSession)>,
}

pub(crate) async fn held(ground: &Ground, tools: Vec<Tool>) -> Held {
    let (gates, world) = (Gates::default(), World::default());
    let fake = model(&[ONCE]);
    let engine = world.engine("a", Some(&gates), &fake).tools(tools);
    let engine = engine.build().expect("an engine");
    let mut session = sessions(ground.machine(0))
        .create("s")
        .await
        .expect("created");
    let run = tokio::spawn(async move {
        let end = session.reply(&engine, "Go").await;
        (end.map(|_| ()).map_err(|error| error.reason), session)
    });
    until_waiting(&gates, 1).await;
    Held {
        gates,
        world,
        fake,
        run,
    }
}

/// S124
#[tokio::test(flavor = "multi_thread")]
async fn s124_a_live_lease_is_busy_and_nothing_is_appended() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let there = sessions(ground.machine(1));
        let mut other = there.open("s").await.expect("opened");
        let engine = held.world.engine("b", None, &held.fake).build().unwrap();
        let before = Journal::read(ground.machine(1), "s").await.kinds();
        let error = other.resume(&engine).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::Busy, "{}", ground.name);
        let found = error.held.expect("who holds it");
        assert_ne!(found.holder, *there.writer());
        let now = ground.machine(1).now().await.expect("a clock");
        assert!(found.expires_at > now && found.expires_at.as_millis() <= now.as_millis() + 31_000);
        assert_eq!(Journal::read(ground.machine(1), "s").await.kinds(), before);
        held.gates.open_all();
        let (end, _) = held.run.await.expect("no panic");
        assert_eq!(end, Ok(()), "{}", ground.name);
        held.world.assert_counts(&[ONCE], ground.name);
    }
}

/// S126
#[tokio::test(flavor = "multi_thread")]
async fn s126_fences_grow_with_each_run_and_each_takeover() {
    for ground in all().await {
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut last = 0;
        let id = SessionId::new("s").expect("an id");
        for (number, takeover) in [Takeover::IfExpired, Takeover::Force].iter().enumerate() {
            let here = sessions(ground.machine(number));
            let mut session = here.open_or_create("s").await.expect("opened");
            session.send("Go", Delivery::NextTurn).await.expect("sent");
            session.resume(&engine).await.expect("done");
            let store = ground.machine(2);
            let ttl = Duration::from_secs(5);
            let holder = WriterId::from("me");
            let lease = store.acquire(&id, &holder, ttl, *takeover).await;
            let lease = lease.expect("given");
            // The run had one of its own.
            assert_eq!(lease.fence.0, last + 2, "{}", ground.name);
            let forced = store.acquire(&id, &holder, ttl, Takeover::Force).await;
            let forced = forced.expect("given");
            assert_eq!(forced.fence.0, last + 3, "{}", ground.name);
            store.release(lease).await.expect("let alone");
            store.release(forced.clone()).await.expect("given back");
            last = forced.fence.0;
        }
    }
}

/// S128
#[tokio::test(flavor = "multi_thread")]
async fn s128_a_reply_to_what_was_not_seen_is_a_conflict() {
    for ground in all().await {
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("first", Delivery::NextTurn).await.expect("sent");
        let error = session.reply(&engine, "second").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::Conflict, "{}", ground.name);
        assert_eq!(error.actual.map(|version| version.0), Some(2));
        let kinds = Journal::read(ground.machine(0), "s").await.kinds();
        assert_eq!(kinds, ["created", "user_message"], "{}", ground.name);
        session.reload().await.expect("read");
        session.reply(&engine, "second").await.expect("done");
        let said = texts(&session);
        assert_eq!(
            said[..2],
            ["User: first", "User: second"],
            "{}",
            ground.name
        );
    }
}

/// S129
#[tokio::test(flavor = "multi_thread")]
async fn s129_others_write_while_one_drives() {
    for ground in all().await {
        let (gates, world) = (Gates::default(), World::default());
        let calls = Script::new()
            .call("ask", json!({}))
            .call("gated", json!({}))
            .call(ONCE, json!({}));
        let fake = Fake::new().reply(calls).reply("done");
        let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
        let gated = tool("gated")
            .approval(ApprovalRule::Always)
            .handler(|_: Value| async { Ok::<_, std::fmt::Error>("agreed") });
        let engine = world.engine("a", Some(&gates), &fake).tools([ask, gated]);
        let engine = engine.build().expect("an engine");
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        until_waiting(&gates, 1).await;
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        let asked = async {
            while other.question().is_none() {
                tokio::time::sleep(Duration::from_millis(5)).await;
                other.reload().await.expect("read");
            }
        };
        timeout(SOON, asked).await.expect("the question is asked");
        let question = other.question().expect("a question").call;
        other.answer(question, "yes").await.expect("answered");
        let approval = other.approvals()[0].clone();
        other.approve(&approval).await.expect("approved");
        other
            .send("and more", Delivery::NextTurn)
            .await
            .expect("sent");
        let notes = Annotated {
            metadata: json!({"seen": true}).as_object().cloned(),
            ..Annotated::default()
        };
        other.annotate(notes).await.expect("noted");
        gates.open_all();
        let result = timeout(SOON, run)
            .await
            .expect("it ends")
            .expect("no panic");
        let result = result.unwrap_or_else(|error| panic!("{}: {error}", ground.name));
        assert_eq!(
            result.halted_reason,
            HaltReason::Completed,
            "{}",
            ground.name
        );
        let journal = Journal::read(ground.machine(2), "s").await;
        let expected = [
            "User: Go",
            "Assistant: ",
            "Tool: <awaiting user response>",
            "Tool: agreed",
            "Tool: once",
            "Assistant: Sure?",
            "User: yes",
            "User: and more",
            "Assistant: done",
        ];
        assert_eq!(journal.texts(), expected, "{}", ground.name);
        assert_eq!(journal.count("run_started"), 1);
        assert_eq!(journal.count("recovered"), 0);
    }
}

/// S130
#[tokio::test(flavor = "multi_thread")]
async fn s130_fifty_submitters_at_once() {
    for ground in all().await {
        let mut calls = Script::new();
        for _ in 0..50 {
            calls = calls.call("manual", json!({}));
        }
        let fake = Fake::new().reply(calls).reply("done");
        let engine = Engine::builder().provider(fake.clone()).model("fake:any");
        let engine = engine.tool(tool("manual").manual()).build().unwrap();
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        session.reply(&engine, "Go").await.expect("it waits");
        let waits = session.waits();
        assert_eq!(waits.len(), 50);
        let mut tasks = Vec::new();
        for (number, wait) in waits.into_iter().enumerate() {
            let machine = sessions(ground.machine(number % 3));
            tasks.push(tokio::spawn(async move {
                let mut session = machine.open("s").await.expect("opened");
                let result = format!("r{number}");
                session.submit_tool_result(wait.call, result).await
            }));
        }
        for task in tasks {
            let submitted = task.await.expect("no panic");
            assert!(submitted.is_ok(), "{}: {submitted:?}", ground.name);
        }
        session.reload().await.expect("read");
        assert_eq!(session.status(), SessionStatus::Idle, "{}", ground.name);
        assert!(session.is_runnable());
        fake.assert_calls(1);
        session.resume(&engine).await.expect("done");
        fake.assert_calls(2);
        let said = texts(&session);
        for number in 0..50 {
            assert_eq!(
                said[2 + number],
                format!("Tool: r{number}"),
                "{}",
                ground.name
            );
        }
    }
}

/// S131
#[tokio::test(flavor = "multi_thread")]
async fn s131_two_answers_to_one_question() {
    for ground in all().await {
        for _ in 0..5 {
            let id = SessionId::new("s").expect("an id");
            let _ = ground.machine(0).delete(&id, DeleteIf::Force).await;
            let fake = Fake::new().reply(Script::new().call("ask", json!({})));
            let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
            let engine = Engine::builder().provider(fake).model("fake:any");
            let engine = engine.tool(ask).build().expect("an engine");
            let mut session = sessions(ground.machine(0))
                .create("s")
                .await
                .expect("created");
            session.reply(&engine, "Go").await.expect("it asks");
            let call = session.question().expect("a question").call;
            let barrier = Arc::new(tokio::sync::Barrier::new(2));
            let mut tasks = Vec::new();
            for (number, answer) in ["yes", "no"].into_iter().enumerate() {
                let machine = sessions(ground.machine(1 + number));
                let barrier = Arc::clone(&barrier);
                tasks.push(tokio::spawn(async move {
                    let mut session = machine.open("s").await.expect("opened");
                    barrier.wait().await;
                    let answered = session.answer(call, answer).await;
                    (answer, answered.map_err(|error| error.reason))
                }));
            }
            let mut won = Vec::new();
            for task in tasks {
                match task.await.expect("no panic") {
                    (answer, Ok(())) => won.push(answer),
                    (_, Err(reason)) => assert_eq!(reason, SessionReason::AlreadyAnswered),
                }
            }
            assert_eq!(won.len(), 1, "{}", ground.name);
            session.reload().await.expect("read");
            let said = texts(&session);
            assert_eq!(said.last(), Some(&format!("User: {}", won[0])));
        }
    }
}

/// S132, S170
#[tokio::test(flavor = "multi_thread")]
async fn s132_the_driver_of_a_session_that_was_made_anew() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let there = sessions(ground.machine(1));
        let id = SessionId::new("s").expect("an id");
        let error = there.delete(&id, DeleteIf::Any).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::Busy, "{}", ground.name);
        there.delete(&id, DeleteIf::Force).await.expect("deleted");
        let mut anew = there.create("s").await.expect("created");
        let old = held.fake.calls().len();
        // At the version that the old driver believes in.
        while anew.version().0 < 5 {
            anew.send("other", Delivery::NextRun).await.expect("sent");
        }
        let before = Journal::read(ground.machine(1), "s").await.kinds();
        held.gates.open_all();
        let (end, mut stale) = held.run.await.expect("no panic");
        assert_eq!(end, Err(SessionReason::LostOwnership), "{}", ground.name);
        assert_eq!(held.fake.calls().len(), old);
        assert_eq!(Journal::read(ground.machine(1), "s").await.kinds(), before);
        let late = stale.send("late", Delivery::NextRun).await.unwrap_err();
        assert_eq!(late.reason, SessionReason::LostOwnership, "{}", ground.name);
        let engine = held.world.engine("a", None, &held.fake).build().unwrap();
        let late = stale.resume(&engine).await.unwrap_err();
        assert_eq!(late.reason, SessionReason::LostOwnership, "{}", ground.name);
        assert_eq!(Journal::read(ground.machine(1), "s").await.kinds(), before);
    }
}

/// S125, S127
#[tokio::test(start_paused = true)]
async fn s125_s127_a_driver_that_was_overtaken() {
    for ask_person in [false, true] {
        let clock = Clock::manual(allm::Timestamp::from_millis(1_000_000).unwrap());
        for ground in clocked(&clock) {
            let store = ground.machine(0);
            let (gates, world) = (Gates::default(), World::default());
            let fake = Fake::new()
                .reply(Script::new().call(ONCE, json!({})).call("heeds", json!({})))
                .reply("done");
            let heeds = tool("heeds").handler(|_: Value, context: ToolContext| async move {
                context.cancel.cancelled().await;
                Ok::<_, std::fmt::Error>("stopped half-way")
            });
            let engine = world.engine("a", Some(&gates), &fake).tool(heeds.clone());
            let engine = engine.build().expect("an engine");
            let mut session = sessions(store).create("s").await.expect("created");
            let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
            while gates.waiting().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            clock.advance(Duration::from_secs(31));
            let policy = if ask_person {
                OnUnknownOutcome::AskPerson
            } else {
                OnUnknownOutcome::TellModel
            };
            let other = world.engine("b", None, &fake).tool(heeds);
            let other = other.on_unknown_outcome(policy).build().expect("an engine");
            let mut taken = sessions(store).open("s").await.expect("opened");
            taken.resume(&other).await.expect("it goes on");
            gates.open_all();
            let error = run.await.expect("no panic").unwrap_err();
            assert_eq!(error.reason, SessionReason::LostOwnership);
            let journal = Journal::read(store, "s").await;
            // One came to its end, the other was told to stop.
            assert_eq!(journal.count("late_outcome"), 2);
            assert_eq!(world.entered(ONCE), 1);
            if ask_person {
                assert_eq!(journal.session.status(), SessionStatus::AwaitingTools);
                fake.assert_calls(1);
                let shown = serde_json::to_string(&journal.session).expect("JSON");
                assert!(shown.contains("stopped half-way"), "{shown}");
            } else {
                assert_eq!(journal.outcomes(), ["unknown_outcome"; 2]);
                fake.assert_calls(2);
            }
        }
    }
}

/// S133
#[tokio::test(flavor = "multi_thread")]
async fn s133_three_machines_recover_at_once() {
    for ground in all().await {
        let here = sessions(ground.machine(0));
        let manual = tool("manual").manual();
        let worlds: Vec<World> = (0..6).map(|_| World::default()).collect();
        for (number, world) in worlds.iter().enumerate() {
            let gates = Gates::default();
            let engine = world.engine("dead", Some(&gates), &model(&QUICK));
            let engine = engine.build().expect("an engine");
            let dying = sessions(ground.machine(0));
            let mut session = dying.create(format!("orphan-{number}")).await.unwrap();
            let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
            until_waiting(&gates, QUICK.len()).await;
            dying.shutdown(Duration::ZERO).await;
            let error = run.await.expect("no panic").unwrap_err();
            assert_eq!(error.reason, SessionReason::Busy);
        }
        let fake = Fake::new()
            .reply(Script::new().call("manual", json!({})))
            .reply(Script::new().fail(allm::AdapterReason::InvalidRequest));
        let engine = Engine::builder().provider(fake).model("fake:any");
        let engine = engine.tool(manual).build().expect("an engine");
        let mut waiting = here.create("waiting").await.expect("created");
        waiting.reply(&engine, "Go").await.expect("it waits");
        let mut failed = here.create("failed").await.expect("created");
        assert!(failed.reply(&engine, "Go").await.is_err());
        assert_eq!(failed.status(), SessionStatus::Error);
        let leased = held(&ground, Vec::new()).await;
        let mut kinds = Vec::new();
        for id in ["waiting", "failed", "s"] {
            kinds.push(Journal::read(ground.machine(0), id).await.kinds());
        }
        let barrier = Arc::new(tokio::sync::Barrier::new(3));
        let mut tasks = Vec::new();
        for number in 0..3 {
            let machine = sessions(ground.machine(number));
            let (worlds, barrier) = (worlds.clone(), Arc::clone(&barrier));
            tasks.push(tokio::spawn(async move {
                barrier.wait().await;
                let engine = |head: &allm::Head| {
                    let number = head.id.as_str().strip_prefix("orphan-")?;
                    let world = &worlds[number.parse::<usize>().ok()?];
                    world.engine("b", None, &model(&QUICK)).build().ok()
                };
                machine.recover_with(engine).await.expect("recovered")
            }));
        }
        let mut recovered = Vec::new();
        for task in tasks {
            for found in task.await.expect("no panic") {
                let result = found.result.unwrap_or_else(|error| panic!("{error}"));
                assert!(result.is_some());
                recovered.push(found.id.as_str().to_owned());
            }
        }
        recovered.sort();
        let expected: Vec<String> = (0..6).map(|number| format!("orphan-{number}")).collect();
        assert_eq!(recovered, expected, "{}", ground.name);
        for (number, world) in worlds.iter().enumerate() {
            let id = format!("orphan-{number}");
            let journal = Journal::read(ground.machine(1), &id).await;
            journal.assert_one_outcome_each();
            assert_eq!(journal.count("recovered"), 1, "{}", ground.name);
            world.assert_counts(&QUICK, &id);
        }
        for (id, before) in ["waiting", "failed", "s"].into_iter().zip(kinds) {
            let after = Journal::read(ground.machine(0), id).await.kinds();
            assert_eq!(after, before, "{}: {id}", ground.name);
        }
        leased.gates.open_all();
        assert_eq!(leased.run.await.expect("no panic").0, Ok(()));
    }
}

//! D: what is told, to whom, and when.

use std::sync::Arc;
use std::time::Duration;

use allm::session::Delivery;
use allm::{Event, Script, SessionStatus, StoreReason, Told, Version};
use tokio::time::timeout;

use crate::owners::{SOON, until_waiting};
use crate::support::faults::Faults;
use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::stores::{all, memory, paused, sessions};
use crate::support::world::{ALL, ONCE, PURE, World, model};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// S45
#[tokio::test(flavor = "multi_thread")]
async fn s45_what_is_told_is_stored() {
    for ground in all().await {
        let engine = World::default().engine("a", None, &model(&[PURE, ONCE]));
        let engine = engine.build().expect("an engine");
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let mut stream = session.reply(&engine, "Go").stream();
        let (mut steps, mut outcomes) = (0, 0);
        while let Some(event) = stream.next().await {
            let journal = Journal::read(ground.machine(1), "s").await;
            match event {
                Event::ToolExecutionCompleted(_) => {
                    outcomes += 1;
                    assert!(journal.count("tool_outcome") >= outcomes, "{}", ground.name);
                }
                Event::StepCompleted(_) => {
                    steps += 1;
                    assert!(journal.count("model_responded") >= steps, "{}", ground.name);
                    assert_eq!(journal.count("tool_outcome"), 2, "{}", ground.name);
                }
                Event::ChatCompleted(_) => {
                    assert_eq!(journal.session.status(), SessionStatus::Completed);
                }
                _ => {}
            }
        }
        assert_eq!((steps, outcomes), (2, 2));
        stream.finish().await.expect("done");
    }
}

/// S77
#[tokio::test(start_paused = true)]
async fn s77_the_next_request_waits_for_every_outcome() {
    for ground in paused() {
        let gates = Gates::default();
        let machine = sessions(&Wrapped::around(
            ground.machine(0),
            "a",
            &Arc::new(gates.clone()),
        ));
        let fake = model(&[PURE, ONCE]);
        let engine = World::default().engine("a", None, &fake).build().unwrap();
        let mut session = machine.create("s").await.expect("created");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        let mut outcomes = 0;
        while outcomes < 2 {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let waiting = gates.waiting();
            let [next] = &waiting[..] else {
                panic!("one at a time: {waiting:?}");
            };
            // However long it takes: nobody is asked before it is stored.
            gates.flow(true);
            tokio::time::sleep(Duration::from_secs(3)).await;
            gates.flow(false);
            if next.contains("tool_outcome") {
                outcomes += 1;
            }
            assert!(fake.calls().len() <= 1);
            gates.open(next);
        }
        gates.open_all();
        run.await.expect("no panic").expect("done");
        fake.assert_calls(2);
    }
}

/// S49
#[tokio::test(flavor = "multi_thread")]
async fn s49_a_run_goes_on_when_nobody_listens() {
    for ground in all().await {
        let (gates, world) = (Gates::default(), World::default());
        let fake = model(&[ONCE]);
        let engine = world.engine("a", Some(&gates), &fake).build().unwrap();
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let mut stream = session.reply(&engine, "Go").stream();
        while !matches!(stream.next().await, Some(Event::ToolCallStarted(_))) {}
        drop(stream);
        until_waiting(&gates, 1).await;
        gates.open_all();
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        let ended = async {
            while other.status() != SessionStatus::Completed {
                tokio::time::sleep(Duration::from_millis(5)).await;
                other.reload().await.expect("read");
            }
        };
        timeout(SOON, ended).await.expect("it ends");
        world.assert_counts(&[ONCE], ground.name);
    }
}

/// S49: a stream that is dropped while it is being begun leaves no lease behind.
#[tokio::test(start_paused = true)]
async fn s49_a_stream_dropped_at_once_blocks_nobody() {
    for polls in 0..12 {
        let ground = memory();
        let machine = sessions(ground.machine(0));
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = machine.create("s").await.expect("created");
        let mut stream = session.reply(&engine, "Go").stream();
        for _ in 0..polls {
            let _ = timeout(Duration::ZERO, stream.next()).await;
        }
        drop(stream);
        tokio::time::sleep(Duration::from_secs(2)).await;
        let mut other = sessions(ground.machine(0)).open("s").await.expect("opened");
        if polls == 0 {
            assert_eq!(other.version(), Version(1));
        } else {
            assert_eq!(other.status(), SessionStatus::Completed, "{polls} polls");
        }
        other.reply(&engine, "More").await.expect("not busy");
    }
}

/// S50
#[tokio::test(start_paused = true)]
async fn s50_a_repeated_model_call_begins_anew() {
    for ground in paused() {
        // The machine dies when the answer is about to be stored.
        let faults = Faults::death(1);
        let machine = sessions(&Wrapped::around(ground.machine(0), "a", &Arc::new(faults)));
        let fake = allm::Fake::new().reply("lost").reply("kept");
        let engine = allm::Engine::builder().provider(fake).model("fake:any");
        let engine = engine.build().expect("an engine");
        let mut session = machine.create("s").await.expect("created");
        let mut stream = session.reply(&engine, "Go").stream();
        while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
        drop(stream);
        tokio::time::sleep(Duration::from_millis(10)).await;
        // Its lease has to run out, by the clock of the store.
        let rule = Arc::new(Gates::without_leases());
        rule.open_all();
        let there = sessions(&Wrapped::around(ground.machine(1), "b", &rule));
        let mut other = there.open("s").await.expect("opened");
        assert_eq!(other.status(), SessionStatus::InProgress);
        let mut stream = other.resume(&engine).stream();
        let mut told = Vec::new();
        while let Some(event) = stream.next().await {
            match event {
                Event::AttemptReset(reset) => {
                    told.push(format!("{} {}", reset.turn, reset.attempt))
                }
                Event::TextDelta(_) => told.push("delta".to_owned()),
                _ => {}
            }
        }
        assert_eq!(told, ["1 2", "delta"]);
        stream.finish().await.expect("done");
        assert_eq!(other.usage().lost_calls, 1);
    }
}

/// All durable events from a version on, without waiting for more.
async fn durable(session: &allm::DurableSession, after: Version) -> Vec<(Version, String)> {
    let mut events = session.events(after);
    let mut told = Vec::new();
    while let Some(event) = events.next_ready().await.expect("read") {
        if let Told::Durable { version, event } = event {
            told.push((version, event.tag().to_owned()));
        }
    }
    told
}

/// S51
#[tokio::test(flavor = "multi_thread")]
async fn s51_from_every_version_on_another_machine() {
    for ground in all().await {
        let engine = World::default().engine("a", None, &model(&[PURE, ONCE]));
        let engine = engine.build().expect("an engine");
        let mut session = sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let there = sessions(ground.machine(2)).open("s").await.expect("opened");
        // One who reads along from the start, while it happens.
        let mut along = there.events(Version(0));
        let reader = tokio::spawn(async move {
            let mut told = Vec::new();
            loop {
                if let Told::Durable { version, event } = along.next().await.expect("read") {
                    let last = matches!(event, Event::ChatCompleted(_));
                    told.push((version, event.tag().to_owned()));
                    if last {
                        return told;
                    }
                }
            }
        });
        session.reply(&engine, "Go").await.expect("done");
        let all = durable(&there, Version(0)).await;
        let names: Vec<&str> = all.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(names.last(), Some(&"chat_completed"), "{}", ground.name);
        assert_eq!(
            names
                .iter()
                .filter(|name| **name == "step_completed")
                .count(),
            2
        );
        let read = timeout(SOON, reader)
            .await
            .expect("it ends")
            .expect("no panic");
        assert_eq!(read, all, "{}", ground.name);
        for after in 0..=session.version().0 {
            let after = Version(after);
            let later = all.iter().filter(|(version, _)| *version > after);
            let later: Vec<_> = later.cloned().collect();
            assert_eq!(
                durable(&there, after).await,
                later,
                "{} {after}",
                ground.name
            );
        }
    }
}

/// Every second read fails.
struct Flaky(std::sync::atomic::AtomicUsize);

impl Rule for Flaky {
    fn judge<'a>(&'a self, call: &'a Call) -> allm::BoxFuture<'a, Fate> {
        use std::sync::atomic::Ordering;
        let fails = call.op == Op::Load && self.0.fetch_add(1, Ordering::SeqCst) % 2 == 1;
        Box::pin(async move {
            if fails {
                Fate::Refused(StoreReason::Unavailable)
            } else {
                Fate::Done
            }
        })
    }
}

/// S51: neither a store that fails now and then nor a reader that gives up waiting makes an event come twice.
#[tokio::test(start_paused = true)]
async fn s51_each_event_once_whatever_fails() {
    let ground = memory();
    let flaky = Arc::new(Flaky(std::sync::atomic::AtomicUsize::new(0)));
    let there = sessions(&Wrapped::around(ground.machine(1), "b", &flaky));
    let engine = World::default().engine("a", None, &model(&ALL));
    let engine = engine.build().expect("an engine");
    let here = sessions(ground.machine(0));
    let mut session = here.create("s").await.expect("created");
    let mut events = there.open("s").await.expect("opened").events(Version(0));
    let mut told = Vec::new();
    for round in 0..4 {
        session
            .send(format!("{round}"), Delivery::NextTurn)
            .await
            .expect("sent");
        session.resume(&engine).await.expect("done");
        for _ in 0..200 {
            let next = timeout(Duration::from_millis(7), events.next()).await;
            if let Ok(Ok(Told::Durable { version, event })) = next {
                told.push((version, event.tag().to_owned()));
            }
        }
    }
    assert_eq!(told, durable(&session, Version(0)).await);
}

/// S52
#[tokio::test(start_paused = true)]
async fn s52_a_slow_reader_slows_nobody() {
    for ground in paused() {
        let here = sessions(ground.machine(0));
        let long = Script::new().chunks((0..5_000).map(|number| number.to_string()));
        let fake = allm::Fake::new()
            .reply(Script::new().call(ONCE, serde_json::json!({})))
            .reply(long);
        let gates = Gates::default();
        let engine = World::default().engine("a", Some(&gates), &fake);
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        let mut events = session.events(Version(0));
        let run = tokio::spawn(async move {
            let end = session.reply(&engine, "Go").await;
            (end, session)
        });
        // It begins to listen while a tool runs, and stops.
        while gates.waiting().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while events.next_ready().await.expect("read").is_some() {}
        gates.open_all();
        let began = tokio::time::Instant::now();
        let (end, session) = run.await.expect("no panic");
        end.expect("done");
        assert!(began.elapsed() < Duration::from_secs(1));
        let (mut lagged, mut told) = (0, Vec::new());
        while let Some(event) = events.next_ready().await.expect("read") {
            match event {
                Told::Lagged { resume_at } => {
                    lagged += 1;
                    let rest = durable(&session, resume_at).await;
                    let after = durable(&session, Version(0)).await;
                    let after = after
                        .into_iter()
                        .filter(|(version, _)| *version > resume_at);
                    assert_eq!(rest, after.collect::<Vec<_>>());
                }
                Told::Durable { version, event } => told.push((version, event.tag().to_owned())),
                _ => {}
            }
        }
        assert_eq!(lagged, 1);
        let all = durable(&session, Version(0)).await;
        assert_eq!(told, all[all.len() - told.len()..]);
        assert_eq!(
            told.last().map(|(_, name)| name.as_str()),
            Some("chat_completed")
        );
    }
}

/// Counts how often the journal is read.
#[derive(Default)]
struct Loads(std::sync::atomic::AtomicUsize);

impl Rule for Loads {
    fn judge<'a>(&'a self, call: &'a Call) -> allm::BoxFuture<'a, Fate> {
        if call.op == Op::Load {
            self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
        Box::pin(async { Fate::Done })
    }
}

/// S50: every live event has its place: the turn, the attempt and its number there. None is missing to one who keeps up,
/// and the journal is not read again for each of them.
#[tokio::test(start_paused = true)]
async fn s50_live_events_have_their_place() {
    const DELTAS: usize = 600;
    for ground in paused() {
        let loads = Arc::new(Loads::default());
        let here = sessions(&Wrapped::around(ground.machine(0), "a", &loads));
        let long = Script::new().chunks((0..DELTAS).map(|number| number.to_string()));
        let broken = Script::new().text("lost").hang();
        let fake = allm::Fake::new()
            .reply(Script::new().call(ONCE, serde_json::json!({})))
            .reply(broken)
            .reply(long);
        let gates = Gates::default();
        let engine = World::default().engine("a", Some(&gates), &fake);
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        let mut events = session.events(Version(0));
        let mut other = here.open("s").await.expect("opened");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        // It listens from the first tool on.
        while gates.waiting().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        while events.next_ready().await.expect("read").is_some() {}
        gates.open_all();
        let mut places = Vec::new();
        let mut deltas = 0;
        let mut is_interrupted = false;
        let before = loads.0.load(std::sync::atomic::Ordering::SeqCst);
        loop {
            match events.next().await.expect("read") {
                Told::Live(live) => {
                    if matches!(live.event, Event::TextDelta(_)) {
                        deltas += 1;
                        if !std::mem::replace(&mut is_interrupted, true) {
                            let sent = other.send("Wait!", Delivery::Interrupt).await;
                            sent.expect("sent");
                        }
                    }
                    if matches!(live.event, Event::AttemptReset(_)) {
                        assert_eq!((live.turn, live.attempt, live.seq), (2, 2, 1));
                    }
                    places.push((live.turn, live.attempt, live.seq));
                }
                Told::Durable {
                    event: Event::ChatCompleted(_),
                    ..
                } => break,
                told => assert!(!matches!(told, Told::Lagged { .. })),
            }
        }
        run.await.expect("no panic").expect("done");
        assert_eq!(deltas, DELTAS + 1);
        for attempt in [(2, 1), (2, 2)] {
            let of_attempt = places.iter().filter(|place| (place.0, place.1) == attempt);
            let numbers: Vec<u64> = of_attempt.map(|place| place.2).collect();
            let all: Vec<u64> = (1..=numbers.len() as u64).collect();
            assert_eq!(numbers, all, "{attempt:?}");
        }
        assert!(places.is_sorted(), "{places:?}");
        let loads = loads.0.load(std::sync::atomic::Ordering::SeqCst) - before;
        assert!(loads < 40, "{loads} reads for {DELTAS} deltas");
    }
}

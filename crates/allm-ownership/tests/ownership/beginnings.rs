//! S: how a run begins, and what it asks of its store.

use std::sync::Arc;
use std::time::Duration;

use allm::session::{Delivery, EntryBody};
use allm::{
    DeleteIf, Event, Fake, HaltReason, LoadFrom, Script, SessionError, SessionId, SessionReason,
    SessionStatus, Sessions, SessionsOptions, StoreReason, Takeover, Timestamp, Told, ToolReply,
    Version, WriterId,
};
use allm_store::Clock;
use serde_json::{Value, json};

use crate::owners::tool;
use crate::support::asked::{Asked, anew, is_free, is_over};
use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::outage::Outage;
use crate::support::stores::{clocked, memory, paused, sessions};
use crate::support::world::{IDEMPOTENT, ONCE, World, model};
use crate::support::wrapped::{Op, Wrapped};

/// Whether a run was begun is not known.
fn is_in_hand(error: &SessionError, place: &str) {
    let reason = error.store_reason();
    assert_eq!(reason, Some(StoreReason::Unavailable), "{place}");
    let kinds: Vec<_> = error.unsaved.iter().map(EntryBody::kind).collect();
    assert_eq!(kinds, ["user_message", "run_started"], "{place}");
}

/// S209: in memory hints come, and a driver that looked after each of its writes would be seen to.
#[tokio::test(start_paused = true)]
async fn s209_a_run_is_four_appends_of_which_the_first_takes_the_session() {
    for ground in paused() {
        let rule = Asked::default();
        let here = sessions(&rule.around(ground.machine(0)));
        let engine = World::default().engine("a", None, &model(&[IDEMPOTENT]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        rule.take();
        session.reply(&engine, "Go").await.expect("done");
        let expected = [
            "Append acquire+user_message+run_started",
            "Append model_responded+calls_planned+tool_intent",
            "Append tool_outcome",
            "Append model_responded+release",
        ];
        assert_eq!(rule.take(), expected, "{}", ground.name);
        is_over(&**ground.machine(0), ground.name).await;
        // The next one finds the session as this one left it.
        session.reply(&engine, "Go").await.expect("done");
        assert_eq!(rule.take()[..1], expected[..1], "{}", ground.name);
    }
}

/// S209: who has not heard of the store's time for a while takes the session first.
#[tokio::test(start_paused = true)]
async fn s209_who_does_not_know_the_time_takes_the_session_first() {
    for ground in paused() {
        let rule = Asked::default();
        let here = sessions(&rule.around(ground.machine(0)));
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let apart = ["Acquire ", "Append user_message+run_started"];
        let at_once = ["Append acquire+user_message+run_started"];
        sessions(ground.machine(0))
            .create("s")
            .await
            .expect("created");
        let mut session = here.open("s").await.expect("opened");
        rule.take();
        for (age, expected) in [(0, &apart[..]), (9_900, &at_once), (10_100, &apart)] {
            tokio::time::sleep(Duration::from_millis(age)).await;
            session.reply(&engine, "Go").await.expect("done");
            let asked = rule.take();
            assert_eq!(asked[..expected.len()], *expected, "{} {age}", ground.name);
            is_free(&**ground.machine(0), ground.name).await;
        }
    }
}

/// S209: what a handle that is older than the session would begin is not written.
#[tokio::test(start_paused = true)]
async fn s209_nothing_is_begun_from_an_old_view() {
    for ground in paused() {
        let store = ground.machine(0);
        let here = sessions(store);
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut old = here.create("s").await.expect("created");
        let mut session = here.open("s").await.expect("opened");
        session.reply(&engine, "Go").await.expect("done");
        let before = is_free(&**store, ground.name).await;
        let error = old.reply(&engine, "Old").await.expect_err("it is old");
        assert_eq!(error.reason, SessionReason::Conflict, "{}", ground.name);
        assert_eq!(
            is_free(&**store, ground.name).await,
            before,
            "{}",
            ground.name
        );
        old.reload().await.expect("read again");
        old.reply(&engine, "New").await.expect("done");
    }
}

/// S110, S209: the answer to the write that begins a run is lost, also when it is asked again, and it is begun once.
#[tokio::test(start_paused = true)]
async fn s209_a_beginning_whose_answer_was_lost_is_done_once() {
    for ground in paused() {
        // Once it is seen who holds the lease, it is asked by force: nobody but this one can have got it.
        for (lost, asked) in [(1, 3), (3, 4)] {
            let rule = Asked::default();
            let here = sessions(&rule.around(ground.machine(0)));
            let engine = World::default().engine("a", None, &model(&[]));
            let engine = engine.build().expect("an engine");
            let mut session = anew(&here).await;
            rule.take();
            rule.lose("acquire", lost);
            session.reply(&engine, "Go").await.expect("done");
            let begins = |call: &&String| call.starts_with("Append acquire");
            let count = rule.take().iter().filter(begins).count();
            assert_eq!(count, asked, "{}", ground.name);
            // Made, begun with two, and ended.
            assert_eq!(session.version().0, 4, "{}", ground.name);
            assert_eq!(session.thread().len(), 2, "{}", ground.name);
            is_over(&**ground.machine(0), ground.name).await;
        }
    }
}

/// S193, S209: a store whose answers do not come for longer than is waited for. Whether the run was begun is not known, so
/// what was to be written is in hand; it was, and who comes later goes on with it.
#[tokio::test(start_paused = true)]
async fn s209_a_beginning_that_nobody_answers_is_in_hand() {
    let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).expect("a time"));
    for ground in clocked(&clock) {
        let rule = Asked::default();
        let here = sessions(&rule.around(ground.machine(0)));
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        rule.lose("acquire", usize::MAX);
        let error = session.reply(&engine, "Go").await.expect_err("no answer");
        is_in_hand(&error, ground.name);
        rule.lose("acquire", 0);
        // The lease that nobody knows of runs out.
        clock.advance(Duration::from_secs(31));
        let there = sessions(ground.machine(1));
        let recovered = there.recover(&engine).await.expect("listed");
        assert_eq!(recovered.len(), 1, "{}", ground.name);
        let session = there.open("s").await.expect("opened");
        assert_eq!(session.thread().len(), 2, "{}", ground.name);
    }
}

/// S129, S165, S209: what others say while nobody here knows that the run was begun is met like anything said later.
#[tokio::test(start_paused = true)]
async fn s209_others_speak_while_the_answer_to_the_beginning_is_lost() {
    for ground in paused() {
        for is_cancelled in [false, true] {
            let rule = Asked::default();
            let here = sessions(&rule.around(ground.machine(0)));
            let fake = model(&[]);
            let engine = World::default().engine("a", None, &fake);
            let engine = engine.build().expect("an engine");
            let mut session = anew(&here).await;
            let there = sessions(ground.machine(1));
            rule.lose_and("acquire", async move {
                let mut other = there.open("s").await.expect("opened");
                if is_cancelled {
                    other.cancel("enough").await.expect("told");
                } else {
                    let sent = other.send("And this", Delivery::Interrupt).await;
                    sent.expect("sent");
                }
            });
            let result = session.reply(&engine, "Go").await.expect("it is his");
            let store = ground.machine(0);
            let loaded = store
                .load(session.id(), LoadFrom::Snapshot)
                .await
                .expect("loaded");
            assert_eq!(loaded.head.lease, None, "{}", ground.name);
            let journal = Journal::read(ground.machine(0), "s").await;
            assert_eq!(journal.count("run_started"), 1, "{}", ground.name);
            if is_cancelled {
                assert_eq!(result.halted_reason, HaltReason::Cancelled);
                fake.assert_calls(0);
            } else {
                assert_eq!(result.halted_reason, HaltReason::Completed);
                let request = &fake.calls()[0].request;
                assert_eq!(request.messages.len(), 2, "{}", ground.name);
                assert_eq!(loaded.head.status, SessionStatus::Completed);
            }
        }
    }
}

/// S193, S209: the same, and the store cannot be read. What may be written is in hand, and a lease that is known of is given
/// back.
#[tokio::test(start_paused = true)]
async fn s209_a_beginning_that_cannot_be_gone_on_with_is_in_hand() {
    for ground in paused() {
        // Whose lease it is, and then what was said.
        for reads in [0, 1] {
            let rule = Asked::default();
            let here = sessions(&rule.around(ground.machine(0)));
            let fake = model(&[]);
            let engine = World::default().engine("a", None, &fake);
            let engine = engine.build().expect("an engine");
            let mut session = anew(&here).await;
            let (there, later) = (sessions(ground.machine(1)), rule.clone());
            rule.lose_and("acquire", async move {
                let mut other = there.open("s").await.expect("opened");
                let sent = other.send("And this", Delivery::NextTurn).await;
                sent.expect("sent");
                later.refuse_after(reads, Op::Load);
            });
            let error = session.reply(&engine, "Go").await.expect_err("not read");
            is_in_hand(&error, ground.name);
            fake.assert_calls(0);
            let there = sessions(ground.machine(1));
            let mut session = there.open("s").await.expect("opened");
            let resumed = session.resume(&engine).await;
            if reads == 0 {
                let error = resumed.expect_err("a lease that nobody knows of");
                assert_eq!(error.reason, SessionReason::Busy, "{}", ground.name);
            } else {
                let result = resumed.expect("free, and goes on");
                assert_eq!(result.halted_reason, HaltReason::Completed);
            }
            let journal = Journal::read(ground.machine(1), "s").await;
            assert_eq!(journal.count("run_started"), 1, "{}", ground.name);
        }
    }
}

/// S190: who waited for another to take the session begins nothing when that one left because of the shutdown.
#[tokio::test(start_paused = true)]
async fn s190_nothing_is_begun_by_who_waited_while_a_process_shuts_down() {
    for ground in paused() {
        let rule = Asked::default();
        let here = sessions(&rule.around(ground.machine(0)));
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut first = here.create("s").await.expect("created");
        let mut second = here.open("s").await.expect("opened");
        rule.refuse_after(0, Op::Append);
        let first = async { first.reply(&engine, "One").await };
        let second = async { second.reply(&engine, "Two").await };
        let shutdown = async {
            // Nobody has asked since it can be done again.
            tokio::time::sleep(Duration::from_millis(300)).await;
            rule.allow();
            here.shutdown(Duration::ZERO).await
        };
        let (first, second, _) = tokio::join!(first, second, shutdown);
        let reasons = [first, second].map(|result| result.expect_err("not begun").reason);
        assert_eq!(reasons, [SessionReason::Store, SessionReason::Busy]);
        let journal = Journal::read(ground.machine(0), "s").await;
        assert_eq!(journal.kinds(), ["created"], "{}", ground.name);
    }
}

/// S125, S209: somebody else went on with the run before anyone here knew that it was begun.
#[tokio::test(start_paused = true)]
async fn s209_a_beginning_that_another_went_on_with_is_lost() {
    let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).expect("a time"));
    for ground in clocked(&clock) {
        for is_over in [false, true] {
            let rule = Asked::default();
            let here = sessions(&rule.around(ground.machine(0)));
            let fake = model(&[]);
            let engine = World::default().engine("a", None, &fake);
            let engine = engine.build().expect("an engine");
            let mut session = anew(&here).await;
            let id = session.id().clone();
            let (clock, other, theirs) = (clock.clone(), engine.clone(), ground.machine(1).clone());
            rule.lose_and("acquire", async move {
                clock.advance(Duration::from_secs(31));
                if is_over {
                    let there = sessions(&theirs);
                    there.recover(&other).await.expect("listed");
                } else {
                    let holder = WriterId::from("b");
                    let ttl = Duration::from_secs(30);
                    let taken = theirs.acquire(&id, &holder, ttl, Takeover::IfExpired);
                    taken.await.expect("taken");
                }
            });
            let error = session.reply(&engine, "Go").await.expect_err("not his");
            assert_eq!(
                error.reason,
                SessionReason::LostOwnership,
                "{}",
                ground.name
            );
            assert_eq!(error.unsaved, [], "{}: it is all there", ground.name);
            fake.assert_calls(usize::from(is_over));
            let journal = Journal::read(ground.machine(0), "s").await;
            assert_eq!(journal.count("run_started"), 1, "{}", ground.name);
        }
    }
}

/// S124: another took the session before anything of it was written.
#[tokio::test(start_paused = true)]
async fn s124_nothing_is_begun_under_the_lease_of_another() {
    for ground in paused() {
        let rule = Arc::new(Outage::default());
        let here = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        let id: SessionId = "s".parse().expect("an id");
        rule.begin(Duration::from_secs(1));
        let theirs = ground.machine(1);
        let reply = async { session.reply(&engine, "Go").await };
        let take = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let (holder, ttl) = (WriterId::from("b"), Duration::from_secs(30));
            let taken = theirs.acquire(&id, &holder, ttl, Takeover::IfExpired);
            taken.await.expect("taken")
        };
        let (error, _) = tokio::join!(reply, take);
        let error = error.expect_err("it is taken");
        assert_eq!(error.reason, SessionReason::Busy, "{}", ground.name);
        assert_eq!(error.unsaved, [], "{}", ground.name);
        let journal = Journal::read(ground.machine(0), "s").await;
        assert_eq!(journal.kinds(), ["created"], "{}", ground.name);
    }
}

/// S167: whether a wait is over is asked of the store's clock, and not of what this machine makes of it.
#[tokio::test(start_paused = true)]
async fn s167_a_wait_that_is_over_by_the_clock_of_the_store_is_over() {
    let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).expect("a time"));
    for ground in clocked(&clock) {
        let here = sessions(ground.machine(0));
        let calls = Script::new().call("ask", json!({}));
        let fake = Fake::new().reply(calls).reply("It is late.");
        let engine = World::default().engine("a", None, &fake);
        let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
        let engine = engine.tool(ask).wait_expiry(Duration::from_secs(60));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("it waits");
        // This machine slept: its steady clock stood still.
        clock.advance(Duration::from_secs(61));
        let result = session.reply(&engine, "Well?").await;
        let result = result.expect("nothing is waited for any more");
        assert_eq!(
            result.halted_reason,
            HaltReason::Completed,
            "{}",
            ground.name
        );
        let journal = Journal::read(ground.machine(0), "s").await;
        assert_eq!(journal.count("expired"), 1, "{}", ground.name);
    }
}

/// S167: what this machine makes of the store's clock is wrong, and the entries have the time of the store all the same.
#[tokio::test(start_paused = true)]
async fn s167_what_begins_a_run_has_the_time_of_the_store() {
    let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).expect("a time"));
    for ground in clocked(&clock) {
        let rule = Asked::default();
        let here = sessions(&rule.around(ground.machine(0)));
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        rule.take();
        for (sleeps, asked) in [(900, 2), (1_100, 3), (1_100, 3)] {
            clock.advance(Duration::from_millis(sleeps));
            let before = ground.machine(0).now().await.expect("a time");
            session.reply(&engine, "Go").await.expect("done");
            assert_eq!(rule.take().len(), asked, "{} {sleeps}", ground.name);
            let last = session.updated_at().expect("a time").as_millis();
            let away = before.as_millis() - last;
            assert!(
                (0..=1000).contains(&away),
                "{} {sleeps}: {away}",
                ground.name
            );
            if asked == 3 {
                assert_eq!(away, 0, "{}", ground.name);
            }
        }
    }
}

/// S208: a run whose first append is its last.
#[tokio::test(start_paused = true)]
async fn s208_a_recovery_that_gives_up_ends_with_one_write() {
    let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000).expect("a time"));
    for ground in clocked(&clock) {
        let mut options = SessionsOptions::default();
        options.max_recoveries = 1;
        let rule = Asked::default();
        let here = Sessions::with(rule.around(ground.machine(0)), options);
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        // Begun, and nobody knows.
        rule.lose("acquire", usize::MAX);
        session.reply(&engine, "Go").await.expect_err("no answer");
        rule.lose("acquire", 0);
        clock.advance(Duration::from_secs(31));
        // The time of the store is known again.
        here.create("other").await.expect("created");
        session.reload().await.expect("read");
        rule.take();
        let result = session.resume(&engine).await.expect("a result");
        assert_eq!(result.halted_reason, HaltReason::Error, "{}", ground.name);
        let expected = ["Acquire ", "Append recovered+release"];
        assert_eq!(rule.take(), expected, "{}", ground.name);
    }
}

/// S194: a session was deleted and another made under its id, which is driven here. Whoever still has the old one does not
/// take the lease of the new.
#[tokio::test(start_paused = true)]
async fn s194_an_old_handle_does_not_fence_the_driver_of_another_session_of_its_id() {
    for ground in paused() {
        let here = sessions(ground.machine(0));
        let (gates, world) = (Gates::default(), World::default());
        let engine = world.engine("a", Some(&gates), &model(&[ONCE]));
        let engine = engine.build().expect("an engine");
        let mut old = here.create("s").await.expect("created");
        let id = "s".parse().expect("an id");
        here.delete(&id, DeleteIf::Any).await.expect("deleted");
        let mut session = here.create("s").await.expect("created");
        let other = engine.clone();
        let run = tokio::spawn(async move { session.reply(&other, "Go").await });
        while gates.waiting().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let error = old.reply(&engine, "Go").await.expect_err("it is gone");
        let lost = SessionReason::LostOwnership;
        assert_eq!(error.reason, lost, "{}", ground.name);
        gates.open_all();
        run.await.expect("no panic").expect("it is his");
        let error = old.reply(&engine, "Go").await.expect_err("it is gone");
        assert_eq!(error.reason, lost, "{}", ground.name);
        world.assert_counts(&[ONCE], ground.name);
    }
}

/// S51: whoever is told of the beginning of a run finds where its deltas are told, also when the answer to the beginning
/// was lost. In memory, where a look takes no time.
#[tokio::test(start_paused = true)]
async fn s51_no_delta_is_missing_to_one_who_heard_of_the_beginning() {
    let ground = memory();
    let rule = Asked::default();
    let here = sessions(&rule.around(ground.machine(0)));
    let fake = Fake::new().reply(Script::new().chunks(["a", "b", "c"]));
    let engine = World::default().engine("a", None, &fake);
    let engine = engine.build().expect("an engine");
    let mut session = here.create("s").await.expect("created");
    let mut events = session.events(Version(0));
    while events.next_ready().await.expect("read").is_some() {}
    rule.lose("acquire", 1);
    let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
    let mut text = String::new();
    loop {
        match events.next().await.expect("read") {
            Told::Live(live) => {
                if let Event::TextDelta(delta) = &live.event {
                    text.push_str(&delta.delta);
                }
            }
            Told::Durable {
                event: Event::ChatCompleted(_),
                ..
            } => break,
            _ => {}
        }
    }
    run.await.expect("no panic").expect("done");
    assert_eq!(text, "abc", "{}", ground.name);
}

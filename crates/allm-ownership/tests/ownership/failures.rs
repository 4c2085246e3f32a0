//! N: stores that are full, gone, or cut off.

use std::sync::Arc;
use std::time::Duration;

use allm::session::EntryBody;
use allm::{
    DurableSession, Engine, Event, Fake, SessionError, SessionReason, SessionStatus, Sessions,
    SessionsOptions, StoreReason,
};

use crate::support::faults::Faults;
use crate::support::journal::Journal;
use crate::support::stores::{Ground, Store, memory, paused, sessions};
use crate::support::world::{ALL, World, model};
use crate::support::wrapped::{Fate, Wrapped};

/// A session of a machine whose store fails so.
struct Case {
    id: String,
    store: Store,
    world: World,
    fake: Fake,
    engine: Engine,
    faults: Faults,
    machine: Sessions,
    session: DurableSession,
}

async fn case(faults: Faults, retry_for: Duration) -> Case {
    case_in(&memory(), "s", faults, retry_for).await
}

async fn case_in(ground: &Ground, id: &str, faults: Faults, retry_for: Duration) -> Case {
    let store = Arc::clone(ground.machine(0));
    let world = World::default();
    let fake = model(&ALL);
    let engine = world.engine("a", None, &fake).build().expect("an engine");
    let mut options = SessionsOptions::default();
    options.retry_for = retry_for;
    let machine = Sessions::with(
        Wrapped::around(&store, "a", &Arc::new(faults.clone())),
        options,
    );
    let session = machine.create(id).await.expect("created");
    Case {
        id: id.to_owned(),
        store,
        world,
        fake,
        engine,
        faults,
        machine,
        session,
    }
}

/// How many appends a run takes, and the kinds of its entries.
async fn undisturbed() -> (usize, Vec<&'static str>) {
    let mut case = case(Faults::none(), Duration::ZERO).await;
    case.session.reply(&case.engine, "Go").await.expect("done");
    let kinds = Journal::read(&case.store, &case.id).await.kinds();
    (case.faults.appends(), kinds)
}

fn store_reason(error: &SessionError) -> Option<StoreReason> {
    error.store.as_ref().map(|error| error.reason)
}

/// Nothing was begun without its intent, and the model was asked only about what is stored.
async fn assert_nothing_ahead(case: &Case) {
    let journal = Journal::read(&case.store, &case.id).await;
    let intended = |tool: &str| {
        let of_tool = |body: &&EntryBody| matches!(body, EntryBody::ToolIntent(intent) if intent.tool == tool);
        journal.bodies().filter(of_tool).count()
    };
    for tool in &ALL[1..] {
        assert!(
            case.world.entered(tool) as usize <= intended(tool),
            "{tool}"
        );
    }
    let turns = journal.count("run_started").min(1) + journal.count("model_responded");
    assert!(case.fake.calls().len() <= turns);
}

/// The run has ended as it should, whatever came between.
async fn assert_ended(case: &Case, place: &str) {
    let journal = Journal::read(&case.store, &case.id).await;
    journal.assert_one_outcome_each();
    assert_eq!(
        journal.session.status(),
        SessionStatus::Completed,
        "{place}"
    );
    assert_eq!(journal.count("user_message"), 1, "{place}");
    case.world.assert_counts(&ALL, place);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    Save,
    Resume,
}

/// S163
#[tokio::test(start_paused = true)]
async fn s163_full_at_every_append_then_saved_or_resumed() {
    let (appends, _) = undisturbed().await;
    assert!(appends > 5);
    for after in [After::Save, After::Resume] {
        for at in 0..appends {
            let place = format!("append {at}, {after:?}");
            let full = Fate::Refused(StoreReason::Full);
            let mut case = case(Faults::from(at, full), Duration::from_secs(3)).await;
            let error = case.session.reply(&case.engine, "Go").await.unwrap_err();
            assert_eq!(error.reason, SessionReason::Store, "{place}");
            assert_eq!(store_reason(&error), Some(StoreReason::Full), "{place}");
            assert!(!error.unsaved.is_empty(), "{place}");
            let stored = Journal::read(&case.store, &case.id).await;
            assert_eq!(*case.session, stored.session, "{place}");
            assert_nothing_ahead(&case).await;
            case.faults.heal();
            if after == After::Save {
                case.session.save(error.unsaved).await.expect(&place);
            }
            if at == 0 && after == After::Resume {
                // Nothing of it was stored, so there is nothing to go on with.
                case.session.reply(&case.engine, "Go").await.expect(&place);
            } else if case.session.status() == SessionStatus::InProgress {
                case.session.resume(&case.engine).await.expect(&place);
            }
            assert_ended(&case, &place).await;
        }
    }
}

/// S165
#[tokio::test(start_paused = true)]
async fn s165_cut_between_commit_and_reply_at_every_append() {
    let (appends, kinds) = undisturbed().await;
    for ground in paused() {
        for at in 0..appends {
            let lost = Fate::Lost(StoreReason::Unavailable);
            let mut case = case_in(
                &ground,
                &format!("s{at}"),
                Faults::once(at, lost),
                Duration::from_secs(30),
            )
            .await;
            case.session.reply(&case.engine, "Go").await.expect("done");
            let journal = Journal::read(&case.store, &case.id).await;
            let (mut found, mut wanted) = (journal.kinds(), kinds.clone());
            // Calls end in any order.
            found.sort_unstable();
            wanted.sort_unstable();
            assert_eq!(found, wanted, "append {at}");
            assert_ended(&case, &format!("{} append {at}", ground.name)).await;
            for tool in ALL {
                assert_eq!(case.world.entered(tool), 1, "append {at}");
            }
        }
    }
}

/// S165: a submitter's, too.
#[tokio::test(start_paused = true)]
async fn s165_a_message_whose_reply_was_lost_is_there_once() {
    let lost = Fate::Lost(StoreReason::Unavailable);
    let mut case = case(Faults::once(0, lost), Duration::from_secs(30)).await;
    let sent = case.session.send("Hi", allm::session::Delivery::NextTurn);
    sent.await.expect("sent");
    let journal = Journal::read(&case.store, &case.id).await;
    assert_eq!(journal.kinds(), ["created", "user_message"]);
}

/// S165: an acquisition, too.
#[tokio::test(start_paused = true)]
async fn s165_a_lease_whose_reply_was_lost_is_not_in_the_way() {
    struct LostLease(std::sync::atomic::AtomicBool);
    impl crate::support::wrapped::Rule for LostLease {
        fn judge<'a>(
            &'a self,
            call: &'a crate::support::wrapped::Call,
        ) -> allm::BoxFuture<'a, Fate> {
            use crate::support::wrapped::Op;
            use std::sync::atomic::Ordering;
            let lost = call.op == Op::Acquire && !self.0.swap(true, Ordering::SeqCst);
            Box::pin(async move {
                if lost {
                    Fate::Lost(StoreReason::Unavailable)
                } else {
                    Fate::Done
                }
            })
        }
    }
    let ground = memory();
    let rule = Arc::new(LostLease(std::sync::atomic::AtomicBool::new(false)));
    let machine = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
    let engine = World::default().engine("a", None, &model(&[]));
    let engine = engine.build().expect("an engine");
    let mut session = machine.create("s").await.expect("created");
    session
        .reply(&engine, "Go")
        .await
        .expect("the lease is ours");
}

/// S164
#[tokio::test(start_paused = true)]
async fn s164_gone_for_less_than_thirty_seconds_at_every_append() {
    let (appends, kinds) = undisturbed().await;
    for seconds in [1, 15, 29] {
        for at in 0..appends {
            let place = format!("{seconds} s at append {at}");
            let faults = Faults::outage(at, Duration::from_secs(seconds));
            let mut case = case(faults, Duration::from_secs(30)).await;
            case.session.reply(&case.engine, "Go").await.expect(&place);
            assert!(case.faults.has_begun(), "{place}");
            let journal = Journal::read(&case.store, &case.id).await;
            assert_eq!(journal.entries.len(), kinds.len(), "{place}");
            assert_ended(&case, &place).await;
            for tool in ALL {
                assert_eq!(case.world.entered(tool), 1, "{place}");
            }
        }
    }
}

/// S164
#[tokio::test(start_paused = true)]
async fn s164_gone_for_longer_keeps_what_the_tools_gave() {
    let (appends, _) = undisturbed().await;
    for at in 0..appends {
        let place = format!("append {at}");
        let faults = Faults::outage(at, Duration::from_secs(45));
        let mut case = case(faults, Duration::from_secs(30)).await;
        let error = case.session.reply(&case.engine, "Go").await.unwrap_err();
        assert_eq!(error.reason, SessionReason::Store, "{place}");
        assert_eq!(store_reason(&error), Some(StoreReason::Unavailable));
        assert_nothing_ahead(&case).await;
        let stored = Journal::read(&case.store, &case.id).await;
        let outcomes = stored.count("tool_outcome")
            + error
                .unsaved
                .iter()
                .filter(|body| body.kind() == "tool_outcome")
                .count();
        let entered: u32 = ALL.iter().map(|tool| case.world.entered(tool)).sum();
        assert_eq!(outcomes, entered as usize, "{place}: {:?}", error.unsaved);
        case.faults.heal();
        case.session.save(error.unsaved).await.expect(&place);
        if case.session.status() == SessionStatus::InProgress {
            case.session.resume(&case.engine).await.expect(&place);
        }
        assert_ended(&case, &place).await;
        for tool in ALL {
            assert_eq!(case.world.entered(tool), 1, "{place}");
        }
    }
}

/// S166
#[tokio::test(start_paused = true)]
async fn s166_saved_after_another_took_over() {
    let (appends, _) = undisturbed().await;
    for ground in paused() {
        for at in 0..appends {
            let place = format!("{} append {at}", ground.name);
            let full = Fate::Refused(StoreReason::Full);
            let mut case = case_in(
                &ground,
                &format!("s{at}"),
                Faults::from(at, full),
                Duration::ZERO,
            )
            .await;
            let error = case.session.reply(&case.engine, "Go").await.unwrap_err();
            let late = error
                .unsaved
                .iter()
                .filter(|body| body.kind() == "tool_outcome")
                .count();
            let other = sessions(&case.store);
            let mut taken_over = other.open(case.id.as_str()).await.expect("opened");
            if at == 0 {
                taken_over.reply(&case.engine, "Go").await.expect(&place);
            } else {
                taken_over.resume(&case.engine).await.expect(&place);
            }
            case.faults.heal();
            let error = case.session.save(error.unsaved).await.unwrap_err();
            assert_eq!(error.reason, SessionReason::LostOwnership, "{place}");
            let journal = Journal::read(&case.store, &case.id).await;
            assert_eq!(journal.count("late_outcome"), late, "{place}");
            assert_ended(&case, &place).await;
            assert!(!case.machine.writer().as_str().is_empty());
        }
    }
}

/// S164, S165: an append that was thought to be lost and was not.
#[tokio::test(start_paused = true)]
async fn s165_what_is_there_already_is_not_saved_twice() {
    let (appends, _) = undisturbed().await;
    for at in 0..appends {
        let place = format!("append {at}");
        let lost = Fate::Lost(StoreReason::Unavailable);
        let mut case = case(Faults::from(at, lost), Duration::ZERO).await;
        let error = case.session.reply(&case.engine, "Go").await.unwrap_err();
        case.faults.heal();
        case.session.save(error.unsaved).await.expect(&place);
        case.session.reload().await.expect("read");
        if case.session.status() == SessionStatus::InProgress {
            case.session.resume(&case.engine).await.expect(&place);
        }
        assert_ended(&case, &place).await;
    }
}

/// S46
#[tokio::test(start_paused = true)]
async fn s46_a_failing_store_completes_nothing() {
    let (appends, _) = undisturbed().await;
    for ground in paused() {
        for at in 0..appends {
            let gone = Fate::Refused(StoreReason::Unavailable);
            let mut case = case_in(
                &ground,
                &format!("s{at}"),
                Faults::from(at, gone),
                Duration::ZERO,
            )
            .await;
            let mut stream = case.session.reply(&case.engine, "Go").stream();
            let mut last = None;
            while let Some(event) = stream.next().await {
                assert!(!matches!(event, Event::ChatCompleted(_)), "append {at}");
                last = Some(event);
            }
            assert!(matches!(last, Some(Event::Error(_))), "{last:?}");
            let error = stream.finish().await.unwrap_err();
            assert_eq!(error.reason, SessionReason::Store);
        }
    }
}

/// A store that never answers does not hold a driver for ever.
#[tokio::test(start_paused = true)]
async fn s164_a_store_that_hangs_is_a_store_that_is_gone() {
    let (appends, _) = undisturbed().await;
    for at in 0..appends {
        let mut case = case(Faults::death(at), Duration::from_secs(30)).await;
        let error = case.session.reply(&case.engine, "Go").await.unwrap_err();
        assert_eq!(store_reason(&error), Some(StoreReason::Unavailable));
        assert!(!error.unsaved.is_empty(), "append {at}");
    }
}

//! N: clocks that jump.

use std::sync::Arc;
use std::time::Duration;

use allm::{SessionReason, SessionStatus, Takeover, Timestamp};
use allm_store::{Clock, MemoryStore, SqliteStore};

use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::stores::{Store, folder, sessions};
use crate::support::world::{ALL, ONCE, World, model};

const DAY: i64 = 24 * 60 * 60 * 1000;
/// When these tests happen, by the clock of the store.
const NOON: i64 = 1_800_000_000_000;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis).expect("a time")
}

/// S167: the store's clock is a day ahead of this machine's, or behind; the entries follow it.
#[tokio::test(start_paused = true)]
async fn s167_entries_follow_the_clock_of_the_store() {
    let machine = {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        i64::try_from(now.expect("after 1970").as_millis()).expect("a time")
    };
    for ahead in [DAY, -DAY] {
        let clock = Clock::manual(at(machine + ahead));
        let store: Store = Arc::new(MemoryStore::with_clock(clock));
        let engine = World::default().engine("a", None, &model(&ALL));
        let engine = engine.build().expect("an engine");
        let mut session = sessions(&store).create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("done");
        for entry in Journal::read(&store, "s").await.entries {
            let off = entry.at.as_millis() - machine - ahead;
            assert!((0..60_000).contains(&off), "{} ms off", off);
        }
    }
}

/// S167: the clock of the store jumps while a driver works: it is followed, and times never go back.
#[tokio::test(start_paused = true)]
async fn s167_the_clock_of_the_store_jumps_in_mid_run() {
    for jump in [DAY, -DAY] {
        let clock = Clock::manual(at(NOON));
        let store: Store = Arc::new(MemoryStore::with_clock(clock.clone()));
        let (gates, world) = (Gates::default(), World::default());
        let engine = world.engine("a", Some(&gates), &model(&[ONCE]));
        let engine = engine.tool_timeout(Duration::from_secs(600));
        let engine = engine.build().expect("an engine");
        let mut session = sessions(&store).create("s").await.expect("created");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        while gates.waiting().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        clock.set(at(NOON + jump));
        // The next renewal tells the driver.
        tokio::time::sleep(Duration::from_secs(11)).await;
        gates.open_all();
        run.await.expect("no panic").expect("done");
        // Reading it checks that no time goes back.
        let journal = Journal::read(&store, "s").await;
        let last = journal.session.updated_at().expect("a time").as_millis();
        if jump > 0 {
            assert!(last >= NOON + DAY, "{last}");
        } else {
            assert!((NOON..NOON + 60_000).contains(&last), "{last}");
        }
    }
}

/// S168: forward past a lease.
#[tokio::test(flavor = "multi_thread")]
async fn s168_the_clock_of_sqlite_jumps_past_a_lease() {
    let folder = folder();
    let clock = Clock::manual(at(NOON));
    let options = SqliteStore::options().clock(clock.clone());
    let store = options.open(folder.join("sessions.db")).await;
    let store: Store = Arc::new(store.expect("a file"));
    let (gates, world) = (Gates::default(), World::default());
    let fake = model(&[ONCE]);
    let engine = world.engine("a", Some(&gates), &fake).build().unwrap();
    let mut session = sessions(&store).create("s").await.expect("created");
    let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
    crate::owners::until_waiting(&gates, 1).await;
    let second = world.engine("b", None, &fake).build().expect("an engine");
    let mut other = sessions(&store).open("s").await.expect("opened");
    let busy = other.resume(&second).await.unwrap_err();
    assert_eq!(busy.reason, SessionReason::Busy);
    clock.advance(Duration::from_secs(31));
    other.resume(&second).await.expect("it takes over");
    gates.open_all();
    let error = run.await.expect("no panic").unwrap_err();
    assert_eq!(error.reason, SessionReason::LostOwnership);
    let journal = Journal::read(&store, "s").await;
    assert_eq!(journal.session.status(), SessionStatus::Completed);
    journal.assert_one_outcome_each();
    assert_eq!(journal.count("late_outcome"), 1);
    world.assert_counts(&[ONCE], "overtaken");
    let _ = std::fs::remove_dir_all(folder);
}

/// S168: backward, a lease lasts longer than it should; who must not wait forces it.
#[tokio::test(flavor = "multi_thread")]
async fn s168_the_clock_of_sqlite_jumps_back() {
    let folder = folder();
    let clock = Clock::manual(at(NOON));
    let options = SqliteStore::options().clock(clock.clone());
    let store = options.open(folder.join("sessions.db")).await;
    let store: Store = Arc::new(store.expect("a file"));
    let (gates, world) = (Gates::default(), World::default());
    let fake = model(&[ONCE]);
    let engine = world.engine("a", Some(&gates), &fake).build().unwrap();
    let mut session = sessions(&store).create("s").await.expect("created");
    let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
    crate::owners::until_waiting(&gates, 1).await;
    clock.set(at(NOON - DAY));
    let second = world.engine("b", None, &fake).build().expect("an engine");
    let mut other = sessions(&store).open("s").await.expect("opened");
    let busy = other.resume(&second).await.unwrap_err();
    assert_eq!(busy.reason, SessionReason::Busy);
    let holder = allm::WriterId::from("an operator");
    let ttl = Duration::from_secs(30);
    let forced = store
        .acquire(other.id(), &holder, ttl, Takeover::Force)
        .await;
    store
        .release(forced.expect("given"))
        .await
        .expect("given back");
    other.resume(&second).await.expect("at once");
    gates.open_all();
    let error = run.await.expect("no panic").unwrap_err();
    assert_eq!(error.reason, SessionReason::LostOwnership);
    let journal = Journal::read(&store, "s").await;
    journal.assert_one_outcome_each();
    world.assert_counts(&[ONCE], "forced");
    let _ = std::fs::remove_dir_all(folder);
}

/// A driver whose lease ran out by its own clock stops, even if its store answers nothing.
#[tokio::test(start_paused = true)]
async fn s125_a_lease_that_cannot_be_renewed_ends_the_run() {
    use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};
    struct NoRenewal;
    impl Rule for NoRenewal {
        fn judge<'a>(&'a self, call: &'a Call) -> allm::BoxFuture<'a, Fate> {
            let fate = if call.op == Op::Renew {
                Fate::Hung
            } else {
                Fate::Done
            };
            Box::pin(async move { fate })
        }
    }
    let store: Store = Arc::new(MemoryStore::new());
    let (gates, world) = (Gates::default(), World::default());
    let fake = model(&[ONCE]);
    let engine = world.engine("a", Some(&gates), &fake);
    let engine = engine.tool_timeout(Duration::from_secs(600));
    let engine = engine.build().expect("an engine");
    let machine = sessions(&Wrapped::around(&store, "a", &Arc::new(NoRenewal)));
    let mut session = machine.create("s").await.expect("created");
    let began = tokio::time::Instant::now();
    let error = session.reply(&engine, "Go").await.unwrap_err();
    assert_eq!(error.reason, SessionReason::LostOwnership);
    let took = began.elapsed().as_secs();
    assert!((29..=36).contains(&took), "{took} s");
    fake.assert_calls(1);
    session.reload().await.expect("read");
    assert_eq!(session.status(), SessionStatus::InProgress);
}

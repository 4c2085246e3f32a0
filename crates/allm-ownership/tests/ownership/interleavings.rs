//! S123: two drivers, in every order of what they ask of the store.

use std::sync::{Arc, Mutex};

use allm::{SessionReason, SessionStatus};

use crate::support::explore::{Gone, Way, paused};
use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::stores::{Store, memory, sessions};
use crate::support::world::{ALL, IDEMPOTENT, ONCE, PURE, RECONCILE, World, model};
use crate::support::wrapped::Wrapped;

/// What a driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Reply,
    Resume,
}

/// How two drivers meet.
#[derive(Clone, Copy)]
struct Meeting {
    first: Does,
    second: Does,
    tools: &'static [&'static str],
    /// Whether each takes the lease, whoever has it.
    leases_run_out: bool,
    /// Whether a crash has left a run behind, with every tool begun.
    orphaned: bool,
    /// Whether a run ends with one write, and a lease tells the version.
    is_whole: bool,
}

type Ends = Arc<Mutex<Vec<(&'static str, Result<(), SessionReason>)>>>;

async fn drives(
    who: &'static str,
    does: Does,
    engine: allm::Engine,
    ends: Ends,
    mut session: allm::DurableSession,
) {
    let end = match does {
        Does::Reply => session.reply(&engine, format!("from {who}")).await,
        Does::Resume => session.resume(&engine).await,
    };
    let end = end.map(|_| ()).map_err(|error| error.reason);
    ends.lock().expect("not poisoned").push((who, end));
}

/// A session whose driver died when all handlers had been entered and none had come back.
pub(crate) async fn orphan(store: &Store, world: &World, tools: &[&str]) {
    let gates = Gates::default();
    let machine = sessions(store);
    let engine = world.engine("dead", Some(&gates), &model(tools));
    let engine = engine.build().expect("an engine");
    let mut session = machine.create("s").await.expect("created");
    let run = tokio::spawn(async move {
        let _ = session.reply(&engine, "from before").await;
    });
    while gates.waiting().len() < tools.len() {
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    run.abort();
    machine.shutdown(std::time::Duration::ZERO).await;
}

async fn meet(meeting: Meeting, way: &mut Way) -> Gone {
    let ground = memory();
    let store = ground.machine(0);
    let gates = Gates::of(meeting.leases_run_out, meeting.is_whole);
    let world = World::default();
    let model = model(meeting.tools);
    let ends = Ends::default();
    if meeting.orphaned {
        orphan(store, &world, meeting.tools).await;
    } else {
        sessions(store).create("s").await.expect("created");
    }
    let mut tasks = Vec::new();
    for (who, does) in [("a", meeting.first), ("b", meeting.second)] {
        let machine = sessions(&Wrapped::around(store, who, &Arc::new(gates.clone())));
        // What it sees is what there is before anyone begins.
        gates.flow(true);
        let opened = machine.open("s").await.expect("opened");
        gates.flow(false);
        let engine = world.engine(who, Some(&gates), &model);
        let engine = engine.build().expect("an engine");
        let ends = Arc::clone(&ends);
        tasks.push(tokio::spawn(drives(who, does, engine, ends, opened)));
    }
    let gone = way.go(&gates, &tasks).await;
    if gone == Gone::ToItsEnd {
        let place = gates.heard();
        for task in tasks {
            task.await.expect("no panic");
        }
        judge(meeting, store, &world, &model, &ends, &place).await;
    }
    gone
}

/// One lineage, the counts of S81, and a loser who knows that he is one.
async fn judge(
    meeting: Meeting,
    store: &Store,
    world: &World,
    model: &allm::Fake,
    ends: &Ends,
    place: &str,
) {
    let ends = ends.lock().expect("not poisoned").clone();
    let busy = [
        SessionReason::Busy,
        SessionReason::LostOwnership,
        // Who comes when nothing has begun, or when all is over, has nothing to do.
        SessionReason::NothingToResume,
        SessionReason::InvalidState,
        SessionReason::Conflict,
    ];
    for (who, end) in &ends {
        let does = if *who == "a" {
            meeting.first
        } else {
            meeting.second
        };
        if let Err(reason) = end {
            let right = match reason {
                SessionReason::Conflict | SessionReason::InvalidState => does == Does::Reply,
                SessionReason::NothingToResume => does == Does::Resume,
                other => busy.contains(other),
            };
            assert!(right, "{who} got {reason}: {place}");
        }
    }
    let winners = ends.iter().filter(|(_, end)| end.is_ok()).count();
    assert!(winners <= 1, "{ends:?}: {place}");
    let journal = Journal::read(store, "s").await;
    journal.assert_one_outcome_each();
    if journal.session.version().0 == 1 {
        return;
    }
    // Whatever was left unfinished can be finished by anyone.
    let last = sessions(store);
    let engine = world.engine("c", None, model).build().expect("an engine");
    let mut session = last.open("s").await.expect("opened");
    if session.status() == SessionStatus::InProgress {
        let end = session.resume(&engine).await;
        assert!(end.is_ok(), "{end:?}: {place}");
    }
    let journal = Journal::read(store, "s").await;
    journal.assert_one_outcome_each();
    assert_eq!(
        journal.session.status(),
        SessionStatus::Completed,
        "{place}"
    );
    let runs = journal.count("run_started");
    assert_eq!(runs, journal.count("user_message"), "{place}");
    world.assert_each_call(place);
    if runs == 1 {
        world.assert_counts(meeting.tools, place);
    }
}

fn every_way(meeting: Meeting) -> Way {
    let mut way = Way::default();
    loop {
        let runtime = paused();
        runtime.block_on(meet(meeting, &mut way));
        drop(runtime);
        if !way.turn() {
            return way;
        }
    }
}

const FRESH: Meeting = Meeting {
    first: Does::Reply,
    second: Does::Resume,
    tools: &ALL,
    leases_run_out: true,
    orphaned: false,
    is_whole: false,
};

#[test]
fn s123_a_reply_is_overtaken_by_a_resume() {
    for tools in [&[ONCE], &[IDEMPOTENT], &[RECONCILE], &[PURE]] {
        let way = every_way(Meeting { tools, ..FRESH });
        eprintln!("{tools:?}: {} places, {} ends", way.places(), way.ended);
        assert!(way.ended > 3);
    }
}

#[test]
fn s123_two_replies() {
    let way = every_way(Meeting {
        second: Does::Reply,
        tools: &[ONCE],
        ..FRESH
    });
    eprintln!("{} places, {} ends", way.places(), way.ended);
    assert!(way.ended > 10);
}

#[test]
fn s123_s124_with_live_leases() {
    let way = every_way(Meeting {
        tools: &[ONCE],
        leases_run_out: false,
        ..FRESH
    });
    eprintln!("{} places, {} ends", way.places(), way.ended);
    assert!(way.ended > 3);
}

#[test]
fn s123_two_recoveries_of_an_orphan() {
    for tools in [&[ONCE], &[IDEMPOTENT], &[RECONCILE], &[PURE]] {
        let way = every_way(Meeting {
            first: Does::Resume,
            second: Does::Resume,
            orphaned: true,
            tools,
            ..FRESH
        });
        eprintln!("{tools:?}: {} places, {} ends", way.places(), way.ended);
        assert!(way.ended > 3);
    }
}

/// The same with a store that ends a run with one write and tells the version with a lease.
#[test]
fn s123_s208_s209_with_a_store_that_has_all_of_it() {
    let whole = Meeting {
        is_whole: true,
        tools: &[ONCE],
        ..FRESH
    };
    let (reply, resume) = (Does::Reply, Does::Resume);
    for (first, second, leases_run_out, orphaned) in [
        (reply, resume, true, false),
        (reply, reply, true, false),
        (reply, resume, false, false),
        (resume, resume, true, true),
    ] {
        let way = every_way(Meeting {
            first,
            second,
            leases_run_out,
            orphaned,
            ..whole
        });
        eprintln!("{} places, {} ends", way.places(), way.ended);
        assert!(way.ended > 3);
    }
}

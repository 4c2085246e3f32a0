//! Q: recoveries that are broken off, and drivers that crash.

use std::sync::Arc;
use std::time::Duration;

use allm::session::Delivery;
use allm::{BoxFuture, SessionReason, SessionStatus, Sessions, StoreReason};
use tokio::time::{sleep, timeout};

use crate::interleavings::orphan;
use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::stores::{Ground, memory, sessions};
use crate::support::world::{IDEMPOTENT, World, model};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// Something to go on with, in as many sessions.
async fn waiting(machine: &Sessions, count: usize) {
    for number in 0..count {
        let session = machine.create(format!("s{number:03}")).await;
        let mut session = session.expect("created");
        session.send("Go", Delivery::NextTurn).await.expect("sent");
    }
}

async fn completed(ground: &Ground, count: usize) -> usize {
    let mut completed = 0;
    for number in 0..count {
        let journal = Journal::read(ground.machine(1), &format!("s{number:03}")).await;
        completed += usize::from(journal.session.status() == SessionStatus::Completed);
    }
    completed
}

/// S192: in the middle of a tool.
#[tokio::test(start_paused = true)]
async fn s192_a_recovery_that_nobody_waits_for_goes_on() {
    let (ground, world, gates) = (memory(), World::default(), Gates::default());
    orphan(ground.machine(1), &world, &[IDEMPOTENT]).await;
    let fake = model(&[IDEMPOTENT]);
    let engine = world.engine("a", Some(&gates), &fake).build().unwrap();
    let here = sessions(ground.machine(0));
    let waited = timeout(Duration::from_secs(1), here.recover(&engine)).await;
    assert!(waited.is_err(), "a tool runs");
    assert_eq!(gates.waiting(), ["a effect idempotent"]);
    gates.open_all();
    let done = async {
        loop {
            let journal = Journal::read(ground.machine(1), "s").await;
            if journal.session.status() == SessionStatus::Completed {
                return journal;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    let done = timeout(Duration::from_secs(60), done).await;
    done.expect("it goes on").assert_one_outcome_each();
    world.assert_counts(&[IDEMPOTENT], "recovered");
    here.shutdown(Duration::ZERO).await;
}

/// Fails, or brings whoever asks down, at one kind of call.
struct Breaks {
    op: Op,
    /// The first so many are done.
    after: usize,
    panics: bool,
    met: std::sync::atomic::AtomicUsize,
}

impl Breaks {
    fn new(op: Op, after: usize, panics: bool) -> Arc<Self> {
        Arc::new(Self {
            op,
            after,
            panics,
            met: std::sync::atomic::AtomicUsize::default(),
        })
    }
}

impl Rule for Breaks {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        use std::sync::atomic::Ordering;
        let breaks = call.op == self.op && self.met.fetch_add(1, Ordering::SeqCst) >= self.after;
        Box::pin(async move {
            assert!(!breaks || !self.panics, "as the test wants it");
            match breaks {
                true => Fate::Refused(StoreReason::Unavailable),
                false => Fate::Done,
            }
        })
    }
}

/// S192: a page has fifty.
#[tokio::test(start_paused = true)]
async fn s192_a_listing_that_fails_ends_no_run() {
    let ground = memory();
    waiting(&sessions(ground.machine(1)), 60).await;
    let rule = Breaks::new(Op::List, 1, false);
    let here = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
    let engine = World::default().engine("a", None, &model(&[]));
    let engine = engine.build().expect("an engine");
    let error = here.recover(&engine).await.unwrap_err();
    assert_eq!(error.store_reason(), Some(StoreReason::Unavailable));
    assert_eq!(completed(&ground, 60).await, 50);
}

/// S192
#[tokio::test(start_paused = true)]
async fn s192_a_driver_that_crashes_is_told_of() {
    let ground = memory();
    waiting(&sessions(ground.machine(1)), 2).await;
    let rule = Breaks::new(Op::Append, 0, true);
    let here = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
    let engine = World::default().engine("a", None, &model(&[]));
    let engine = engine.build().expect("an engine");
    let recovered = here.recover(&engine).await.expect("listed");
    let mut told: Vec<_> = recovered
        .iter()
        .map(|found| {
            let reason = found.result.as_ref().err().map(|error| error.reason);
            (found.id.as_str(), reason)
        })
        .collect();
    told.sort_unstable_by_key(|(id, _)| *id);
    let lost = Some(SessionReason::LostOwnership);
    assert_eq!(told, [("s000", lost), ("s001", lost)]);
    here.shutdown(Duration::ZERO).await;
}

//! Q: machines that shut down while sessions are being taken.

use std::sync::Arc;
use std::time::Duration;

use allm::session::Delivery;
use allm::{
    BoxFuture, Engine, Event, Fake, HaltReason, Script, SessionError, SessionReason, SessionStatus,
    Sessions,
};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::interleavings::orphan;
use crate::owners::SOON;
use crate::support::faults::Faults;
use crate::support::journal::Journal;
use crate::support::numbered::Numbered;
use crate::support::stores::{Store, memory, paused, sessions};
use crate::support::world::{ALL, ONCE, World, model};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

fn machine(store: &Store, rule: &Numbered) -> Sessions {
    sessions(&Wrapped::around(store, "a", &Arc::new(rule.clone())))
}

fn leaving(machine: &Sessions) -> JoinHandle<()> {
    let machine = machine.clone();
    tokio::spawn(async move { machine.shutdown(Duration::ZERO).await })
}

/// Whether it has ended when nobody has anything else to do: the clock is paused.
async fn has_ended<T>(task: &JoinHandle<T>) -> bool {
    sleep(Duration::from_millis(1)).await;
    task.is_finished()
}

async fn ended<T>(task: JoinHandle<T>) -> T {
    timeout(SOON, task)
        .await
        .expect("it ends")
        .expect("no panic")
}

/// What drives the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Reply,
    Recover,
}

fn begin(does: Does, machine: Sessions, engine: Engine) -> JoinHandle<Result<usize, SessionError>> {
    tokio::spawn(async move {
        match does {
            Does::Reply => {
                let mut session = machine.create("other").await.expect("created");
                session.reply(&engine, "Go").await.map(|_| 1)
            }
            Does::Recover => machine.recover(&engine).await.map(|found| found.len()),
        }
    })
}

/// S190: shut down while the store is asked for the lease, and while the journal is read again.
#[tokio::test(start_paused = true)]
async fn s190_a_session_that_is_being_taken_is_given_back() {
    for does in [Does::Reply, Does::Recover] {
        for held in [Op::Acquire, Op::Load] {
            let place = format!("{does:?} {held:?}");
            let (ground, rule) = (memory(), Numbered::default());
            let here = machine(ground.machine(0), &rule);
            let mut waiting = here.create("s").await.expect("created");
            waiting.send("Go", Delivery::NextTurn).await.expect("sent");
            let id = if does == Does::Reply { "other" } else { "s" };
            let fake = model(&[]);
            let engine = World::default().engine("a", None, &fake).build().unwrap();
            rule.hold(&[Op::Acquire]);
            let run = begin(does, here.clone(), engine.clone());
            let mut gate = rule.next(&[]).await;
            if held == Op::Load {
                rule.hold(&[Op::Load]);
                rule.open(&gate);
                gate = rule.next(&[]).await;
            }
            assert!(gate.contains(&format!("{held:?}")), "{place}: {gate}");
            rule.hold(&[Op::Release]);
            let before = Journal::read(ground.machine(1), id).await.kinds();
            let leaving = leaving(&here);
            assert!(!has_ended(&leaving).await, "{place}: it is being taken");
            rule.open(&gate);
            let gate = rule.next(&[]).await;
            assert!(!has_ended(&leaving).await, "{place}: it is not given back");
            rule.open(&gate);
            ended(leaving).await;
            match (does, ended(run).await) {
                (Does::Reply, Err(error)) => {
                    assert_eq!((error.reason, error.held), (SessionReason::Busy, None));
                }
                (Does::Recover, Ok(found)) => assert_eq!(found, 0, "{place}"),
                (_, other) => panic!("{place}: {other:?}"),
            }
            let after = Journal::read(ground.machine(1), id).await.kinds();
            assert_eq!(after, before, "{place}");
            fake.assert_calls(0);
            // Nobody has to wait.
            let mut next = sessions(ground.machine(1)).open(id).await.expect("opened");
            next.reply(&engine, "And now?").await.expect(&place);
        }
    }
}

/// Holds the write that takes a session and begins a run.
#[derive(Clone, Default)]
struct Holding {
    asked: Arc<Notify>,
    open: Arc<Notify>,
}

impl Rule for Holding {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        Box::pin(async move {
            if call.kinds.contains(&"acquire") {
                self.asked.notify_one();
                self.open.notified().await;
            }
            Fate::Done
        })
    }

    fn is_plain(&self) -> bool {
        false
    }
}

/// S162, S190: shut down while the one write is on its way.
#[tokio::test(start_paused = true)]
async fn s190_a_run_that_is_just_begun_is_left_to_others() {
    for ground in paused() {
        let rule = Holding::default();
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let here = sessions(&store);
        let fake = model(&[]);
        let engine = World::default().engine("a", None, &fake).build().unwrap();
        let run = begin(Does::Reply, here.clone(), engine.clone());
        rule.asked.notified().await;
        let leaving = leaving(&here);
        assert!(
            !has_ended(&leaving).await,
            "{}: it is being taken",
            ground.name
        );
        rule.open.notify_one();
        ended(leaving).await;
        let error = ended(run).await.expect_err("it is left");
        assert_eq!((error.reason, error.held), (SessionReason::Busy, None));
        fake.assert_calls(0);
        let there = sessions(ground.machine(1));
        let session = there.open("other").await.expect("opened");
        assert_eq!(
            session.status(),
            SessionStatus::InProgress,
            "{}",
            ground.name
        );
        assert_eq!(there.recover(&engine).await.expect("listed").len(), 1);
        let session = there.open("other").await.expect("opened");
        assert_eq!(
            session.status(),
            SessionStatus::Completed,
            "{}",
            ground.name
        );
        assert_eq!(session.thread().len(), 2, "{}", ground.name);
    }
}

/// S191
#[tokio::test(start_paused = true)]
async fn s191_an_orphan_is_settled_by_who_shuts_down() {
    let (ground, world) = (memory(), World::default());
    orphan(ground.machine(1), &world, &[ONCE]).await;
    let here = sessions(ground.machine(0));
    here.shutdown(Duration::ZERO).await;
    let mut session = here.open("s").await.expect("opened");
    session.cancel("enough").await.expect("settled");
    let journal = Journal::read(ground.machine(1), "s").await;
    assert_eq!(journal.session.status(), SessionStatus::Idle);
    assert_eq!(journal.session.last_halt(), Some(&HaltReason::Cancelled));
    assert_eq!(journal.outcomes(), ["unknown_outcome"]);
    assert_eq!(world.entered(ONCE), 1);
}

/// S191: the driver is of this process and leaves without having heard of it.
#[tokio::test(start_paused = true)]
async fn s191_what_a_driver_leaves_is_settled_after_him() {
    let (ground, rule) = (memory(), Numbered::default());
    let here = machine(ground.machine(0), &rule);
    let fake = Fake::new().reply(Script::new().text("one").hang());
    let engine = World::default().engine("a", None, &fake).build().unwrap();
    let mut session = here.create("s").await.expect("created");
    let mut canceller = here.open("s").await.expect("opened");
    let mut stream = session.reply(&engine, "Go").stream();
    while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
    rule.hold(&[Op::Release]);
    let leaving = leaving(&here);
    let gate = rule.next(&[]).await;
    let cancel = tokio::spawn(async move { canceller.cancel("enough").await });
    assert!(!has_ended(&cancel).await, "nobody drives it");
    rule.hold(&[]);
    rule.open(&gate);
    assert_eq!(ended(cancel).await, Ok(()));
    ended(leaving).await;
    assert_eq!(
        stream.finish().await.unwrap_err().reason,
        SessionReason::Busy
    );
    let journal = Journal::read(ground.machine(1), "s").await;
    assert_eq!(journal.session.status(), SessionStatus::Idle);
    assert_eq!(journal.session.last_halt(), Some(&HaltReason::Cancelled));
}

/// S191: results in hand are nothing new.
#[tokio::test(start_paused = true)]
async fn s191_what_was_not_stored_is_saved_by_who_shuts_down() {
    let (ground, world) = (memory(), World::default());
    let faults = Faults::from(5, Fate::Refused(allm::StoreReason::Full));
    let rule = Arc::new(faults.clone());
    let mut options = allm::SessionsOptions::default();
    options.retry_for = Duration::ZERO;
    let here = Sessions::with(Wrapped::around(ground.machine(0), "a", &rule), options);
    let engine = world.engine("a", None, &model(&ALL)).build().unwrap();
    let mut session = here.create("s").await.expect("created");
    let error = session.reply(&engine, "Go").await.unwrap_err();
    let mut unsaved = error.unsaved.iter();
    assert!(unsaved.any(|body| body.kind() == "tool_outcome"));
    faults.heal();
    here.shutdown(Duration::ZERO).await;
    session.save(error.unsaved).await.expect("saved");
    let mut next = sessions(ground.machine(1)).open("s").await.expect("opened");
    next.resume(&engine).await.expect("it goes on");
    world.assert_counts(&ALL, "saved");
}

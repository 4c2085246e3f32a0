//! M: a cancellation that takes the lease when somebody else in its process does, or when its run is over.

use std::sync::Arc;
use std::time::Duration;

use allm::{
    DurableSession, Engine, Event, Fake, HaltReason, Script, SessionReason, SessionStatus,
    Sessions, StoreReason, ToolReply,
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::interleavings::orphan;
use crate::owners::{SOON, tool};
use crate::support::journal::Journal;
use crate::support::numbered::Numbered;
use crate::support::stores::{Store, all, memory, sessions};
use crate::support::world::{ONCE, World, model};
use crate::support::wrapped::{Op, Wrapped};

fn machine(store: &Store, rule: &Numbered) -> Sessions {
    sessions(&Wrapped::around(store, "a", &Arc::new(rule.clone())))
}

async fn ended<T>(task: JoinHandle<T>) -> T {
    timeout(SOON, task)
        .await
        .expect("it ends")
        .expect("no panic")
}

fn cancelling(mut session: DurableSession) -> JoinHandle<Result<(), SessionReason>> {
    tokio::spawn(async move {
        let end = session.cancel("enough").await;
        end.map_err(|error| error.reason)
    })
}

fn resuming(
    mut session: DurableSession,
    engine: Engine,
) -> JoinHandle<Result<HaltReason, allm::SessionError>> {
    tokio::spawn(async move {
        let end = session.resume(&engine).await;
        end.map(|result| result.halted_reason)
    })
}

/// S159, S194: the first run is over when the canceller of its own process comes to ask for the lease, and a second one
/// wants it, too: whoever asked first gets it, and the other does not ask. S161: the handle that cancels is older than
/// the run.
#[tokio::test(start_paused = true)]
async fn s159_a_cancellation_between_two_runs_of_one_process() {
    for is_cancelled_first in [true, false] {
        let (ground, rule) = (memory(), Numbered::default());
        let here = machine(ground.machine(0), &rule);
        let fake = Fake::new()
            .reply(Script::new().text("one").hang())
            .reply("two");
        let engine = World::default().engine("a", None, &fake).build().unwrap();
        let mut session = here.create("s").await.expect("created");
        let canceller = here.open("s").await.expect("opened");
        let mut stream = session.reply(&engine, "Go").stream();
        while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
        // It has told the driver, and comes to look for the lease when that run is over.
        rule.hold(&[Op::Append]);
        let cancel = cancelling(canceller);
        let told = rule.next(&[]).await;
        rule.hold(&[Op::Load]);
        rule.open(&told);
        assert_eq!(ended(cancel).await, Ok(()), "the driver has it");
        let gate = rule.next(&[]).await;
        rule.hold(&[]);
        rule.open(&gate);
        let first = stream.finish().await.expect("it ends");
        assert_eq!(first.halted_reason, HaltReason::Cancelled);
        assert_eq!(rule.count(Op::Acquire), 1);

        let canceller = here.open("s").await.expect("opened");
        rule.hold(&[Op::Acquire]);
        let second = || {
            tokio::spawn(async move {
                let end = session.reply(&engine, "And now?").await;
                end.map(|result| result.halted_reason)
            })
        };
        let (cancel, second) = if is_cancelled_first {
            // Nothing goes on, so there is nothing to ask for.
            (cancelling(canceller), second())
        } else {
            let second = second();
            (cancelling(canceller), second)
        };
        assert_eq!(ended(cancel).await, Ok(()));
        assert_eq!(rule.next(&[]).await, "a Acquire 2");
        rule.hold(&[]);
        rule.open("a Acquire 2");
        assert_eq!(ended(second).await, Ok(HaltReason::Completed));
        assert_eq!(rule.count(Op::Acquire), 2);
        let journal = Journal::read(ground.machine(1), "s").await;
        assert_eq!(journal.count("stop_requested"), 1);
        let said = [
            "User: Go",
            "Assistant: one",
            "User: And now?",
            "Assistant: two",
        ];
        assert_eq!(journal.texts(), said);
        assert_eq!(journal.session.status(), SessionStatus::Completed);
    }
}

/// S161, S194: an orphan that one in this process resumes and another cancels. Whoever asked for the lease first gets
/// it; the other waits to hear whether he did, and asks for nothing.
#[tokio::test(start_paused = true)]
async fn s161_a_resume_and_a_cancellation_of_an_orphan_in_one_process() {
    for is_resumed_first in [true, false] {
        let (ground, rule) = (memory(), Numbered::default());
        let world = World::default();
        orphan(ground.machine(1), &world, &[ONCE]).await;
        let here = machine(ground.machine(0), &rule);
        let resumer = here.open("s").await.expect("opened");
        let canceller = here.open("s").await.expect("opened");
        let fake = model(&[ONCE]);
        let engine = world.engine("a", None, &fake).build().unwrap();
        rule.hold(&[Op::Acquire]);
        let (resume, cancel);
        if is_resumed_first {
            resume = resuming(resumer, engine);
            assert_eq!(rule.next(&[]).await, "a Acquire 1");
            cancel = cancelling(canceller);
        } else {
            cancel = cancelling(canceller);
            assert_eq!(rule.next(&[]).await, "a Acquire 1");
            resume = resuming(resumer, engine);
        }
        sleep(Duration::from_millis(1)).await;
        assert!(!cancel.is_finished() && !resume.is_finished());
        // What the first reads again is read when the second has heard of him.
        rule.hold(&[Op::Load]);
        rule.open("a Acquire 1");
        let gate = rule.next(&[]).await;
        sleep(Duration::from_millis(1)).await;
        assert_eq!(cancel.is_finished(), is_resumed_first);
        assert_eq!(resume.is_finished(), !is_resumed_first);
        rule.hold(&[]);
        rule.open(&gate);
        assert_eq!(ended(cancel).await, Ok(()));
        let resumed = ended(resume).await;
        if is_resumed_first {
            assert_eq!(resumed, Ok(HaltReason::Cancelled));
        } else {
            let error = resumed.unwrap_err();
            assert_eq!(error.reason, SessionReason::Busy);
            let held = error.held.expect("who holds it");
            assert_eq!(held.holder, *here.writer());
            let now = ground.machine(1).now().await.expect("a clock");
            assert!(held.expires_at > now);
        }
        assert_eq!(rule.count(Op::Acquire), 1);
        let journal = Journal::read(ground.machine(1), "s").await;
        assert_eq!(journal.session.status(), SessionStatus::Idle);
        assert_eq!(journal.session.last_halt(), Some(&HaltReason::Cancelled));
        assert_eq!(journal.outcomes(), ["unknown_outcome"]);
        assert_eq!((world.entered(ONCE), fake.calls().len()), (1, 0));
    }
}

/// S194: whoever asked first does not get it: then the other asks.
#[tokio::test(start_paused = true)]
async fn s194_who_waited_asks_when_the_first_was_refused() {
    let (ground, rule) = (memory(), Numbered::default());
    let world = World::default();
    orphan(ground.machine(1), &world, &[ONCE]).await;
    let here = machine(ground.machine(0), &rule);
    let resumer = here.open("s").await.expect("opened");
    let canceller = here.open("s").await.expect("opened");
    let engine = world.engine("a", None, &model(&[ONCE])).build().unwrap();
    rule.hold(&[Op::Acquire]);
    let resume = resuming(resumer, engine);
    let first = rule.next(&[]).await;
    let cancel = cancelling(canceller);
    rule.refuse(StoreReason::Corrupt);
    rule.open(&first);
    let error = ended(resume).await.unwrap_err();
    assert_eq!(error.store_reason(), Some(StoreReason::Corrupt));
    let second = rule.next(&[]).await;
    assert_eq!(second, "a Acquire 2");
    rule.open(&second);
    assert_eq!(ended(cancel).await, Ok(()));
    let journal = Journal::read(ground.machine(1), "s").await;
    assert_eq!(journal.session.last_halt(), Some(&HaltReason::Cancelled));
    assert_eq!(journal.session.status(), SessionStatus::Idle);
}

/// How the second run is found by who wanted to cancel the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// It waits for an answer.
    Asks,
    /// It was left by a machine that shut down.
    Orphaned,
}

/// S161: the run that was cancelled is over when the lease is had, and what began since goes on.
#[tokio::test(flavor = "multi_thread")]
async fn s161_what_began_since_is_not_cancelled() {
    for ground in all().await {
        for second in [Second::Asks, Second::Orphaned] {
            let place = format!("{} {second:?}", ground.name);
            let id = format!("{second:?}");
            let first = Script::new().text("one").hang();
            let next = match second {
                Second::Asks => Script::new().call("ask", json!({})),
                Second::Orphaned => Script::new().text("two").hang(),
            };
            let fake = Fake::new().reply(first).reply(next).reply("done");
            let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
            let engine = World::default().engine("a", None, &fake).tool(ask);
            let engine = engine.build().expect("an engine");
            let here = sessions(ground.machine(0));
            let mut session = here.create(id.as_str()).await.expect("created");
            let mut stream = session.reply(&engine, "Go").stream();
            while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}

            let rule = Numbered::holding(&[Op::Acquire]);
            let there = machine(ground.machine(1), &rule);
            let cancel = cancelling(there.open(id.as_str()).await.expect("opened"));
            assert_eq!(rule.next(&[]).await, "a Acquire 1");
            let ended_first = stream.finish().await.expect("it ends");
            assert_eq!(ended_first.halted_reason, HaltReason::Cancelled, "{place}");
            let mut stream = session.reply(&engine, "And now?").stream();
            if second == Second::Asks {
                let waits = stream.finish().await.expect("it asks");
                assert_eq!(waits.halted_reason, HaltReason::AskUser, "{place}");
            } else {
                while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
                drop(stream);
                here.shutdown(Duration::ZERO).await;
            }
            let before = Journal::read(ground.machine(2), &id).await;
            rule.hold(&[]);
            rule.open("a Acquire 1");
            assert_eq!(ended(cancel).await, Ok(()), "{place}");
            let after = Journal::read(ground.machine(2), &id).await;
            assert_eq!(after.kinds(), before.kinds(), "{place}");

            let mut other = sessions(ground.machine(2)).open(id.as_str()).await.unwrap();
            if let Some(question) = other.question() {
                other.answer(question.call, "yes").await.expect("answered");
            }
            let result = other.resume(&engine).await.expect("it goes on");
            assert_eq!(result.halted_reason, HaltReason::Completed, "{place}");
        }
    }
}

//! Q: inputs, leases and readers while the store is gone for a while.

use std::sync::Arc;
use std::time::Duration;

use allm::session::{Annotated, Delivery};
use allm::{
    ApprovalRule, BoxFuture, DurableSession, Engine, Fake, HaltReason, Script, SessionError,
    SessionReason, SessionStatus, Sessions, SessionsOptions, StoreReason, ToolReply,
};
use allm_store::{Clock, MemoryStore};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::owners::tool;
use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::outage::Outage;
use crate::support::stores::{Store, memory, paused, sessions};
use crate::support::world::{ONCE, World, model};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

const SECOND: Duration = Duration::from_secs(1);

fn machine(store: &Store, rule: &Outage) -> Sessions {
    sessions(&Wrapped::around(store, "a", &Arc::new(rule.clone())))
}

/// Calls that wait for each kind of input.
fn engine() -> Engine {
    let calls = Script::new()
        .call("ask", json!({}))
        .call("gated", json!({}))
        .call("manual", json!({}));
    let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
    let gated = tool("gated")
        .approval(ApprovalRule::Always)
        .handler(|_: Value| async { Ok::<_, std::fmt::Error>("agreed") });
    let engine = Engine::builder()
        .provider(Fake::new().reply(calls))
        .model("fake:any")
        .tools([ask, gated, tool("manual").manual()]);
    engine.build().expect("an engine")
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Input {
    Send,
    Answer,
    Submit,
    Approve,
    Deny,
    Annotate,
    Cancel,
}

const INPUTS: [Input; 7] = [
    Input::Send,
    Input::Answer,
    Input::Submit,
    Input::Approve,
    Input::Deny,
    Input::Annotate,
    Input::Cancel,
];

impl Input {
    async fn give(self, session: &mut DurableSession) -> Result<(), SessionError> {
        let waits = session.waits();
        match self {
            Self::Send => session.send("aside", Delivery::NextTurn).await,
            Self::Answer => session.answer(waits[0].call, "yes").await,
            Self::Approve => session.approve(waits[1].call).await,
            Self::Deny => session.deny(waits[1].call, "no").await,
            Self::Submit => session.submit_tool_result(waits[2].call, "r").await,
            Self::Annotate => {
                let metadata = json!({"seen": true}).as_object().cloned();
                let notes = Annotated {
                    metadata,
                    ..Annotated::default()
                };
                session.annotate(notes).await
            }
            Self::Cancel => session.cancel("enough").await,
        }
    }

    const fn kind(self) -> &'static str {
        match self {
            Self::Send => "user_message",
            Self::Answer => "answered",
            Self::Submit => "result_submitted",
            Self::Approve | Self::Deny => "approval_decided",
            Self::Annotate => "annotated",
            Self::Cancel => "stop_requested",
        }
    }
}

/// S193: from the first question on, the time included.
#[tokio::test(start_paused = true)]
async fn s193_an_input_outlives_an_outage() {
    for ground in paused() {
        for input in INPUTS {
            for seconds in [1, 29] {
                let place = format!("{} {input:?} {seconds}", ground.name);
                let rule = Outage::default();
                let here = machine(ground.machine(0), &rule);
                let id = format!("{input:?}-{seconds}");
                let mut session = here.create(id.as_str()).await.expect("created");
                session.reply(&engine(), "Go").await.expect("it waits");
                let before = Journal::read(ground.machine(1), &id).await;
                rule.begin(SECOND * seconds);
                input.give(&mut session).await.expect(&place);
                let after = Journal::read(ground.machine(1), &id).await;
                let count = before.count(input.kind()) + 1;
                assert_eq!(after.count(input.kind()), count, "{place}");
                assert_eq!(*session, after.session, "{place}");
            }
        }
    }
}

/// S193: whether it fails, or gives no answer at all.
#[tokio::test(start_paused = true)]
async fn s193_an_input_is_given_up_after_thirty_seconds() {
    for hangs in [false, true] {
        for input in INPUTS {
            let place = format!("{input:?} {hangs}");
            let (ground, rule) = (memory(), Outage::default());
            let here = machine(ground.machine(0), &rule);
            let mut session = here.create("s").await.expect("created");
            session.reply(&engine(), "Go").await.expect("it waits");
            let before = Journal::read(ground.machine(1), "s").await.kinds();
            match hangs {
                true => rule.hang(SECOND * 45),
                false => rule.begin(SECOND * 45),
            }
            let began = Instant::now();
            let error = input.give(&mut session).await.unwrap_err();
            assert_eq!(error.reason, SessionReason::Store, "{place}");
            assert_eq!(error.store_reason(), Some(StoreReason::Unavailable));
            assert_eq!(began.elapsed().as_secs(), 30, "{place}");
            let after = Journal::read(ground.machine(1), "s").await.kinds();
            assert_eq!(after, before, "{place}");
        }
    }
}

/// S193: others have written, and what they have written cannot be read at first.
#[tokio::test(start_paused = true)]
async fn s193_an_input_that_met_others_in_an_outage() {
    for seconds in [5, 45] {
        let (ground, rule) = (memory(), Outage::default());
        let here = machine(ground.machine(0), &rule);
        let mut session = here.create("s").await.expect("created");
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("first", Delivery::NextTurn).await.expect("sent");
        rule.load_after_conflict(SECOND * seconds);
        let sent = session.send("second", Delivery::NextTurn).await;
        let kinds = Journal::read(ground.machine(1), "s").await.kinds();
        if seconds == 5 {
            assert_eq!(sent, Ok(()));
            assert_eq!(kinds, ["created", "user_message", "user_message"]);
        } else {
            let error = sent.unwrap_err();
            assert_eq!(error.store_reason(), Some(StoreReason::Unavailable));
            assert_eq!(kinds, ["created", "user_message"]);
        }
    }
}

/// S193: a driver that has the result of a tool in hand.
#[tokio::test(start_paused = true)]
async fn s193_a_driver_that_met_others_in_an_outage() {
    for seconds in [5, 45] {
        let (ground, rule) = (memory(), Outage::default());
        let here = machine(ground.machine(0), &rule);
        let (gates, world) = (Gates::default(), World::default());
        let engine = world.engine("a", Some(&gates), &model(&[ONCE]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
        while gates.waiting().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        rule.load_after_conflict(SECOND * seconds);
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.send("aside", Delivery::NextTurn).await.expect("sent");
        gates.open_all();
        let end = run.await.expect("no panic");
        if seconds == 5 {
            assert_eq!(end.expect("done").halted_reason, HaltReason::Completed);
            let journal = Journal::read(ground.machine(1), "s").await;
            assert_eq!(journal.session.status(), SessionStatus::Completed);
            assert!(journal.session.inbox().is_empty());
        } else {
            let error = end.unwrap_err();
            assert_eq!(error.store_reason(), Some(StoreReason::Unavailable));
            let unsaved: Vec<_> = error.unsaved.iter().map(|body| body.kind()).collect();
            assert_eq!(unsaved, ["tool_outcome"]);
        }
        assert_eq!(world.effects(ONCE), 1);
    }
}

/// S193: a session is made and taken in an outage.
#[tokio::test(start_paused = true)]
async fn s193_a_session_is_made_and_taken_in_an_outage() {
    for ground in paused() {
        let rule = Outage::default();
        let here = machine(ground.machine(0), &rule);
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        rule.begin(SECOND * 20);
        let mut session = here.create("s").await.expect("created");
        rule.begin(SECOND * 20);
        session.reply(&engine, "Go").await.expect("done");
        assert_eq!(
            session.status(),
            SessionStatus::Completed,
            "{}",
            ground.name
        );
        rule.begin(SECOND * 45);
        let error = session.reply(&engine, "Go").await.unwrap_err();
        assert_eq!(error.store_reason(), Some(StoreReason::Unavailable));
    }
}

/// Takes no outcome and renews no lease until the time is over.
struct Stuck {
    until: Instant,
    acquired: Outage,
}

impl Rule for Stuck {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let counted = self.acquired.judge(call);
        let is_late = call.op == Op::Renew || call.kinds.contains(&"tool_outcome");
        Box::pin(async move {
            match is_late && Instant::now() < self.until {
                true => Fate::Refused(StoreReason::Unavailable),
                false => counted.await,
            }
        })
    }

    fn hints(&self) -> bool {
        false
    }
}

/// S194: the driver has a result in hand when his lease has run out, and is cancelled in his own process.
#[tokio::test(start_paused = true)]
async fn s194_who_cancels_does_not_fence_a_driver_of_his_own_process() {
    let clock = Clock::manual(allm::Timestamp::from_millis(1_000_000).unwrap());
    let store: Store = Arc::new(MemoryStore::with_clock(clock.clone()));
    let acquired = Outage::default();
    let rule = Arc::new(Stuck {
        until: Instant::now() + SECOND * 40,
        acquired: acquired.clone(),
    });
    let mut options = SessionsOptions::default();
    options.retry_for = SECOND * 60;
    let here = Sessions::with(Wrapped::around(&store, "a", &rule), options);
    let world = World::default();
    let engine = world.engine("a", None, &model(&[ONCE])).build().unwrap();
    let mut session = here.create("s").await.expect("created");
    let mut canceller = here.open("s").await.expect("opened");
    let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
    tokio::time::sleep(SECOND * 35).await;
    clock.advance(SECOND * 35);
    assert_eq!(world.effects(ONCE), 1);
    canceller.cancel("enough").await.expect("he is told");
    let result = run.await.expect("no panic").expect("it is his");
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    let journal = Journal::read(&store, "s").await;
    assert_eq!(journal.outcomes(), ["ok"]);
    assert_eq!(journal.count("late_outcome"), 0);
    assert_eq!(acquired.count(Op::Acquire), 1);
}

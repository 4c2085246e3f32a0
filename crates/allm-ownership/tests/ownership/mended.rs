//! Q: what snapshots cost, and what is kept of late replies and of inputs that were refused.

use std::sync::Arc;
use std::time::Duration;

use allm::session::EntryBody;
use allm::{
    ApprovalRule, ApprovalSecret, Effect, Engine, Fake, InputId, LoadFrom, Script, SessionReason,
    SessionStatus, Sessions, SessionsOptions, Tool, Version,
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::owners::{SOON, tool};
use crate::support::journal::Journal;
use crate::support::outage::Outage;
use crate::support::stores::{Store, all, memory, paused, sessions};
use crate::support::world::{World, model};
use crate::support::wrapped::{Op, Wrapped};

/// S195: one for each run while the session is short, whether it is opened anew for each or not.
#[tokio::test(start_paused = true)]
async fn s195_one_snapshot_for_each_run_of_a_short_session() {
    for ground in paused() {
        for is_opened in [false, true] {
            let rule = Outage::default();
            let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
            let here = sessions(&store);
            let engine = World::default().engine("a", None, &model(&[]));
            let engine = engine.build().expect("an engine");
            let id = format!("{is_opened}");
            let mut session = here.create(id.as_str()).await.expect("created");
            for runs in 1..=3 {
                if is_opened {
                    session = here.open(id.as_str()).await.expect("opened");
                }
                session.reply(&engine, "Go").await.expect("done");
                let place = format!("{} {is_opened}", ground.name);
                assert_eq!(rule.count(Op::Snapshot), runs, "{place}");
            }
        }
    }
}

/// S195: what snapshots hold grows as the journal does, and what is replayed is a part of one and a run. By its bytes: a
/// snapshot for each run would hold seventy times the journal here.
#[tokio::test(start_paused = true)]
async fn s195_snapshots_hold_a_few_times_what_the_journal_holds() {
    const RUNS: usize = 150;
    for (place, ground) in paused().into_iter().enumerate() {
        let store = ground.machine(0);
        let here = sessions(store);
        let fake = Fake::new().always("y".repeat(100));
        let engine = Engine::builder().provider(fake).model("fake:any");
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        let (mut written, mut newest, mut whole) = (0, 0, 0);
        for run in 0..RUNS {
            if run % 2 == place % 2 {
                session = here.open("s").await.expect("opened");
            }
            // Long ones among short ones.
            let length = if run % 17 == 3 {
                5_000
            } else {
                1 + 10 * run % 400
            };
            session
                .reply(&engine, "x".repeat(length))
                .await
                .expect("done");
            let (after, journal) = (
                bytes_after(store, newest).await,
                bytes_after(store, 0).await,
            );
            let loaded = store.load(session.id(), LoadFrom::Snapshot).await;
            let loaded = loaded.expect("loaded");
            let snapshot = loaded.snapshot.expect("from the first run on");
            if snapshot.version.0 != newest {
                (written, newest) = (written + snapshot.bytes.len(), snapshot.version.0);
            } else {
                let part = snapshot.bytes.len() / 4;
                assert!(
                    after <= part,
                    "{}: run {run}: {after} of {part}",
                    ground.name
                );
            }
            let last = journal - whole;
            whole = journal;
            let replayed: usize = loaded.entries.iter().map(|entry| entry.bytes.len()).sum();
            assert!(
                replayed <= snapshot.bytes.len() / 4 + last,
                "{}: run {run}",
                ground.name
            );
            assert!(
                written <= 6 * whole,
                "{}: run {run}: {written} of {whole}",
                ground.name
            );
        }
        assert!(
            written > whole / 2,
            "{}: they are written at all",
            ground.name
        );
    }
}

/// How many bytes the entries after this version have.
async fn bytes_after(store: &Store, version: u64) -> usize {
    let id = "s".parse().expect("an id");
    let loaded = store.load(&id, LoadFrom::After(Version(version))).await;
    let entries = loaded.expect("loaded").entries;
    entries.iter().map(|entry| entry.bytes.len()).sum()
}

/// S195: a run that is longer than that.
#[tokio::test(start_paused = true)]
async fn s195_a_snapshot_after_so_many_entries() {
    let (ground, rule) = (memory(), Outage::default());
    let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
    let mut options = SessionsOptions::default();
    options.snapshot_every = 4;
    let here = Sessions::with(store, options);
    let engine = World::default().engine("a", None, &model(&crate::support::world::ALL));
    let engine = engine.build().expect("an engine");
    let mut session = here.create("s").await.expect("created");
    session.reply(&engine, "Go").await.expect("done");
    let entries = usize::try_from(session.version().0).expect("few");
    let snapshots = rule.count(Op::Snapshot);
    assert!(
        (2..=entries / 4 + 1).contains(&snapshots),
        "{snapshots} of {entries}"
    );
}

/// A tool whose handler cannot be stopped: told when it begins, and held until it may go on.
struct Blocking {
    begun: std::sync::mpsc::Receiver<()>,
    go_on: std::sync::mpsc::Sender<()>,
    tool: Tool,
}

fn blocking() -> Blocking {
    let (begin, begun) = std::sync::mpsc::channel();
    let (go_on, wait) = std::sync::mpsc::channel::<()>();
    let wait = std::sync::Mutex::new(wait);
    let tool = tool("slow")
        .effect(Effect::Idempotent)
        .blocking(move |_: Value| {
            begin.send(()).expect("somebody waits");
            let _ = wait.lock().expect("not poisoned").recv();
            Ok::<_, std::fmt::Error>("late")
        });
    Blocking { begun, go_on, tool }
}

/// S196: the first attempt comes to its end when the second has been given up.
#[tokio::test(flavor = "multi_thread")]
async fn s196_a_late_reply_has_the_number_of_its_attempt() {
    for ground in all().await {
        let calls = Script::new()
            .call("slow", json!({}))
            .call("manual", json!({}));
        let fake = Fake::new().reply(calls);
        let engine = |slow: Tool| {
            let engine = Engine::builder().provider(fake.clone()).model("fake:any");
            let engine = engine.tools([slow, tool("manual").manual()]);
            engine.build().expect("an engine")
        };
        let Blocking { begun, go_on, tool } = blocking();
        let first = engine(tool);
        let here = sessions(ground.machine(0));
        let mut session = here.create("s").await.expect("created");
        let run = tokio::spawn(async move { session.reply(&first, "Go").await });
        let begun = tokio::task::spawn_blocking(move || begun.recv());
        begun.await.expect("no panic").expect("it began");
        here.shutdown(Duration::ZERO).await;
        assert!(run.await.expect("no panic").is_err(), "it was left");

        let second = blocking();
        let engine = engine(second.tool.timeout(Duration::from_millis(20)));
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        other.resume(&engine).await.expect("it goes on");
        assert_eq!(other.status(), SessionStatus::AwaitingTools);
        let outcomes = Journal::read(ground.machine(2), "s").await.outcomes();
        assert_eq!(outcomes[0], "timed_out", "{}", ground.name);
        go_on.send(()).expect("it waits");
        let kept = async {
            loop {
                let journal = Journal::read(ground.machine(2), "s").await;
                let late = journal.bodies().find_map(|body| match body {
                    EntryBody::LateOutcome(late) => Some(late.clone()),
                    _ => None,
                });
                if let Some(late) = late {
                    return late;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let late = timeout(SOON, kept).await.expect("it is kept");
        assert_eq!(late.attempt, 1, "{}", ground.name);
        assert_eq!(late.content, "late", "{}", ground.name);
        drop(second.go_on);
    }
}

fn gated() -> Engine {
    let pay = tool("pay")
        .approval(ApprovalRule::Always)
        .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) });
    let calls = Script::new().call("pay", json!({"euros": 5}));
    let fake = Fake::new().reply(calls).always("done");
    let engine = Engine::builder().provider(fake).model("fake:any").tool(pay);
    engine.build().expect("an engine")
}

/// S197: a token that is not believed.
#[tokio::test(start_paused = true)]
async fn s197_a_refused_decision_takes_its_name_with_it() {
    let ground = memory();
    let mut options = SessionsOptions::default();
    options.approval_secret = ApprovalSecret::new(*b"0123456789abcdef0123456789abcdef").ok();
    let here = Sessions::with(Arc::clone(ground.machine(0)), options);
    let engine = gated();
    let mut session = here.create("s").await.expect("created");
    session.reply(&engine, "Pay").await.expect("it waits");
    let approval = session.approvals().remove(0);
    let name = || InputId::new("mine").expect("an id");
    let refused = session.name_input(name()).approve(&approval).await;
    assert_eq!(refused.unwrap_err().reason, SessionReason::ApprovalMismatch);
    let delivery = allm::session::Delivery::NextTurn;
    session.send("aside", delivery).await.expect("sent");
    let journal = Journal::read(ground.machine(1), "s").await;
    let last = journal.entries.last().expect("an entry");
    assert_eq!((last.body.kind(), &last.input_id), ("user_message", &None));
}

/// S197: the person saw the approval elsewhere, and this handle was opened before.
#[tokio::test(flavor = "multi_thread")]
async fn s197_an_edited_approval_through_an_older_handle() {
    for ground in all().await {
        let engine = gated();
        let here = sessions(ground.machine(0));
        let mut session = here.create("s").await.expect("created");
        let mut older = sessions(ground.machine(1)).open("s").await.expect("opened");
        session.reply(&engine, "Pay").await.expect("it waits");
        let approval = session.approvals().remove(0);
        let edited = json!({"euros": 4}).as_object().cloned().expect("a map");
        let decided = older.approve_with(&engine, &approval, edited).await;
        assert_eq!(decided, Ok(()), "{}", ground.name);
        older.resume(&engine).await.expect("it goes on");
        let texts = Journal::read(ground.machine(2), "s").await.texts();
        assert!(texts.concat().contains("\"euros\":4"), "{texts:?}");
    }
}

/// S198
#[tokio::test(start_paused = true)]
async fn s198_who_gave_an_input_is_in_its_entry_and_in_no_value() {
    let ground = memory();
    let mut stored = sessions(ground.machine(0))
        .create("s")
        .await
        .expect("created");
    stored.reply(&gated(), "Pay").await.expect("it waits");
    stored.set_author("ann");
    let approval = stored.approvals().remove(0);
    stored.approve(&approval).await.expect("approved");
    let journal = Journal::read(ground.machine(1), "s").await;
    let by = journal.bodies().find_map(|body| match body {
        EntryBody::ApprovalDecided(decided) => decided.by.clone(),
        _ => None,
    });
    assert_eq!(by.as_deref(), Some("ann"));

    let mut value = allm::Session::new("s").expect("an id");
    value.reply(&gated(), "Pay").await.expect("it waits");
    let call = value.waits()[0].call;
    value.set_author("ann");
    value.approve(call).expect("approved");
    let written = allm::json::to_string(&value).expect("JSON");
    assert!(!written.contains("ann"), "{written}");
    value.cancel("enough").expect("cancelled");
    assert_eq!(value.status(), SessionStatus::Idle);
}

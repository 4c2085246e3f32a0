//! S: what a run asks of its store, and how it ends.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::session::EntryBody;
use allm::{
    BoxFuture, Effect, Engine, Fake, LoadFrom, Loaded, SessionReason, SessionStatus, SessionStore,
    StoreReason, Timestamp,
};
use allm_store::Clock;
use serde_json::json;

use crate::support::stores::{clocked, memory, paused, sessions};
use crate::support::world::{IDEMPOTENT, World, model};
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// Notes what a store is asked for, and loses the answers that it is told to lose.
#[derive(Clone, Default)]
struct Asked(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    calls: Vec<String>,
    /// How many answers to appends of this kind are lost.
    loses: (&'static str, usize),
    is_plain: bool,
}

impl Asked {
    fn plain(is_plain: bool) -> Self {
        let asked = Self::default();
        asked.0.lock().expect("not poisoned").is_plain = is_plain;
        asked
    }

    fn lose(&self, kind: &'static str, answers: usize) {
        self.0.lock().expect("not poisoned").loses = (kind, answers);
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().expect("not poisoned").calls)
    }
}

impl Rule for Asked {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let mut state = self.0.lock().expect("not poisoned");
        state
            .calls
            .push(format!("{:?} {}", call.op, call.kinds.join("+")));
        let fate = match state.loses {
            (kind, left @ 1..) if call.op == Op::Append && call.kinds.contains(&kind) => {
                state.loses = (kind, left - 1);
                Fate::Lost(StoreReason::Unavailable)
            }
            _ => Fate::Done,
        };
        Box::pin(async move { fate })
    }

    fn is_plain(&self) -> bool {
        self.0.lock().expect("not poisoned").is_plain
    }
}

/// The session is over and free, and a snapshot of it as it is now is there.
async fn is_over(store: &dyn SessionStore, place: &str) {
    let loaded = is_free(store, place).await;
    assert_eq!(loaded.entries, [], "{place}");
    let snapshot = loaded.snapshot.expect("kept");
    assert_eq!(snapshot.version, loaded.head.version, "{place}");
}

/// The session is over and free.
async fn is_free(store: &dyn SessionStore, place: &str) -> Loaded {
    let id = "s".parse().expect("an id");
    let loaded = store.load(&id, LoadFrom::Snapshot).await.expect("loaded");
    assert_eq!(loaded.head.status, SessionStatus::Completed, "{place}");
    assert_eq!(loaded.head.lease, None, "{place}");
    loaded
}

/// S209: in memory hints come, and a driver that looked after each of its writes would be seen to.
#[tokio::test(start_paused = true)]
async fn s209_a_run_is_four_appends_of_which_the_first_takes_the_session() {
    for ground in paused() {
        let rule = Asked::default();
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let here = sessions(&store);
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
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let here = sessions(&store);
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
            let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
            let here = sessions(&store);
            let engine = World::default().engine("a", None, &model(&[]));
            let engine = engine.build().expect("an engine");
            let id = "s".parse().expect("an id");
            let _ = here.delete(&id, allm::DeleteIf::Force).await;
            let mut session = here.create("s").await.expect("created");
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
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let here = sessions(&store);
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        rule.lose("acquire", usize::MAX);
        let error = session.reply(&engine, "Go").await.expect_err("no answer");
        assert_eq!(error.store_reason(), Some(StoreReason::Unavailable));
        let kinds: Vec<_> = error.unsaved.iter().map(EntryBody::kind).collect();
        assert_eq!(kinds, ["user_message", "run_started"], "{}", ground.name);
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

/// S208: a store that has no such write.
#[tokio::test(start_paused = true)]
async fn s208_a_plain_store_gets_three_writes() {
    for ground in paused() {
        let rule = Asked::plain(true);
        let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
        let here = sessions(&store);
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("done");
        let asked = rule.take();
        let last = asked.len() - 3;
        let expected = ["Append model_responded", "Snapshot ", "Release "];
        assert_eq!(asked[last..], expected, "{}", ground.name);
        is_over(&**ground.machine(0), ground.name).await;
    }
}

/// S208: the answer is lost once and twice, and whoever asks again finds it done.
#[tokio::test(start_paused = true)]
async fn s208_an_end_whose_answer_was_lost_is_done_once() {
    for ground in paused() {
        for lost in [1, 2] {
            let rule = Asked::default();
            rule.lose("release", lost);
            let store = Wrapped::around(ground.machine(0), "a", &Arc::new(rule.clone()));
            let here = sessions(&store);
            let engine = World::default().engine("a", None, &model(&[]));
            let engine = engine.build().expect("an engine");
            let id = "s".parse().expect("an id");
            let _ = here.delete(&id, allm::DeleteIf::Force).await;
            let mut session = here.create("s").await.expect("created");
            session.reply(&engine, "Go").await.expect("done");
            let ends = |call: &&String| call.ends_with("+release");
            assert_eq!(rule.take().iter().filter(ends).count(), lost + 1);
            // Made, begun with two, and ended.
            assert_eq!(session.version().0, 4, "{}", ground.name);
            is_over(&**ground.machine(0), ground.name).await;
            let there = sessions(ground.machine(1));
            let mut session = there.open("s").await.expect("opened");
            session.reply(&engine, "Go").await.expect("free at once");
        }
    }
}

/// S208: an answer that is long, and with it the snapshot; then a session whose snapshot would be long for the little that
/// came since; and then one whose snapshot is long and due, and its entries are short.
#[tokio::test(start_paused = true)]
async fn s208_long_entries_and_long_snapshots_end_a_run_too() {
    for ground in paused() {
        let store = ground.machine(0);
        let here = sessions(store);
        let long = "y".repeat(80 * 1024);
        let half = "y".repeat(40 * 1024);
        let fake = Fake::new()
            .reply(long.as_str())
            .reply("short")
            .reply(half.as_str());
        let engine = Engine::builder().provider(fake).model("fake:any");
        let engine = engine.build().expect("an engine");
        let mut session = here.create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("done");
        is_over(&**store, ground.name).await;
        session.reply(&engine, "Go").await.expect("done");
        let loaded = is_free(&**store, ground.name).await;
        assert_eq!(loaded.entries.len(), 3, "{}: none is due", ground.name);
        session.reply(&engine, "Go").await.expect("done");
        is_over(&**store, ground.name).await;
    }
}

/// S209: what others say still comes to a driver at once.
#[tokio::test(start_paused = true)]
async fn s209_a_driver_is_woken_by_what_others_append() {
    let ground = memory();
    let here = sessions(ground.machine(0));
    let (begun, mut begins) = tokio::sync::mpsc::unbounded_channel();
    let tool = allm::Tool::new("wait", "Waits.", json!({"type": "object"}))
        .effect(Effect::Pure)
        .handler(move |_: serde_json::Value| {
            let begun = begun.clone();
            async move {
                begun.send(()).expect("heard");
                std::future::pending::<Result<String, std::fmt::Error>>().await
            }
        });
    let fake = Fake::new().reply(allm::Script::new().call("wait", json!({})));
    let engine = Engine::builder()
        .provider(fake)
        .model("fake:any")
        .tool(tool);
    let engine = engine.build().expect("an engine");
    let mut session = here.create("s").await.expect("created");
    let driver = tokio::spawn(async move { session.reply(&engine, "Go").await });
    begins.recv().await.expect("begun");
    let before = tokio::time::Instant::now();
    let mut other = here.open("s").await.expect("opened");
    other.cancel("enough").await.expect("told");
    driver.await.expect("driven").expect("stopped");
    // Much sooner than it would have looked by itself.
    assert!(before.elapsed() < Duration::from_millis(100));
}

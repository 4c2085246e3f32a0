//! S: how a run ends.

use std::time::Duration;

use allm::{Effect, Engine, Fake};
use serde_json::json;

use crate::support::asked::{Asked, anew, is_free, is_over};
use crate::support::stores::{memory, paused, sessions};
use crate::support::world::{World, model};

/// S208: a store that has no such write.
#[tokio::test(start_paused = true)]
async fn s208_a_plain_store_gets_three_writes() {
    for ground in paused() {
        let rule = Asked::plain(true);
        let here = sessions(&rule.around(ground.machine(0)));
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
            let here = sessions(&rule.around(ground.machine(0)));
            let engine = World::default().engine("a", None, &model(&[]));
            let engine = engine.build().expect("an engine");
            let mut session = anew(&here).await;
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

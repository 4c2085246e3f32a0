//! G: an intent that takes long to be written.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::{BoxFuture, Engine, Fake, Script, Sessions, SessionsOptions, Tool, ToolReply};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::support::journal::Journal;
use crate::support::stores::memory;
use crate::support::wrapped::{Call, Fate, Op, Rule, Wrapped};

/// Intents take so long.
struct Slow(Duration);

impl Rule for Slow {
    fn judge<'a>(&'a self, call: &'a Call) -> BoxFuture<'a, Fate> {
        let is_slow = call.op == Op::Append && call.kinds.contains(&"tool_intent");
        Box::pin(async move {
            if is_slow {
                tokio::time::sleep(self.0).await;
            }
            Fate::Done
        })
    }
}

const LIMIT: Duration = Duration::from_secs(20);

/// How long after the intent was made the handler was entered, and how long after it the call had ended.
async fn play(takes: Duration) -> (Option<Duration>, Duration) {
    let ground = memory();
    let store = ground.machine(0);
    let mut options = SessionsOptions::default();
    // The store's clock does not go with the test's: it is not looked at while the intent is on its way.
    options.lease_ttl = Duration::from_secs(3600);
    let machine = Sessions::with(Wrapped::around(store, "a", &Arc::new(Slow(takes))), options);
    let entered = Arc::new(Mutex::new(None));
    let noted = Arc::clone(&entered);
    let tool = Tool::new("act", "A tool.", json!({"type": "object"}))
        .timeout(LIMIT)
        .handler(move |_: Value| {
            *noted.lock().unwrap() = Some(Instant::now());
            async {
                std::future::pending::<()>().await;
                ToolReply::ok(&json!("never"))
            }
        });
    let fake = Fake::new()
        .reply(Script::new().call("act", json!({})))
        .reply("done");
    let engine = Engine::builder()
        .provider(fake)
        .model("fake:any")
        .tool(tool);
    let engine = engine.build().unwrap();
    let began = Instant::now();
    let mut session = machine.create("s").await.unwrap();
    session.reply(&engine, "Go").await.unwrap();
    let ended = began.elapsed();
    let journal = Journal::read(store, "s").await;
    assert!(
        journal.texts()[2].contains("timeout"),
        "{:?}",
        journal.texts()
    );
    let entered = entered.lock().unwrap().map(|at| at.duration_since(began));
    (entered, ended)
}

/// S206: the limit counts from the intent, so that its deadline is true.
#[tokio::test(start_paused = true)]
async fn s206_the_time_of_a_call_counts_from_its_intent() {
    let soon = Duration::from_secs(1);
    let (entered, ended) = play(Duration::ZERO).await;
    assert!(entered.unwrap() < soon);
    assert!(ended >= LIMIT && ended < LIMIT + soon);
    let (entered, ended) = play(Duration::from_secs(12)).await;
    assert!(entered.unwrap() >= Duration::from_secs(12));
    assert!(ended >= LIMIT && ended < LIMIT + soon, "{ended:?}");
}

/// S206: with no time left the handler is not entered.
#[tokio::test(start_paused = true)]
async fn s206_a_call_without_time_is_not_entered() {
    let (entered, ended) = play(Duration::from_secs(22)).await;
    assert_eq!(entered, None);
    assert!(ended < Duration::from_secs(23), "{ended:?}");
}

//! What sessions cost: opening, memory, sessions in a second.
//!
//! ```sh
//! cargo bench -p allm-examples --bench sessions
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a program of ours that nobody else runs"
)]

use std::alloc::System;
use std::sync::Arc;
use std::time::{Duration, Instant};

use allm::session::Session as Data;
use allm::{
    Effect, Engine, Fake, Link, LoadFrom, Message, Script, Session, SessionStore, Sessions,
    SessionsOptions, Thread, Tool, Version,
};
use allm_postgres_test::Server;
use allm_store::{MemoryStore, PostgresStore, SqliteStore};
use serde_json::{Value, json};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TURNS: usize = 200;

fn engine(calls: usize) -> Engine {
    let tool = Tool::new("note", "Notes something.", json!({"type": "object"}))
        .effect(Effect::Idempotent)
        .handler(|value: Value| async move { Ok::<_, std::fmt::Error>(value) });
    let mut fake = Fake::new();
    for _ in 0..calls {
        let script = Script::new()
            .text("I note it.")
            .call("note", json!({"text": "x".repeat(200)}));
        fake = fake.reply(script).reply("y".repeat(400));
    }
    let fake = fake.always("z".repeat(400));
    Engine::builder()
        .provider(fake)
        .model("fake:any")
        .tool(tool)
        .build()
        .unwrap()
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Opening a session of many turns: from its snapshot, and from its first entry. One after the other, many times.
async fn opening(name: &str, store: Arc<dyn SessionStore>) {
    let sessions = Sessions::with(Arc::clone(&store), SessionsOptions::default());
    let mut session = sessions.create("long").await.unwrap();
    let engine = engine(TURNS / 2);
    for turn in 0..TURNS / 2 {
        let _ = session
            .reply(
                &engine,
                format!("This is message {turn}. {}", "w".repeat(200)),
            )
            .await
            .unwrap();
    }
    let entries = session.version();
    let (mut fast, mut slow) = (Vec::new(), Vec::new());
    for _ in 0..30 {
        let start = Instant::now();
        let opened = sessions.open("long").await.unwrap();
        fast.push(start.elapsed());
        let start = Instant::now();
        let loaded = store
            .load(session.id(), LoadFrom::After(Version(0)))
            .await
            .unwrap();
        loaded.verify(&Link::START).unwrap();
        let (replayed, _) = Data::from_journal(&loaded).unwrap();
        slow.push(start.elapsed());
        assert_eq!(*opened, replayed);
    }
    let (fast, slow) = (median(fast), median(slow));
    println!(
        "open {TURNS} turns, {entries} entries, {name}: snapshot {:.2} ms, replay {:.2} ms, ratio {:.3} (target 0.2)",
        millis(fast),
        millis(slow),
        fast.as_secs_f64() / slow.as_secs_f64()
    );
}

/// Sessions of one message, one tool call and two answers, from creation to end.
async fn throughput(name: &str, store: Arc<dyn SessionStore>, count: usize, at_once: usize) {
    let sessions = Sessions::with(store, SessionsOptions::default());
    let start = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for worker in 0..at_once {
        let sessions = sessions.clone();
        tasks.spawn(async move {
            for number in 0..count / at_once {
                let engine = engine(1);
                let id = format!("{at_once}-{worker}-{number}");
                let mut session = sessions.create(id).await.unwrap();
                let _ = session.reply(&engine, "Go").await.unwrap();
            }
        });
    }
    while let Some(done) = tasks.join_next().await {
        done.unwrap();
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    println!("sessions with one tool turn, {name}, {at_once} at once: {rate:.0} in a second");
}

async fn memory() {
    for (user, model) in [(80, 300), (200, 800), (500, 2_000)] {
        let mut thread = Thread::new();
        for _ in 0..10 {
            thread.push(Message::user("u".repeat(user)));
            thread.push(Message::assistant("a".repeat(model)));
        }
        let mut session = Session::new("sleeping").unwrap().with_thread(thread);
        session.cancel("").unwrap();
        session
            .annotate(allm::session::Annotated::default())
            .unwrap();
        held(session, &format!("{user} and {model} bytes each"));
    }
    let engine = engine(5);
    let mut session = Session::new("sleeping").unwrap();
    for _ in 0..5 {
        let _ = session.reply(&engine, "u".repeat(80)).await.unwrap();
    }
    held(session, "five tool turns");
}

/// What a session holds that was read back, compared with what it was read from.
fn held(session: Session, what: &str) {
    let text = allm::json::to_vec(&session).unwrap();
    drop(session);
    let region = Region::new(GLOBAL);
    let session: Session = allm::json::from_slice(&text).unwrap();
    let change = region.change();
    let held = change.bytes_allocated as i64 - change.bytes_deallocated as i64;
    println!(
        "a sleeping session of {} messages ({what}): {} bytes held, {} bytes of JSON, ratio {:.2} (target 2)",
        session.thread().len(),
        held,
        text.len(),
        held as f64 / text.len() as f64
    );
}

/// What a stored session that nobody drives holds in this process, after it was made, driven, opened again and left.
async fn idle(name: &str, store: Arc<dyn SessionStore>) {
    const COUNT: i64 = 50;
    let sessions = Sessions::with(store, SessionsOptions::default());
    let region = Region::new(GLOBAL);
    let (mut before, mut after) = (0, 0);
    // The first time is for what is made at the first use.
    for time in ["first", "second"] {
        before = quiet(&region).await;
        for number in 0..COUNT {
            let id = format!("idle-{time}-{number}");
            let mut session = sessions.create(id).await.unwrap();
            let _ = session.reply(&engine(1), "Go").await.unwrap();
        }
        for number in 0..COUNT {
            drop(sessions.open(format!("idle-{time}-{number}")).await);
        }
        after = quiet(&region).await;
    }
    let each = (after - before) as f64 / COUNT as f64;
    println!("a stored session that nobody drives, {name}: {each:.1} bytes held (target 0)");
}

/// What is held when it does not change any more: a driver gives its lease back after it has told the result.
async fn quiet(region: &Region<'_, System>) -> i64 {
    let held = || {
        let change = region.change();
        change.bytes_allocated as i64 - change.bytes_deallocated as i64
    };
    let mut last = held();
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = held();
        if now == last {
            break;
        }
        last = now;
    }
    last
}

#[tokio::main]
async fn main() {
    memory().await;
    let folder = allm_examples::folder("bench");
    std::fs::create_dir_all(&folder).unwrap();
    let sqlite = || async {
        let file = folder.join(format!("{}.db", std::process::id()));
        Arc::new(SqliteStore::open(file).await.unwrap()) as Arc<dyn SessionStore>
    };
    let store = sqlite().await;
    idle("SQLite", Arc::clone(&store)).await;
    opening("SQLite", Arc::clone(&store)).await;
    throughput("SQLite", Arc::clone(&store), 200, 1).await;
    throughput("SQLite", store, 400, 16).await;
    let memory: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    throughput("memory", memory, 2_000, 1).await;
    if let Some(server) = Server::private() {
        let store: Arc<dyn SessionStore> =
            Arc::new(PostgresStore::connect(&server.database()).await.unwrap());
        idle("PostgreSQL", Arc::clone(&store)).await;
        opening("PostgreSQL", Arc::clone(&store)).await;
        throughput("PostgreSQL", Arc::clone(&store), 200, 1).await;
        throughput("PostgreSQL", store, 400, 16).await;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

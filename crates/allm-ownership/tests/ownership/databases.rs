//! Databases that are stopped, full, or shared by two drivers.

use std::sync::Arc;
use std::time::Duration;

use allm::{
    DurableSession, Engine, SessionReason, SessionStatus, Sessions, SessionsOptions, StoreReason,
    Tool,
};
use allm_postgres_test::Server;
use allm_store::{PostgresStore, SqliteStore};
use serde_json::{Value, json};

use crate::support::faults::Faults;
use crate::support::gates::Gates;
use crate::support::journal::Journal;
use crate::support::stores::{Store, folder, postgres, sessions, sqlite};
use crate::support::world::{IDEMPOTENT, ONCE, PURE, World, model};
use crate::support::wrapped::Wrapped;

const TOOLS: [&str; 3] = [PURE, IDEMPOTENT, ONCE];

/// S123: the first driver is held before each of its appends in turn, and overtaken there.
#[tokio::test(flavor = "multi_thread")]
async fn s123_overtaken_at_every_append_on_databases() {
    let mut grounds = vec![sqlite().await];
    grounds.extend(postgres().await);
    for ground in grounds {
        let mut at = 1;
        loop {
            let id = format!("s{at}");
            let world = World::default();
            let fake = model(&TOOLS);
            let engine = world.engine("a", None, &fake).build().expect("an engine");
            let faults = Faults::pause(at);
            let rule = Arc::new(faults.clone());
            let first = sessions(&Wrapped::around(ground.machine(0), "a", &rule));
            let mut session = first.create(id.clone()).await.expect("created");
            let run = {
                let engine = engine.clone();
                tokio::spawn(async move { session.reply(&engine, "Go").await })
            };
            while !faults.has_begun() && !run.is_finished() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            if !faults.has_begun() {
                run.await.expect("no panic").expect("nobody came between");
                break;
            }
            let leases = Gates::without_leases();
            leases.open_all();
            let second = sessions(&Wrapped::around(ground.machine(1), "b", &Arc::new(leases)));
            let mut other = second.open(id.clone()).await.expect("opened");
            other.resume(&engine).await.expect("it goes on");
            faults.heal();
            let error = run.await.expect("no panic").unwrap_err();
            let place = format!("{} append {at}", ground.name);
            assert_eq!(error.reason, SessionReason::LostOwnership, "{place}");
            let journal = Journal::read(ground.machine(2), &id).await;
            journal.assert_one_outcome_each();
            assert_eq!(
                journal.session.status(),
                SessionStatus::Completed,
                "{place}"
            );
            world.assert_counts(&TOOLS, &place);
            at += 1;
        }
        assert!(at > 4, "{at} appends");
    }
}

/// S163: a file that may not grow.
#[tokio::test(flavor = "multi_thread")]
async fn s163_a_full_file_of_sqlite() {
    let folder = folder();
    let path = folder.join("sessions.db");
    let small = SqliteStore::options().max_pages(60).open(&path).await;
    let store: Store = Arc::new(small.expect("a file"));
    let mut options = SessionsOptions::default();
    options.retry_for = Duration::ZERO;
    let machine = Sessions::with(Arc::clone(&store), options);
    let world = World::default();
    let fake = model(&TOOLS);
    let engine = world.engine("a", None, &fake).build().expect("an engine");
    let mut session = machine.create("s").await.expect("created");
    // Fills the file until nothing fits in.
    let mut filler = machine.create("filler").await.expect("created");
    let mut size = 20_000;
    while size > 10 {
        let text = "x".repeat(size);
        let sent = filler.send(text, allm::session::Delivery::NextRun).await;
        if let Err(error) = sent {
            assert_eq!(store_reason(&error), Some(StoreReason::Full));
            size /= 2;
        }
    }
    let error = session.reply(&engine, "Go").await.unwrap_err();
    assert_eq!(error.reason, SessionReason::Store, "{error}");
    assert_eq!(store_reason(&error), Some(StoreReason::Full));
    assert_eq!(store_reason(&error).is_some(), !error.unsaved.is_empty());
    drop((session, filler, machine, store));
    // With room again the run can be had.
    let store: Store = Arc::new(SqliteStore::open(&path).await.expect("a file"));
    let machine = sessions(&store);
    let mut session = machine.open("s").await.expect("opened");
    session.save(error.unsaved).await.expect("saved");
    finish(&mut session, &engine).await;
    let journal = Journal::read(&store, "s").await;
    journal.assert_one_outcome_each();
    assert_eq!(journal.session.status(), SessionStatus::Completed);
    assert_eq!(journal.count("user_message"), 1);
    world.assert_counts(&TOOLS, "full");
    let _ = std::fs::remove_dir_all(folder);
}

async fn finish(session: &mut DurableSession, engine: &Engine) {
    if session.status() == SessionStatus::InProgress {
        session.resume(engine).await.expect("it ends");
    }
}

fn store_reason(error: &allm::SessionError) -> Option<StoreReason> {
    error.store.as_ref().map(|error| error.reason)
}

/// A tool that stops the server while it runs.
fn stopping(server: &Arc<Server>) -> Tool {
    let server = Arc::clone(server);
    Tool::new("stop", "Stops the server.", json!({"type": "object"})).blocking(move |_: Value| {
        server.stop();
        Ok::<_, std::fmt::Error>("stopped")
    })
}

/// S164: a real server that is gone for a short time, and for a longer one.
#[tokio::test(flavor = "multi_thread")]
async fn s164_postgres_is_stopped_in_mid_turn() {
    let Some(server) = Server::private() else {
        return;
    };
    let server = Arc::new(server);
    let url = server.database();
    for (id, down, retry_for) in [("short", 2, 30), ("long", 6, 1)] {
        let options = PostgresStore::options().wait(Duration::from_secs(1));
        let store: Store = Arc::new(options.connect(&url).await.expect("a database"));
        let mut options = SessionsOptions::default();
        options.retry_for = Duration::from_secs(retry_for);
        let machine = Sessions::with(Arc::clone(&store), options);
        let world = World::default();
        let fake = model(&["stop", ONCE]);
        let engine = world.engine("a", None, &fake).tool(stopping(&server));
        let engine = engine.build().expect("an engine");
        let mut session = machine.create(id).await.expect("created");
        let starting = {
            let (server, world) = (Arc::clone(&server), world.clone());
            std::thread::spawn(move || {
                // It is stopped by the tool, so the tools have run.
                while server_runs(&server) || world.entered(ONCE) == 0 {
                    std::thread::sleep(Duration::from_millis(20));
                }
                std::thread::sleep(Duration::from_secs(down));
                server.start();
            })
        };
        let end = session.reply(&engine, "Go").await;
        tokio::task::spawn_blocking(move || starting.join().expect("started"))
            .await
            .unwrap();
        if id == "short" {
            end.expect("it goes on");
        } else {
            let error = end.unwrap_err();
            assert_eq!(
                store_reason(&error),
                Some(StoreReason::Unavailable),
                "{error}"
            );
            assert!(
                error
                    .unsaved
                    .iter()
                    .any(|body| body.kind() == "tool_outcome")
            );
            fake.assert_calls(1);
            session.save(error.unsaved).await.expect("saved");
            finish(&mut session, &engine).await;
        }
        let journal = Journal::read(&store, id).await;
        journal.assert_one_outcome_each();
        assert_eq!(journal.session.status(), SessionStatus::Completed);
        assert_eq!(journal.count("model_responded"), 2);
        assert_eq!(journal.count("tool_outcome"), 2);
        assert_eq!((world.entered(ONCE), world.effects(ONCE)), (1, 1));
    }
}

fn server_runs(server: &Server) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", server.port())).is_ok()
}

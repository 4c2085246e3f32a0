//! Sessions in a store.

use allm::session::Delivery;
use allm::{
    DeleteIf, Event, Fake, HaltReason, LoadFrom, Script, SessionReason, SessionStatus,
    SessionStore, Sessions, SessionsOptions, Version,
};
use allm_store::MemoryStore;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{engine, giving};

#[tokio::test]
async fn a_stored_session_goes_on_elsewhere() {
    let store = Arc::new(MemoryStore::new());
    let here = Sessions::with(store.clone(), SessionsOptions::default());
    let there = Sessions::with(store.clone(), SessionsOptions::default());
    let script = Script::new().call("a", json!({}));
    let fake = Fake::new().reply(script).reply("done").reply("more");
    let engine = engine(&fake, vec![giving("a", json!(1))]);
    let mut session = here.create("s").await.unwrap();
    let result = session.reply(&engine, "Go").await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Completed);
    let mut other = there.open("s").await.unwrap();
    assert_eq!(*other, *session);
    other.reply(&engine, "On").await.unwrap();
    assert_eq!(other.thread().len(), 6);
    let error = session.reply(&engine, "Old").await.unwrap_err();
    assert_eq!(error.reason, SessionReason::Conflict);
    session.reload().await.unwrap();
    assert_eq!(*other, *session);
    session.send("later", Delivery::NextRun).await.unwrap();
    assert!(session.is_runnable());
    here.delete(session.id(), DeleteIf::Any).await.unwrap();
    let error = other.reload().await.unwrap_err();
    assert_eq!(error.reason, SessionReason::LostOwnership);
}

/// S69, S195: a snapshot is written after each run of a short session, also after one that failed before its first request.
#[tokio::test]
async fn s69_a_snapshot_after_each_run() {
    let store = Arc::new(MemoryStore::new());
    let sessions = Sessions::with(store.clone(), SessionsOptions::default());
    let fake = Fake::new().with_key_use(allm::KeyUse::Required);
    let engine = engine(&fake.reply("Hello"), vec![]);
    let mut session = sessions.create("s").await.unwrap();
    let covered = async |version: Version| {
        let id = allm::SessionId::new("s").unwrap();
        let loaded = store.load(&id, LoadFrom::Snapshot).await.unwrap();
        let snapshot = loaded.snapshot.map(|snapshot| snapshot.version);
        assert_eq!(snapshot, Some(version));
    };
    session.reply(&engine, "Hi").await.unwrap_err();
    assert_eq!(session.status(), SessionStatus::Error);
    covered(session.version()).await;
    let failed = session.version();
    session.resume(&engine).await.unwrap_err();
    assert_eq!(session.version(), failed, "it was refused");
    session
        .retry(&engine)
        .api_key(crate::support::api_key())
        .await
        .unwrap();
    covered(session.version()).await;
}

#[tokio::test(start_paused = true)]
async fn s49_a_dropped_stream_does_not_stop_the_run() {
    let store = Arc::new(MemoryStore::new());
    let sessions = Sessions::with(store.clone(), SessionsOptions::default());
    let fake = Fake::new().reply(
        Script::new()
            .text("one")
            .delay(Duration::from_secs(1))
            .text("two"),
    );
    let engine = engine(&fake, vec![]);
    let mut session = sessions.create("s").await.unwrap();
    let mut stream = session.reply(&engine, "Hi").stream();
    while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
    drop(stream);
    loop {
        session.reload().await.unwrap();
        if session.status() == SessionStatus::Completed {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(session.thread().last().unwrap().text(), "onetwo");
    assert!(session.version() > Version(2));
}

#[tokio::test(start_paused = true)]
async fn cancel_from_elsewhere() {
    let store = Arc::new(MemoryStore::new());
    let sessions = Sessions::with(store.clone(), SessionsOptions::default());
    let there = Sessions::with(store.clone(), SessionsOptions::default());
    let fake = Fake::new().reply(Script::new().text("one").hang());
    let engine = engine(&fake, vec![]);
    let mut session = sessions.create("s").await.unwrap();
    let mut stream = session.reply(&engine, "Hi").stream();
    while !matches!(stream.next().await, Some(Event::TextDelta(_))) {}
    let mut other = there.open("s").await.unwrap();
    assert_eq!(other.status(), SessionStatus::InProgress);
    let error = other.resume(&engine).await.unwrap_err();
    assert_eq!(error.reason, SessionReason::Busy);
    other.cancel("enough").await.unwrap();
    let result = stream.finish().await.unwrap();
    assert_eq!(result.halted_reason, HaltReason::Cancelled);
    other.reload().await.unwrap();
    assert_eq!(other.status(), SessionStatus::Idle);
    assert_eq!(other.thread().last().unwrap().text(), "one");
}

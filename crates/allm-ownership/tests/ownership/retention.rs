//! O: what is kept, and what is deleted.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use allm::session::Delivery;
use allm::{
    ApprovalRule, DeleteIf, Engine, Fake, OnToolError, RetentionPolicy, Script, SessionId,
    SessionReason, SessionStatus, StoreReason, Timestamp, ToolReply, Version,
};
use allm_store::{Clock, MemoryStore};
use serde_json::{Value, json};

use crate::owners::{held, tool};
use crate::support::journal::Journal;
use crate::support::stores::{Store, all, clocked, sessions};
use crate::support::world::{ONCE, World, model};

/// S169
#[tokio::test(flavor = "multi_thread")]
async fn s169_a_deleted_session_is_not_read_and_not_written() {
    for ground in all().await {
        let engine = World::default().engine("a", None, &model(&[]));
        let engine = engine.build().expect("an engine");
        let here = sessions(ground.machine(0));
        let mut session = here.create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("done");
        let version = session.version();
        let id = session.id().clone();
        let wrong = here
            .delete(&id, DeleteIf::Version(Version(1)))
            .await
            .unwrap_err();
        // S170
        assert_eq!(wrong.reason, SessionReason::Conflict, "{}", ground.name);
        here.delete(&id, DeleteIf::Version(version))
            .await
            .expect("deleted");
        let there = sessions(ground.machine(1));
        let error = there.open("s").await.unwrap_err();
        let reason = error.store.expect("a store's answer").reason;
        assert_eq!(reason, StoreReason::NotFound, "{}", ground.name);
        let late = session.send("late", Delivery::NextTurn).await.unwrap_err();
        let reason = late.store.expect("a store's answer").reason;
        assert_eq!(reason, StoreReason::Gone, "{}", ground.name);
    }
}

/// S170
#[tokio::test(flavor = "multi_thread")]
async fn s170_a_forced_deletion_stops_the_driver() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let there = sessions(ground.machine(1));
        let id = SessionId::new("s").expect("an id");
        let error = there.delete(&id, DeleteIf::Any).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::Busy, "{}", ground.name);
        assert!(error.held.is_some());
        there.delete(&id, DeleteIf::Force).await.expect("deleted");
        held.gates.open_all();
        let (end, _) = held.run.await.expect("no panic");
        assert_eq!(end, Err(SessionReason::LostOwnership), "{}", ground.name);
        held.fake.assert_calls(1);
        assert_eq!(held.world.effects(ONCE).max(1), 1);
    }
}

/// Sessions of every status, with and without input that nobody has heard.
async fn sessions_of_all_kinds(store: &Store) -> allm::Sessions {
    let here = sessions(store);
    let engine = |script: Script| {
        let fake = Fake::new().reply(script);
        let ask = tool("ask").handler(|_: Value| async { ToolReply::ask("Sure?") });
        let gated = tool("gated")
            .approval(ApprovalRule::Always)
            .handler(|_: Value| async { Ok::<_, std::fmt::Error>("agreed") });
        let fails = tool("fails").handler(|_: Value| async { ToolReply::error("broken") });
        Engine::builder()
            .provider(fake)
            .model("fake:any")
            .tools([ask, gated, fails, tool("manual").manual()])
            .on_tool_error(OnToolError::Halt)
            .build()
            .expect("an engine")
    };
    for input in [false, true] {
        for kind in [
            "new",
            "completed",
            "error",
            "user",
            "tools",
            "approval",
            "approved",
            "submitted",
            "failed-tools",
        ] {
            let mut session = here
                .create(format!("{kind}-{input}"))
                .await
                .expect("created");
            let script = match kind {
                "new" => None,
                "completed" => Some(Script::new().text("done")),
                "error" => Some(Script::new().fail(allm::AdapterReason::InvalidRequest)),
                "user" => Some(Script::new().call("ask", json!({}))),
                "approval" | "approved" => Some(Script::new().call("gated", json!({}))),
                // The other one fails the run, and this one still waits.
                "failed-tools" => Some(
                    Script::new()
                        .call("manual", json!({}))
                        .call("fails", json!({})),
                ),
                _ => Some(Script::new().call("manual", json!({}))),
            };
            if let Some(script) = script {
                let _ = session.reply(&engine(script), "Go").await;
            }
            let wait = session.waits().first().map(|wait| wait.call);
            match (kind, wait) {
                ("approved", Some(call)) => session.approve(call).await.expect("approved"),
                ("submitted", Some(call)) => {
                    let given = session.submit_tool_result(call, "r").await;
                    given.expect("taken");
                }
                _ => {}
            }
            if input {
                session
                    .send("unheard", Delivery::NextTurn)
                    .await
                    .expect("sent");
            }
        }
    }
    // One that was left in progress.
    let leaving = sessions(store);
    let mut session = leaving.create("progress").await.expect("created");
    let engine = engine(Script::new().hang());
    let run = tokio::spawn(async move { session.reply(&engine, "Go").await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    leaving.shutdown(Duration::ZERO).await;
    let _ = run.await;
    here
}

async fn ids(here: &allm::Sessions) -> BTreeSet<String> {
    let everything = allm::SessionFilter::new();
    let listed = here.list(&everything, allm::PageRequest::default()).await;
    let heads = listed.expect("listed").items;
    heads
        .iter()
        .map(|head| head.id.as_str().to_owned())
        .collect()
}

/// What a sweep leaves, found one by one.
async fn staying(
    store: &Store,
    ids: &BTreeSet<String>,
    named: &BTreeSet<SessionStatus>,
) -> BTreeSet<String> {
    let mut stay = BTreeSet::new();
    for id in ids {
        let session = Journal::read(store, id).await.session;
        let status = session.status();
        // Something was said, answered, given or approved, and nobody has gone on with it.
        let is_undelivered =
            !session.inbox().is_empty() || status == SessionStatus::Idle && session.is_runnable();
        let is_asking = status == SessionStatus::Error && !session.waits().is_empty();
        if !named.contains(&status) || is_undelivered || is_asking {
            stay.insert(id.clone());
        }
    }
    stay
}

/// S171: by the default, and by a policy that names everything, on every store.
#[tokio::test(start_paused = true)]
async fn s171_a_sweep_leaves_what_somebody_waits_for() {
    let hour = Duration::from_secs(3600);
    let unused = RetentionPolicy::unused_for(hour);
    let everything = unused.clone().statuses([
        SessionStatus::Idle,
        SessionStatus::Completed,
        SessionStatus::Error,
        SessionStatus::AwaitingUser,
        SessionStatus::AwaitingApproval,
        SessionStatus::AwaitingTools,
        SessionStatus::InProgress,
    ]);
    for policy in [unused, everything] {
        let clock = Clock::manual(Timestamp::from_millis(1_000_000).unwrap());
        for ground in clocked(&clock) {
            let store = ground.machine(0);
            let here = sessions_of_all_kinds(store).await;
            let before = ids(&here).await;
            for kept in ["approved-false", "submitted-false", "failed-tools-false"] {
                assert!(before.contains(kept));
            }
            clock.advance(hour * 2);
            let stay = staying(store, &before, &policy.statuses).await;
            here.sweep(&policy, 100).await.expect("swept");
            let left = ids(&here).await;
            assert_eq!(left, stay, "{}", ground.name);
            for kept in ["approved-false", "submitted-false", "failed-tools-false"] {
                assert!(left.contains(kept), "{}: {kept}", ground.name);
            }
        }
    }
}

/// S171
#[tokio::test(start_paused = true)]
async fn s171_a_sweep_deletes_what_the_policy_says() {
    let statuses = [
        SessionStatus::Idle,
        SessionStatus::Completed,
        SessionStatus::Error,
        SessionStatus::AwaitingUser,
        SessionStatus::AwaitingTools,
        SessionStatus::InProgress,
    ];
    // Every set of statuses.
    for set in 0_u32..1 << statuses.len() {
        let clock = Clock::manual(Timestamp::from_millis(1_000_000).unwrap());
        let store: Store = Arc::new(MemoryStore::with_clock(clock.clone()));
        let here = sessions_of_all_kinds(&store).await;
        let named = statuses.iter().enumerate();
        let named: BTreeSet<SessionStatus> = named
            .filter(|(place, _)| set & (1 << place) != 0)
            .map(|(_, status)| *status)
            .collect();
        let hour = Duration::from_secs(3600);
        let policy = RetentionPolicy::unused_for(hour).statuses(named.clone());
        let before = ids(&here).await;
        assert_eq!(
            here.sweep(&policy, 100).await.expect("swept"),
            0,
            "too young"
        );
        clock.advance(hour * 2);
        let stay = staying(&store, &before, &named).await;
        let goes = before.len() - stay.len();
        if goes > 1 {
            assert_eq!(here.sweep(&policy, 1).await.expect("swept"), 1);
            assert_eq!(ids(&here).await.len(), before.len() - 1);
        }
        here.sweep(&policy, 100).await.expect("swept");
        assert_eq!(ids(&here).await, stay, "{named:?}");
    }
}

/// S171: one that is driven stays, whatever the policy says.
#[tokio::test(flavor = "multi_thread")]
async fn s171_a_sweep_leaves_what_is_driven() {
    for ground in all().await {
        let held = held(&ground, Vec::new()).await;
        let there = sessions(ground.machine(1));
        let policy = RetentionPolicy::unused_for(Duration::ZERO);
        let policy = policy.statuses([SessionStatus::InProgress, SessionStatus::Idle]);
        assert_eq!(there.sweep(&policy, 100).await.expect("swept"), 0);
        held.gates.open_all();
        assert_eq!(
            held.run.await.expect("no panic").0,
            Ok(()),
            "{}",
            ground.name
        );
    }
}

/// S172
#[tokio::test(flavor = "multi_thread")]
async fn s172_trimming() {
    for ground in all().await {
        let calls = Script::new().call("manual", json!({}));
        let fake = Fake::new().reply("one").reply(calls).reply("two");
        let engine = World::default().engine("a", None, &fake);
        let engine = engine.tool(tool("manual").manual()).build().unwrap();
        let here = sessions(ground.machine(0));
        let mut session = here.create("s").await.expect("created");
        // Before any snapshot is there.
        let error = session.trim(Version(2)).await.unwrap_err();
        let reason = error.store.expect("a store's answer").reason;
        assert_eq!(reason, StoreReason::Refused, "{}", ground.name);
        session.reply(&engine, "Go").await.expect("done");
        let settled = session.version();
        session.reply(&engine, "On").await.expect("it waits");
        // Into the open turn.
        let error = session.trim(session.version()).await.unwrap_err();
        let reason = error.store.expect("a store's answer").reason;
        assert_eq!(reason, StoreReason::Refused, "{}", ground.name);
        session.trim(settled.next()).await.expect("trimmed");
        let mut other = sessions(ground.machine(1)).open("s").await.expect("opened");
        assert_eq!(*other, *session, "{}", ground.name);
        let wait = other.waits()[0].call;
        other.submit_tool_result(wait, "r").await.expect("taken");
        other.resume(&engine).await.expect("done");
        session.reload().await.expect("read");
        assert_eq!(*other, *session, "{}", ground.name);
        assert_eq!(session.status(), SessionStatus::Completed);
    }
}

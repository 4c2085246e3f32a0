//! K: somebody with access to the database alters what was approved.
//!
//! Nothing in a journal or a snapshot is secret, so whoever can write there can make every hash anew. What loading looks
//! at is refused there: entries that do not lead where they say, an approval that is not about the arguments of its call.
//! What passes is met by the driver, which hashes what it is about to run.

mod forge;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm::session::{ApprovalDecided, EntryBody, arguments_hash};
use allm::{
    ApprovalRule, DurableSession, Effect, Engine, Fake, HaltReason, Map, Script, SessionReason,
    SessionStatus, StoreReason, Tool,
};
use serde_json::{Value, json};

use crate::owners::tool;
use crate::support::journal::Journal;
use crate::support::stores::{Ground, Store, all, sessions};
use forge::{forged_journal, replace_snapshot};

/// With which arguments the handler was entered.
#[derive(Clone, Default)]
struct Acted(Arc<Mutex<Vec<Map>>>);

impl Acted {
    fn entered(&self) -> Vec<Map> {
        self.0.lock().expect("not poisoned").clone()
    }

    /// A gated tool. It never ends when it is stuck.
    fn tool(&self, effect: Effect, is_stuck: bool) -> Tool {
        let acted = self.clone();
        tool("act")
            .effect(effect)
            .approval(ApprovalRule::Always)
            .handler(move |arguments: Map| {
                acted.0.lock().expect("not poisoned").push(arguments);
                async move {
                    if is_stuck {
                        std::future::pending::<()>().await;
                    }
                    Ok::<_, std::fmt::Error>("acted")
                }
            })
    }
}

fn map(value: Value) -> Map {
    match value {
        Value::Object(map) => map,
        other => panic!("not an object: {other}"),
    }
}

fn asked() -> Map {
    map(json!({"x": 1}))
}

fn altered() -> Map {
    map(json!({"x": 666}))
}

/// A session with one gated call.
struct Case {
    store: Store,
    acted: Acted,
    fake: Fake,
    engine: Engine,
    session: DurableSession,
}

async fn waiting(ground: &Ground, id: &str, effect: Effect, is_stuck: bool) -> Case {
    let acted = Acted::default();
    let fake = Fake::new()
        .reply(Script::new().call("act", asked()))
        .always("done");
    let engine = Engine::builder().provider(fake.clone()).model("fake:any");
    let engine = engine.tool(acted.tool(effect, is_stuck)).build();
    let engine = engine.expect("an engine");
    let store = Arc::clone(ground.machine(0));
    let mut session = sessions(&store).create(id).await.expect("created");
    session.reply(&engine, "Go").await.expect("it waits");
    assert_eq!(session.status(), SessionStatus::AwaitingApproval);
    Case {
        store,
        acted,
        fake,
        engine,
        session,
    }
}

impl Case {
    async fn approve(&mut self) {
        let approval = self.session.approvals().remove(0);
        assert_eq!(approval.arguments, asked());
        self.session.approve(&approval).await.expect("approved");
    }

    /// As another machine finds the session.
    async fn open(&self) -> DurableSession {
        let opened = sessions(&self.store).open(self.session.id().as_str()).await;
        opened.expect("opened")
    }

    /// What is stored is accepted, and what it would run is not run.
    async fn assert_not_run(&self, place: &str) {
        let before = self.acted.entered();
        let mut opened = self.open().await;
        assert_ne!(*opened, *self.session, "{place}: it is as it was");
        let result = opened.resume(&self.engine).await.expect("a result");
        assert_eq!(result.halted_reason, HaltReason::Error, "{place}");
        assert_eq!(result.metadata["error"]["reason"], "approval_mismatch");
        assert_eq!(opened.status(), SessionStatus::Error, "{place}");
        let failure = opened.failure().expect("a failure");
        assert_eq!(failure.kind, "approval_mismatch", "{place}");
        assert!(!failure.retryable, "{place}");
        assert_eq!(self.acted.entered(), before, "{place}");
        self.fake.assert_calls(1);
        // It stays so, for whoever comes.
        let mut again = self.open().await;
        assert_eq!(again.status(), SessionStatus::Error, "{place}");
        let error = again.resume(&self.engine).await.unwrap_err();
        assert_eq!(error.reason, SessionReason::InvalidState, "{place}");
        assert_eq!(self.acted.entered(), before, "{place}");
    }
}

fn call(data: &mut Value) -> &mut Value {
    &mut data["open_turn"]["calls"][0]
}

/// Alters the model's own call.
fn alter_call(data: &mut Value) {
    let call = &mut data["thread"]["messages"][1]["tool_calls"][0];
    call["arguments"] = Value::Object(altered());
    call["raw_arguments"] = json!(Value::Object(altered()).to_string());
}

/// S146: the call is altered while the person looks at what was asked for; what he agrees to is not what would be run.
#[tokio::test(flavor = "multi_thread")]
async fn s146_a_call_altered_before_the_decision_is_not_run() {
    for ground in all().await {
        let mut case = waiting(&ground, "s", Effect::AtMostOnce, false).await;
        replace_snapshot(&case.store, "s", alter_call).await;
        let opened = case.open().await;
        let asked_for = std::mem::replace(&mut case.session, opened);
        assert_ne!(*case.session, *asked_for, "{}", ground.name);
        case.approve().await;
        case.session = asked_for;
        case.assert_not_run(ground.name).await;
    }
}

/// S146: other arguments are put beside the call after the decision.
#[tokio::test(flavor = "multi_thread")]
async fn s146_arguments_put_in_after_the_decision_are_not_run() {
    for ground in all().await {
        let mut case = waiting(&ground, "s", Effect::AtMostOnce, false).await;
        case.approve().await;
        let put_in = |data: &mut Value| call(data)["edited_arguments"] = json!(altered());
        replace_snapshot(&case.store, "s", put_in).await;
        case.assert_not_run(ground.name).await;
    }
}

/// S146: the arguments that the person put in are altered.
#[tokio::test(flavor = "multi_thread")]
async fn s146_edited_arguments_that_were_altered_are_not_run() {
    for ground in all().await {
        let mut case = waiting(&ground, "s", Effect::AtMostOnce, false).await;
        let approval = case.session.approvals().remove(0);
        let edited = map(json!({"x": 9}));
        let decided = case.session.approve_with(&case.engine, &approval, edited);
        decided.await.expect("approved");
        let alter = |data: &mut Value| {
            let edited = &mut call(data)["edited_arguments"];
            assert_eq!(*edited, json!({"x": 9}));
            *edited = json!(altered());
        };
        replace_snapshot(&case.store, "s", alter).await;
        case.assert_not_run(ground.name).await;
    }
}

/// S146: a call that was begun with what was approved is not tried again with something else.
#[tokio::test(flavor = "multi_thread")]
async fn s146_another_attempt_is_at_what_was_approved_too() {
    for ground in all().await {
        for effect in [Effect::Idempotent, Effect::AtMostOnce] {
            let id = format!("{effect:?}");
            let mut case = waiting(&ground, &id, effect.clone(), true).await;
            case.approve().await;
            // A machine goes down in the middle of the call.
            let machine = sessions(&case.store);
            let mut driven = machine.open(id.as_str()).await.expect("opened");
            let engine = case.engine.clone();
            let run = tokio::spawn(async move { driven.resume(&engine).await.map(|_| ()) });
            while case.acted.entered().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            machine.shutdown(Duration::ZERO).await;
            let _ = run.await;
            assert_eq!(case.open().await.status(), SessionStatus::InProgress);
            let put_in = |data: &mut Value| {
                assert_eq!(call(data)["state"], "intended");
                call(data)["edited_arguments"] = json!(altered());
            };
            replace_snapshot(&case.store, &id, put_in).await;
            case.assert_not_run(&format!("{} {id}", ground.name)).await;
            assert_eq!(case.acted.entered(), [asked()], "{}", ground.name);
        }
    }
}

/// S146, S73: a call that is not what its approval is about is seen on loading. The snapshot is done without, and what
/// the journal says is run; where the journal is no more, nothing is.
#[tokio::test(flavor = "multi_thread")]
async fn s146_a_snapshot_with_altered_arguments_is_not_believed() {
    for ground in all().await {
        for is_trimmed in [false, true] {
            let id = format!("trimmed {is_trimmed}");
            let mut case = waiting(&ground, &id, Effect::AtMostOnce, false).await;
            case.approve().await;
            if is_trimmed {
                let last = forge::snapshot_of(&case.store, &id).await;
                let at = case.session.position().expect("a place");
                case.store.put_snapshot(&at, last).await.expect("kept");
                case.store.trim(&at, at.version).await.expect("trimmed");
            }
            replace_snapshot(&case.store, &id, alter_call).await;
            let opened = sessions(&case.store).open(id.as_str()).await;
            if is_trimmed {
                let error = opened.unwrap_err();
                assert_eq!(error.store_reason(), Some(StoreReason::Corrupt));
                assert!(case.acted.entered().is_empty(), "{}", ground.name);
                continue;
            }
            let mut opened = opened.expect("read without it");
            assert_eq!(*opened, *case.session, "{}", ground.name);
            opened.resume(&case.engine).await.expect("done");
            assert_eq!(case.acted.entered(), [asked()], "{}", ground.name);
        }
    }
}

/// S146, S72: the answer of the model is altered in the journal, and the chain made anew.
#[tokio::test(flavor = "multi_thread")]
async fn s146_a_journal_with_altered_arguments_is_not_followed() {
    for ground in all().await {
        let mut case = waiting(&ground, "s", Effect::AtMostOnce, false).await;
        case.approve().await;
        let journal = Journal::read(&case.store, "s").await;
        let place = |kind: &str| {
            let found = journal.kinds().iter().position(|found| *found == kind);
            found.expect("an entry") as u64 + 1
        };
        // Whether the hashes of states are as they were or as the altered state would have them: at the latest the
        // decision does not fit what was asked for.
        for (rehashed, version) in [
            (false, place("model_responded")),
            (true, place("approval_decided")),
        ] {
            let alter = |body: &mut EntryBody| {
                if let EntryBody::ModelResponded(entry) = body {
                    forge::alter_answer(entry, &altered());
                }
            };
            let forged = forged_journal(&journal, alter, rehashed).await;
            let error = sessions(&forged).open("s").await.unwrap_err();
            assert_eq!(error.reason, SessionReason::ReplayDiverged, "{rehashed}");
            assert_eq!(error.version.map(|version| version.0), Some(version));
        }
        assert!(case.acted.entered().is_empty());
    }
}

/// What no hash can show: with another decision in the journal as well, it is another journal, in which a person agreed
/// to something else. Tokens with a secret are for that (S148).
#[tokio::test(flavor = "multi_thread")]
async fn a_journal_that_was_made_anew_as_a_whole_is_another_journal() {
    let ground = crate::support::stores::memory();
    let mut case = waiting(&ground, "s", Effect::AtMostOnce, false).await;
    case.approve().await;
    let journal = Journal::read(&case.store, "s").await;
    let alter = |body: &mut EntryBody| match body {
        EntryBody::ModelResponded(entry) => forge::alter_answer(entry, &altered()),
        EntryBody::ApprovalDecided(decided) => {
            let decided: &mut ApprovalDecided = decided;
            decided.arguments_hash = arguments_hash(&altered());
        }
        _ => {}
    };
    let forged = forged_journal(&journal, alter, true).await;
    let mut opened = sessions(&forged).open("s").await.expect("opened");
    opened.resume(&case.engine).await.expect("done");
    assert_eq!(case.acted.entered(), [altered()]);
}

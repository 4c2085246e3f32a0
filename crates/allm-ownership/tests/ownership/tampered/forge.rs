//! What somebody with access to the database can make: snapshots and journals whose hashes are right.

use std::sync::Arc;

use allm::json::canonical_value;
use allm::session::{EntryBody, EntryFacts, JournalEntry, ModelResponded, Session as Data};
use allm::{
    AppendId, Entry, Hash, HeadUpdate, Link, LoadFrom, Map, NewSession, Position, SessionId,
    SessionStatus, Snapshot, Version,
};
use allm_store::MemoryStore;
use serde_json::{Value, json};

use crate::support::journal::Journal;
use crate::support::stores::{Store, sessions};

/// Where a session stands, and the link of its last entry.
async fn link_of(store: &Store, id: &SessionId) -> Link {
    let from = LoadFrom::After(Version(0));
    let loaded = store.load(id, from).await.expect("there");
    loaded.verify(&Link::START).expect("whole")
}

/// The snapshot that a driver would write.
pub(crate) async fn snapshot_of(store: &Store, id: &str) -> Snapshot {
    let session = sessions(store).open(id).await.expect("opened");
    let link = link_of(store, session.id()).await;
    let mut data = (*session).clone();
    data.snapshot(&link).expect("written")
}

/// Puts an altered snapshot in the place of the last one. Its hash is that of the altered state.
pub(crate) async fn replace_snapshot(store: &Store, id: &str, alter: impl Fn(&mut Value)) {
    let session = sessions(store).open(id).await.expect("opened");
    let link = link_of(store, session.id()).await;
    let bytes = session.to_json().expect("written");
    let mut document: Value = serde_json::from_slice(&bytes).expect("JSON");
    let data = &mut document["data"];
    let run = run_hash(&session);
    // Whoever forges knows how it is made.
    assert_eq!(
        json!(state_hash(data, &run)),
        data["state_hash"],
        "{data:#}"
    );
    alter(data);
    let hash = state_hash(data, &run);
    data["state_hash"] = json!(hash);
    let snapshot = Snapshot {
        version: session.version(),
        bytes: document.to_string().into_bytes().into(),
        state_hash: hash,
        chain: link.chain,
    };
    let at = session.position().expect("a place");
    store.put_snapshot(&at, snapshot).await.expect("kept");
}

fn hash_of(value: &Value) -> Hash {
    Hash::of_bytes(&canonical_value(value))
}

/// What stands for an unfinished run. It does not change with what is put beside a call.
fn run_hash(session: &Data) -> Value {
    let Some(state) = session.run() else {
        return Value::Null;
    };
    let started = json!((state.op, &state.model, state.hooks, &state.tools));
    let hash = state.run().clone().state_hash().expect("written");
    json!({
        "id": state.id, "attempt": state.attempt, "interrupted": state.interrupted,
        "recoveries": state.recoveries, "clock": state.clock, "partial": state.partial,
        "started": hash_of(&started), "state": hash,
    })
}

/// The hash of the state in a document, as section 8 of the contract says it is made.
fn state_hash(data: &Value, run: &Value) -> Hash {
    let field = |name: &str| data.get(name).cloned().unwrap_or(Value::Null);
    let or = |name: &str, empty: Value| data.get(name).cloned().unwrap_or(empty);
    let messages = data["thread"]["messages"].as_array().expect("messages");
    let turn = &data["open_turn"];
    let own = usize::try_from(turn["message"].as_u64().expect("a place")).expect("small");
    // The messages before the run, or before the open turn.
    let closed = match data["run"]["loop"]["given"].as_u64() {
        Some(given) => usize::try_from(given).expect("small"),
        None => own,
    };
    let running = messages[..closed].iter().fold(Hash::ZERO, |hash, message| {
        Hash::of(&hash, &canonical_value(message))
    });
    let calls = turn["calls"].as_array().expect("calls").iter();
    let calls = calls.map(|call| hash_of(&json!([call, [null, null, null]])));
    let notes = json!({
        "context": or("context", json!({})), "metadata": or("metadata", json!({})),
        "tags": or("tags", json!({})),
    });
    hash_of(&json!({
        "id": field("id"), "uid": field("uid"), "version": field("version"),
        "machine": field("machine"), "created_at": field("created_at"),
        "updated_at": field("updated_at"), "thread": running, "messages": closed,
        "thread_metadata": data["thread"].get("metadata").cloned().unwrap_or(json!({})),
        "turn": field("turn"),
        "open_turn": {
            "turn": turn["turn"], "message": hash_of(&messages[own]),
            "calls": calls.collect::<Vec<Hash>>(),
        },
        "inbox": or("inbox", json!([])),
        "recent_inputs": hash_of(&or("recent_inputs", json!([]))),
        "run": run, "failure": field("failure"), "last_halt": field("last_halt"),
        "usage": field("usage"), "notes": hash_of(&notes),
    }))
}

/// Gives the first call of an answer other arguments.
pub(crate) fn alter_answer(entry: &mut ModelResponded, arguments: &Map) {
    let mut answer = serde_json::to_value(&entry.response).expect("written");
    alter_arguments(&mut answer, arguments);
    entry.response = serde_json::from_value(answer).expect("an answer");
}

/// Wherever they stand.
fn alter_arguments(value: &mut Value, arguments: &Map) {
    match value {
        Value::Array(items) => {
            for item in items {
                alter_arguments(item, arguments);
            }
        }
        Value::Object(fields) => {
            if let Some(own) = fields.get_mut("arguments") {
                *own = Value::Object(arguments.clone());
            }
            if let Some(raw) = fields.get_mut("raw_arguments") {
                *raw = json!(Value::Object(arguments.clone()).to_string());
            }
            for field in fields.values_mut() {
                alter_arguments(field, arguments);
            }
        }
        _ => {}
    }
}

/// A store with this journal, altered; its chain is whole. The hashes of states are those of the altered states, as long
/// as there are such.
pub(crate) async fn forged_journal(
    journal: &Journal,
    alter: impl Fn(&mut EntryBody),
    rehashed: bool,
) -> Store {
    let id = journal.session.id().clone();
    let mut state = Some(Data::empty(id.clone()));
    let mut link = Link::START;
    let mut entries = Vec::new();
    for entry in &journal.entries {
        let mut entry: JournalEntry = entry.clone();
        alter(&mut entry.body);
        let facts = EntryFacts {
            machine: entry.machine,
            input_id: entry.input_id.clone(),
            ..EntryFacts::at(entry.at)
        };
        let next = state.take().and_then(|mut state| {
            state.apply(&entry.body, &facts).ok()?;
            Some(state)
        });
        if let Some(mut next) = next {
            if rehashed {
                entry.state_hash = next.state_hash().expect("written");
            }
            state = Some(next);
        }
        let bytes = allm::json::to_vec(&entry).expect("written");
        let sealed = Entry::following(&link, entry.body.class(), entry.at, bytes.into());
        link = sealed.link();
        entries.push(sealed);
    }
    let store: Store = Arc::new(MemoryStore::new());
    let new = NewSession {
        id: id.clone(),
        uid: journal.session.uid().expect("a uid"),
        first: entries.remove(0),
        head: HeadUpdate::new(SessionStatus::Idle),
    };
    let at: Position = store.create(&new).await.expect("created").position();
    let writer = allm::WriterId::from("a forger");
    let ttl = std::time::Duration::from_secs(30);
    let lease = store.acquire(&id, &writer, ttl, allm::Takeover::Force);
    let lease = lease.await.expect("given");
    let append = AppendId::from_bytes([6; 16]);
    let head = journal.session.head();
    let appended = store.append(&at, Some(lease.fence), append, &entries, &head);
    appended.await.expect("appended");
    store.release(lease).await.expect("given back");
    store
}

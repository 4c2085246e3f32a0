//! O: a key is written nowhere and told to nobody, wherever it was given and whatever happens.

mod provider;
mod search;

use std::error::Error as _;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use allm::{
    Api, ApiKey, DurableSession, Engine, LoadFrom, OpenAi, PageRequest, SessionError,
    SessionFilter, SessionReason, Sessions, SessionsOptions, StoreReason, Toggle, Version,
};
use allm_store::MemoryStore;

use crate::support::faults::Faults;
use crate::support::programs;
use crate::support::stores::Store;
use crate::support::tables::{Database, databases};
use crate::support::world::{PURE, World};
use crate::support::wrapped::{Fate, Wrapped};
use provider::Provider;
use search::{Logs, Seen};

/// Where keys are given, the strongest first, and which.
const KEYS: [(Place, &str); 4] = [
    (Place::Call, "sk-call-Zr7mQ2xKc0v9TbWnYd41"),
    (Place::Provider, "sk-prov-Lh3sJ8uPe5g6RaXiVk20"),
    (Place::Engine, "sk-engi-Qw1oN4tGz7y2UfCjMb85"),
    (Place::Environment, "sk-envi-Dp6aE9hSl3x8IkBqOv17"),
];

/// By which name the provider looks for its key in the environment.
const VARIABLE: &str = "OPENAI_API_KEY";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Place {
    Call,
    Provider,
    Engine,
    Environment,
}

/// What becomes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Completed,
    /// The provider refuses the key, and repeats it.
    Refused,
    /// The provider breaks off in the middle of an answer, and repeats the key.
    BrokenOff,
    /// The store is full at this append.
    StoreFull(usize),
}

const ENDS: [End; 7] = [
    End::Completed,
    End::Refused,
    End::BrokenOff,
    End::StoreFull(0),
    End::StoreFull(1),
    End::StoreFull(2),
    End::StoreFull(3),
];

/// S173
#[test]
fn s173_a_key_is_found_nowhere() {
    let (_, key) = KEYS[3];
    let environment = [(VARIABLE, key)];
    let out = programs::run(&[], "secrets::with_keys", "keys", &environment);
    let seen = Seen::default();
    seen.bytes("what the program printed", &out.stdout);
    seen.bytes("what the program printed", &out.stderr);
    seen.assert_without(&KEYS.map(|(_, key)| key));
    assert!(out.status.success(), "{}", programs::said(&out));
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it"]
async fn with_keys() {
    if programs::task().is_none() {
        return;
    }
    let logs = Logs::begin();
    let seen = Seen::default();
    for database in databases() {
        let store = database.store().await;
        all_runs(&store, &seen).await;
        look_into(&database, &store, &seen).await;
    }
    let memory: Store = Arc::new(MemoryStore::new());
    all_runs(&memory, &seen).await;
    stored(&memory, &seen).await;
    let told = logs.text();
    for span in ["allm.run", "allm.model_call", "allm.tool"] {
        assert!(told.contains(span), "nothing was told of {span}");
    }
    seen.text("the log", &told);
    seen.assert_without(&KEYS.map(|(_, key)| key));
    programs::done();
}

async fn all_runs(store: &Store, seen: &Seen) {
    for (place, key) in KEYS {
        for end in ENDS {
            one_run(store, seen, place, key, end).await;
        }
    }
}

/// One session with keys at this place and at all that are weaker.
async fn one_run(store: &Store, seen: &Seen, place: Place, key: &str, end: End) {
    let key_of = |wanted: Place| {
        let found = KEYS.iter().find(|(known, _)| *known == wanted);
        let key = ApiKey::new(found.expect("a key").1);
        key.expect("a key").expect("not empty")
    };
    let provider = Provider::start(key, end).await;
    let mut openai = OpenAi::new()
        .base_url(provider.url.as_str())
        .api(Api::ChatCompletions);
    if place <= Place::Provider {
        openai = openai.api_key(key_of(Place::Provider).expose());
    }
    seen.debug("the provider", &openai);
    let mut engine = Engine::builder()
        .provider(openai)
        .model("openai:gpt-any")
        .tools(World::default().tools("a", None))
        .capture_content(Toggle::On);
    if place <= Place::Engine {
        engine = engine.key_source(key_of(Place::Engine));
    }
    seen.debug("the builder", &engine);
    let engine = engine.build().expect("an engine");
    seen.debug("the engine", &engine);

    let mut options = SessionsOptions::default();
    options.retry_for = Duration::ZERO;
    seen.debug("the options", &options);
    let faults = match end {
        End::StoreFull(at) => Faults::from(at, Fate::Refused(StoreReason::Full)),
        _ => Faults::none(),
    };
    let wrapped = Wrapped::around(store, "a", &Arc::new(faults));
    let sessions = Sessions::with(wrapped, options);
    seen.debug("the sessions", &sessions);
    let id = format!("{place:?} {end:?}");
    let mut session = sessions.create(id.clone()).await.expect("created");
    let words = format!("{} {}", "Go", "on ".repeat(40_000));
    let mut call = session.reply(&engine, words);
    if place == Place::Call {
        call = call.api_key(key_of(Place::Call));
    }
    seen.debug("the call", &call);
    let mut stream = call.stream();
    seen.debug("the stream", &stream);
    while let Some(event) = stream.next().await {
        seen.debug("an event", &event);
    }
    let result = stream.finish().await;
    // What was meant to happen did, with the key that was meant.
    assert_eq!(provider.keys(), vec![key; provider.asked()], "{id}");
    match (&result, end) {
        (Ok(result), End::Completed) => {
            assert_eq!(result.text(), "Hello.", "{id}");
            assert_eq!(provider.asked(), 2, "{id}");
        }
        (Ok(result), End::BrokenOff) => {
            assert_eq!(result.halted_reason, allm::HaltReason::Error, "{id}");
        }
        (Err(error), End::Refused) => assert_eq!(error.reason, SessionReason::Engine, "{id}"),
        (Err(error), End::StoreFull(_)) => {
            assert_eq!(error.store_reason(), Some(StoreReason::Full), "{id}");
            assert!(!error.unsaved.is_empty(), "{id}");
        }
        (result, _) => panic!("{id}: {result:?}"),
    }
    if matches!(end, End::Refused | End::BrokenOff) {
        // It is told that there was a failure, so it could have been told with the key.
        assert!(session.failure().is_some(), "{id}");
    }
    match &result {
        Ok(result) => {
            seen.debug("the result", result);
            seen.json("the result", result);
        }
        Err(error) => shown_error(seen, error),
    }
    shown(seen, &session);
}

fn shown_error(seen: &Seen, error: &SessionError) {
    seen.debug("the error", error);
    seen.text("the error", &error.to_string());
    let mut source = error.source();
    while let Some(cause) = source {
        seen.text("its cause", &format!("{cause} {cause:?} {cause:#?}"));
        source = cause.source();
    }
}

fn shown(seen: &Seen, session: &DurableSession) {
    seen.debug("the session", session);
    seen.bytes("the session", &session.to_json().expect("written"));
    seen.json("the failure", &session.failure());
}

/// What the store gives to whoever asks: entries, snapshots, heads.
async fn stored(store: &Store, seen: &Seen) {
    let page = PageRequest::new(500).expect("a size");
    let heads = store.list(&SessionFilter::new(), page).await;
    let heads = heads.expect("listed").items;
    assert_eq!(heads.len(), KEYS.len() * ENDS.len());
    let mut snapshots = 0;
    for head in heads {
        seen.debug("a head", &head);
        for from in [LoadFrom::Snapshot, LoadFrom::After(Version(0))] {
            let loaded = store.load(&head.id, from).await.expect("there");
            seen.debug("what was loaded", &loaded);
            for entry in &loaded.entries {
                seen.bytes("an entry", &entry.bytes);
            }
            if let Some(snapshot) = &loaded.snapshot {
                snapshots += 1;
                seen.bytes("a snapshot", &snapshot.bytes);
            }
        }
    }
    // Of a run that is refused at once, or not stored, there is none.
    assert!(snapshots >= KEYS.len() * 2, "{snapshots} snapshots");
}

/// All that a database holds, and its files.
async fn look_into(database: &Database, store: &Store, seen: &Seen) {
    stored(store, seen).await;
    let tables = database.tables();
    assert!(tables.counts()["blobs"] > 0, "there is nothing long");
    for (table, rows) in &tables.0 {
        for (column, cell) in rows.iter().flatten() {
            seen.bytes(&format!("{}: {table}.{column}", database.name()), cell);
        }
    }
    let files = database.files();
    if let Database::Sqlite(_) = database {
        let mut names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["sessions.db", "sessions.db-shm", "sessions.db-wal"]);
    }
    for (name, bytes) in files {
        seen.bytes(&name, &bytes);
    }
}

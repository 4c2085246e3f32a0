//! O: what is left of a session that was deleted, in every table that there is.

use std::collections::BTreeMap;

use allm::session::Delivery;
use allm::{
    AppendId, Beginning, DeleteIf, DurableSession, Effect, Engine, Entry, Fake, HeadUpdate, Link,
    LoadFrom, NewSession, Position, Script, SessionId, SessionStatus, SessionUid, StoreReason,
    Version,
};
use serde_json::{Value, json};

use crate::owners::tool;
use crate::support::journal::texts;
use crate::support::stores::{Store, sessions};
use crate::support::tables::{Row, Tables, databases};

const LONG: usize = 100_000;

/// A session with long words of the user, of a tool and of the model, of which the first were trimmed, with tags, driven
/// over several runs. With it comes the last version that was trimmed.
async fn driven(store: &Store, id: &str) -> (DurableSession, Version) {
    let long = |letter: &str| format!("{id} {}", letter.repeat(LONG));
    let result = long("r");
    let read = tool("read").effect(Effect::Pure).handler(move |_: Value| {
        let result = result.clone();
        async move { Ok::<_, std::fmt::Error>(result) }
    });
    let fake = Fake::new()
        .reply("one")
        .reply(Script::new().call("read", json!({})))
        .reply(long("m"))
        .reply("three");
    let engine = Engine::builder().provider(fake).model("fake:any");
    let engine = engine.tool(read).build().expect("an engine");
    let beginning = Beginning::new().tag("team", id);
    let made = sessions(store).create_with(id, beginning).await;
    let mut session = made.expect("created");
    session.reply(&engine, "Go").await.expect("done");
    let settled = session.version();
    // Without the name of the session: what is said may be shared.
    let words = "u".repeat(LONG);
    session.reply(&engine, words).await.expect("done");
    session.trim(settled.next()).await.expect("trimmed");
    session.reply(&engine, "Well?").await.expect("done");
    (session, settled)
}

/// A session of a store alone, whose only later entry has the bytes of another's.
async fn copy_of(store: &Store, entry: &Entry) -> Position {
    let id = SessionId::new("copy").expect("an id");
    let first = Entry::following(&Link::START, entry.class, entry.at, "first".into());
    let new = NewSession {
        id,
        uid: SessionUid::from_bytes([7; 16]),
        first: first.clone(),
        head: HeadUpdate::new(SessionStatus::Idle),
    };
    let at = store.create(&new).await.expect("created").position();
    let copy = Entry::following(&first.link(), entry.class, entry.at, entry.bytes.clone());
    let append = AppendId::from_bytes([7; 16]);
    let head = HeadUpdate::new(SessionStatus::Idle);
    let entries = [copy];
    let version = store.append(&at, None, append, &entries, &head).await;
    Position {
        version: version.expect("appended"),
        ..at
    }
}

/// The rows of a table that are not among those of another time.
fn new_rows(now: &Tables, then: &Tables, table: &str) -> Vec<Row> {
    let mut rows = now.0[table].clone();
    for row in &then.0[table] {
        let place = rows.iter().position(|new| new == row);
        rows.remove(place.expect("a row of others is as it was"));
    }
    rows
}

/// S169
#[tokio::test(flavor = "multi_thread")]
async fn s169_no_table_has_a_row_of_a_deleted_session_but_its_tombstone() {
    for database in databases() {
        let name = database.name();
        let store = database.store().await;
        let (other, _) = driven(&store, "the-other-session").await;
        let before = database.tables();

        let (mut doomed, trimmed) = driven(&store, "the-doomed-session").await;
        let (id, uid) = (doomed.id().clone(), doomed.uid().expect("a uid"));
        let traces = [id.as_str().as_bytes(), uid.as_bytes().as_slice()];
        // What the user said stands in an entry without the session's name, so that two can share it.
        let loaded = store.load(&id, LoadFrom::After(trimmed)).await;
        let loaded = loaded.expect("there");
        let long =
            |entry: &&Entry| entry.bytes.len() > LONG && entry.class == allm::EntryClass::Input;
        let shared = loaded.entries.iter().find(long).expect("a long entry");
        let copy = copy_of(&store, shared).await;
        let blob = allm::Hash::of_bytes(&shared.bytes);

        // Every table that there is has rows of it, so that none is forgotten here when one is made.
        let during = database.tables();
        let (then, now) = (before.counts(), during.counts());
        for table in now.keys() {
            let of_sessions = !["allm_schema", "tombstones"].contains(table);
            assert_eq!(now[table] > then[table], of_sessions, "{name}: {table}");
        }
        for trace in traces {
            assert!(during.with(trace).contains_key("sessions"), "{name}");
        }
        assert_eq!(during.with(blob.as_bytes())["entries"], 2, "{name}");

        sessions(&store)
            .delete(&id, DeleteIf::Version(doomed.version()))
            .await
            .expect("deleted");
        let after = database.tables();
        let tombstone = BTreeMap::from([("tombstones".to_owned(), 1)]);
        for trace in traces {
            assert_eq!(after.with(trace), tombstone, "{name}");
        }
        // The blob is there, for the other alone, and the other reads whole.
        assert_eq!(after.with(blob.as_bytes())["entries"], 1, "{name}");
        assert_eq!(after.with(blob.as_bytes())["blobs"], 1, "{name}");
        let loaded = store.load(&copy.id, LoadFrom::After(Version(0))).await;
        let loaded = loaded.expect("there");
        loaded.verify(&Link::START).expect("whole");
        assert_eq!(loaded.entries[1].bytes, shared.bytes, "{name}");
        let again = sessions(&store).open(other.id().as_str()).await;
        let mut again = again.expect("opened");
        assert_eq!(*again, *other, "{name}");

        // Nobody reads it, and nobody writes to it.
        let error = sessions(&store).open(id.as_str()).await.unwrap_err();
        assert_eq!(error.store_reason(), Some(StoreReason::NotFound), "{name}");
        let late = doomed.send("late", Delivery::NextTurn).await.unwrap_err();
        assert_eq!(late.store_reason(), Some(StoreReason::Gone), "{name}");

        // Without the copy the database is what it was before, but for two tombstones.
        store
            .delete(&copy.id, DeleteIf::Version(copy.version))
            .await
            .expect("deleted");
        let end = database.tables();
        for table in end.0.keys() {
            let new = new_rows(&end, &before, table);
            let expected = if table == "tombstones" { 2 } else { 0 };
            assert_eq!(new.len(), expected, "{name}: {table}");
        }
        assert_eq!(end.counts().len(), before.counts().len(), "{name}");

        // The other can be driven.
        let engine = Engine::builder().provider(Fake::new().always("on"));
        let engine = engine.model("fake:any").build().expect("an engine");
        again.reply(&engine, "Go on").await.expect("done");
        assert_eq!(texts(&again).last().expect("a message"), "Assistant: on");
    }
}

//! F: rows of a database that are not what was written, and rows of a newer library. What the session layer makes of each
//! of them, that nothing is done on the strength of it, and that all is well when the row is as it was.

use std::time::Duration;

use allm::session::Delivery;
use allm::{
    ApprovalRule, DeleteIf, Engine, Entry, Fake, Hash, Link, LoadFrom, RetentionPolicy, Script,
    SessionError, SessionId, SessionReason, SessionStatus, Sessions, StoreReason, Version,
};
use serde_json::{Value, json};

use crate::interleavings::orphan;
use crate::owners::tool;
use crate::support::journal::Journal;
use crate::support::stores::{Store, sessions};
use crate::support::tables::{Database, databases};
use crate::support::world::{IDEMPOTENT, ONCE, World, model};

/// What the session layer says of a damaged journal.
type Told = (SessionReason, Option<StoreReason>, Option<u64>);

const fn corrupt(version: u64) -> Told {
    let reason = Some(StoreReason::Corrupt);
    (SessionReason::Store, reason, Some(version))
}

fn told(error: &SessionError) -> Told {
    let of_store = error.store.as_ref().and_then(|store| store.version);
    let version = of_store.or(error.version).map(|version| version.0);
    (error.reason, error.store_reason(), version)
}

fn id(text: &str) -> SessionId {
    SessionId::new(text).expect("an id")
}

async fn raw(store: &Store, session: &str) -> Vec<Entry> {
    let from = LoadFrom::After(Version(0));
    let loaded = store.load(&id(session), from).await;
    loaded.expect("raw entries can be read").entries
}

/// Something done to the rows of a session, and what is said of it.
struct Damage {
    what: String,
    sql: String,
    told: Told,
}

/// Writes SQL that damages a session.
struct Vandal<'a> {
    database: &'a Database,
    session: &'a str,
}

impl Vandal<'_> {
    fn of(&self, version: u64) -> String {
        let session = self.session;
        format!(
            "session = (SELECT key FROM sessions WHERE id = '{session}') AND version = {version}"
        )
    }

    fn remove(&self, version: u64) -> String {
        format!("DELETE FROM entries WHERE {}; ", self.of(version))
    }

    /// Puts an entry in the place of the one at this version.
    fn put(&self, version: u64, entry: &Entry) -> String {
        let bytes = self.database.bytes(&entry.bytes);
        let chain = self.database.bytes(entry.chain.as_bytes());
        let of = self.of(version);
        format!("UPDATE entries SET bytes = {bytes}, chain = {chain} WHERE {of}; ")
    }

    fn put_all(&self, entries: &[Entry]) -> String {
        let put = |entry: &Entry| self.put(entry.version.0, entry);
        entries.iter().map(put).collect()
    }
}

/// The journal with the document of one entry changed, and the chain made to fit.
fn rewritten(entries: &[Entry], version: u64, change: impl Fn(&mut Value)) -> Vec<Entry> {
    let mut link = Link::START;
    let mut all = Vec::new();
    for entry in entries {
        let mut bytes = entry.bytes.to_vec();
        if entry.version.0 == version {
            let mut document = serde_json::from_slice(&bytes).expect("a document");
            change(&mut document);
            bytes = document.to_string().into_bytes();
        }
        let entry = Entry::following(&link, entry.class, entry.at, bytes.into());
        link = entry.link();
        all.push(entry);
    }
    all
}

/// Everything that is done to these entries.
fn damages(vandal: &Vandal<'_>, entries: &[Entry]) -> Vec<Damage> {
    let mut all = Vec::new();
    let mut add = |what: &str, version: u64, sql: String, told: Told| {
        let what = format!("{what} at {version}");
        all.push(Damage { what, sql, told });
    };
    for (place, entry) in entries.iter().enumerate() {
        let version = entry.version.0;
        // S70
        let mut flipped = entry.clone();
        let mut bytes = entry.bytes.to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        flipped.bytes = bytes.into();
        let sql = vandal.put(version, &flipped);
        add("a flipped byte", version, sql, corrupt(version));
        let mut unchained = entry.clone();
        unchained.chain = Hash::ZERO;
        let sql = vandal.put(version, &unchained);
        add("another chain", version, sql, corrupt(version));
        // S71
        let sql = vandal.remove(version);
        add("a removed row", version, sql, corrupt(version));
        if let Some(next) = entries.get(place + 1) {
            let sql = vandal.put(version + 1, entry);
            add("a doubled row", version + 1, sql, corrupt(version + 1));
            let sql = vandal.put(version, next) + &vandal.put(version + 1, entry);
            add("swapped rows", version, sql, corrupt(version));
        }
        // S57
        let newer = rewritten(entries, version, |document| document["v"] = json!(2));
        let told = (SessionReason::UnsupportedVersion, None, Some(version));
        add("a newer format", version, vandal.put_all(&newer), told);
        // S72
        let diverged = rewritten(entries, version, |document| {
            document["data"]["state_hash"] = json!(Hash::ZERO);
        });
        let told = (SessionReason::ReplayDiverged, None, Some(version));
        add("another state", version, vandal.put_all(&diverged), told);
    }
    // S75
    let is_start =
        |entry: &&Entry| String::from_utf8_lossy(&entry.bytes).contains("\"run_started\"");
    let start = entries.iter().find(is_start).expect("a run").version.0;
    let machine = rewritten(entries, start, |document| {
        document["data"]["machine"] = json!(2);
    });
    let told = (SessionReason::UnsupportedMachine, None, Some(start));
    let sql = vandal.put_all(&machine);
    add("an unknown machine", start, sql, told);
    all
}

/// A machine that recovers whatever it finds; what it is told of the session `s`, and whether it went on with `sound`.
async fn recovered(machine: &Sessions, engine: &Engine) -> (Option<Told>, bool) {
    let (mut damaged, mut sound) = (None, false);
    for recovery in machine.recover(engine).await.expect("a list") {
        match recovery.id.as_str() {
            "s" => damaged = recovery.result.err().as_ref().map(told),
            _ => sound = recovery.result.is_ok(),
        }
    }
    (damaged, sound)
}

/// S57, S70, S71, S72, S75: in the tables of a real database, under a run that a crash has left behind. Nobody acts on
/// such a journal and nobody mends it; sessions beside it are recovered; it can be read raw and deleted.
#[tokio::test(flavor = "multi_thread")]
async fn s70_s71_s72_s57_s75_rows_that_are_not_what_was_written() {
    const TOOLS: [&str; 2] = [IDEMPOTENT, ONCE];
    for database in databases() {
        let store = database.store().await;
        let world = World::default();
        orphan(&store, &world, &TOOLS).await;
        database.execute("DELETE FROM snapshots");
        database.execute("CREATE TABLE kept AS SELECT * FROM entries");
        let machine = sessions(&store);
        let was = (*machine.open("s").await.expect("whole")).clone();
        assert_eq!(was.status(), SessionStatus::InProgress);
        let entries = raw(&store, "s").await;
        let vandal = Vandal {
            database: &database,
            session: "s",
        };
        let mut sound = machine.create("sound").await.expect("created");
        let fake = model(&TOOLS);
        for Damage {
            what,
            sql,
            told: as_told,
        } in damages(&vandal, &entries)
        {
            let place = format!("{}: {what}", database.name());
            database.execute(&sql);
            let left = raw(&store, "s").await;
            let error = machine.open("s").await.expect_err(&place);
            assert_eq!(told(&error), as_told, "{place}");
            // Beside it is a session that has something to do.
            sound
                .send("Hello?", Delivery::NextTurn)
                .await
                .expect("sent");
            let bystander = Fake::new().reply("Hello!");
            let engine = world.engine("b", None, &bystander).build();
            let found = recovered(&machine, &engine.expect("an engine")).await;
            assert_eq!(found, (Some(as_told), true), "{place}");
            bystander.assert_calls(1);
            // Nothing was done on the strength of it, and nothing was written.
            assert_eq!(TOOLS.map(|tool| world.entered(tool)), [1, 1], "{place}");
            assert_eq!(raw(&store, "s").await, left, "{place}");
            let restore = "DELETE FROM entries WHERE session IN (SELECT session FROM kept);
                           INSERT INTO entries SELECT * FROM kept";
            database.execute(restore);
            let opened = machine.open("s").await.expect(&place);
            assert_eq!(*opened, was, "{place}");
        }
        // All is as it was, so the run goes on by the crash rules.
        let engine = world.engine("c", None, &fake).build().expect("an engine");
        let mut session = machine.open("s").await.expect("whole");
        session.resume(&engine).await.expect("it goes on");
        assert_eq!(session.status(), SessionStatus::Completed);
        Journal::read(&store, "s").await.assert_one_outcome_each();
        world.assert_counts(&TOOLS, database.name());
        // What cannot be followed can be deleted.
        database.execute("DELETE FROM snapshots");
        database.execute(&vandal.remove(2));
        let error = machine.open("s").await.expect_err("damaged");
        assert_eq!(told(&error), corrupt(2));
        machine
            .delete(&id("s"), DeleteIf::Any)
            .await
            .expect("deleted");
        let error = machine.open("s").await.expect_err("deleted");
        assert_eq!(error.store_reason(), Some(StoreReason::NotFound));
    }
}

/// S73: a snapshot is a cache, as long as the entries are there.
#[tokio::test(flavor = "multi_thread")]
async fn s73_a_snapshot_that_is_not_what_was_written() {
    for database in databases() {
        let store = database.store().await;
        let machine = sessions(&store);
        let engine = World::default().engine("a", None, &model(&[ONCE]));
        let engine = engine.build().expect("an engine");
        let mut session = machine.create("s").await.expect("created");
        session.reply(&engine, "Go").await.expect("done");
        let damage = [
            format!("UPDATE snapshots SET bytes = {}", database.bytes(b"{}")),
            format!(
                "UPDATE snapshots SET state_hash = {}",
                database.bytes(Hash::ZERO.as_bytes())
            ),
        ];
        for sql in &damage {
            let count = "CREATE TABLE before AS SELECT * FROM snapshots";
            database.execute(count);
            database.execute(sql);
            let opened = machine.open("s").await.expect("read without it");
            assert_eq!(*opened, *session, "{}: {sql}", database.name());
            let restore = "DELETE FROM snapshots; INSERT INTO snapshots SELECT * FROM before;
                           DROP TABLE before";
            database.execute(restore);
        }
        let last = session.version();
        session.trim(last).await.expect("trimmed");
        machine.open("s").await.expect("from its snapshot");
        database.execute(&damage[0]);
        let error = machine.open("s").await.expect_err("nothing to begin with");
        assert_eq!(error.store_reason(), Some(StoreReason::Corrupt));
    }
}

/// A session whose only call waits for somebody's agreement, for a moment.
async fn asks(machine: &Sessions, name: &str) {
    let fake = Fake::new().reply(Script::new().call("act", json!({})));
    let act = tool("act").approval(ApprovalRule::Always);
    let act = act.handler(|_: Value| async { Ok::<_, std::fmt::Error>("acted") });
    let engine = Engine::builder().provider(fake).model("fake:any").tool(act);
    let engine = engine.build().expect("an engine");
    let mut session = machine.create(name).await.expect("created");
    let call = session.reply(&engine, "Go");
    let call = call.approval_expiry(Duration::from_millis(1));
    call.await.expect("it waits");
    assert_eq!(session.status(), SessionStatus::AwaitingApproval);
}

/// S144, S171: a session that cannot be read holds up no other, when waits are closed and when old sessions are deleted.
#[tokio::test(flavor = "multi_thread")]
async fn s144_s171_a_damaged_session_is_in_nobody_s_way() {
    for database in databases() {
        let store = database.store().await;
        let machine = sessions(&store);
        // The damaged one is listed first.
        for name in ["a", "b"] {
            asks(&machine, name).await;
        }
        let vandal = Vandal {
            database: &database,
            session: "a",
        };
        database.execute("DELETE FROM snapshots");
        database.execute(&vandal.remove(2));
        let due = machine.open("b").await.expect("whole").next_expiry();
        while store.now().await.expect("a clock") <= due.expect("it expires") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let closed = machine.expire(10).await.expect("the others");
        assert_eq!(closed, 1, "{}", database.name());
        let mut sound = machine.open("b").await.expect("whole");
        assert!(sound.waits().is_empty());
        assert_eq!(told(&machine.open("a").await.unwrap_err()), corrupt(2));
        sound.cancel("enough").await.expect("settled");
        let status = sound.status();
        drop(sound);

        let mut policy = RetentionPolicy::unused_for(Duration::ZERO);
        policy = policy.statuses([status, SessionStatus::AwaitingApproval]);
        tokio::time::sleep(Duration::from_millis(2)).await;
        let deleted = machine.sweep(&policy, 10).await.expect("the others");
        assert_eq!(deleted, 1, "{}", database.name());
        assert!(machine.open("b").await.is_err(), "deleted");
        // Nobody knows whether somebody was not heard in it.
        assert_eq!(told(&machine.open("a").await.unwrap_err()), corrupt(2));
    }
}

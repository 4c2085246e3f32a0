//! What an append costs, as a ratio to a bare insert in a transaction of its own through the same driver, with the same
//! settings. Both take turns in one run, so what else the machine does hits both.
//!
//! The target is at most 1.5 for each store.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::indexing_slicing,
    reason = "a program for developers"
)]

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use allm_core::{
    AppendId, Entry, EntryClass, HeadUpdate, Link, LoadFrom, NewSession, Position, SessionId,
    SessionStatus, SessionStore, SessionUid, Snapshot, Timestamp,
};
use allm_postgres_test::Server;
use allm_store::{PostgresStore, SqliteStore};
use rusqlite::TransactionBehavior;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::sync::oneshot;

/// How many pairs are measured, after as many for warming up as a tenth of it.
const ROUNDS: u64 = 1000;
/// How long an entry is.
const LENGTH: usize = 1024;

struct Writer {
    store: Arc<dyn SessionStore>,
    at: Position,
    link: Link,
}

impl Writer {
    async fn create(store: Arc<dyn SessionStore>, name: &str) -> Self {
        let new = NewSession {
            id: SessionId::new(name).expect("valid"),
            uid: SessionUid::from_bytes([7; 16]),
            first: entry(&Link::START),
            head: HeadUpdate::new(SessionStatus::InProgress),
        };
        let head = store.create(&new).await.expect("created");
        Self {
            store,
            at: head.position(),
            link: new.first.link(),
        }
    }

    async fn append(&mut self) -> Duration {
        let entries = [entry(&self.link)];
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.at.version.0.to_be_bytes());
        let id = AppendId::from_bytes(id);
        let head = HeadUpdate::new(SessionStatus::InProgress);
        let begun = Instant::now();
        let version = self.store.append(&self.at, None, id, &entries, &head).await;
        let took = begun.elapsed();
        self.at.version = version.expect("appended");
        self.link = entries[0].link();
        took
    }
}

fn entry(link: &Link) -> Entry {
    let at = Timestamp::from_millis(1_800_000_000_000).expect("in range");
    Entry::following(link, EntryClass::Input, at, vec![b'x'; LENGTH].into())
}

/// A plain table with a row for each entry.
trait Bare {
    async fn insert(&mut self, version: i64, bytes: &[u8]) -> Duration;
}

/// On a thread of its own, which does one transaction after the other.
struct Thread {
    work: mpsc::Sender<(i64, Vec<u8>, oneshot::Sender<()>)>,
}

impl Thread {
    fn start(mut connection: rusqlite::Connection) -> Self {
        let (work, given) = mpsc::channel::<(i64, Vec<u8>, oneshot::Sender<()>)>();
        std::thread::spawn(move || {
            for (version, bytes, done) in given {
                let transaction = connection
                    .transaction_with_behavior(TransactionBehavior::Immediate)
                    .expect("begun");
                transaction
                    .prepare_cached("INSERT INTO bare (session, version, bytes) VALUES (?, ?, ?)")
                    .expect("a statement")
                    .execute((1, version, bytes))
                    .expect("inserted");
                transaction.commit().expect("committed");
                done.send(()).expect("somebody waits");
            }
        });
        Self { work }
    }
}

impl Bare for Thread {
    async fn insert(&mut self, version: i64, bytes: &[u8]) -> Duration {
        let bytes = bytes.to_vec();
        let begun = Instant::now();
        let (done, inserted) = oneshot::channel();
        self.work.send((version, bytes, done)).expect("it runs");
        inserted.await.expect("inserted");
        begun.elapsed()
    }
}

impl Bare for PgConnection {
    async fn insert(&mut self, version: i64, bytes: &[u8]) -> Duration {
        let begun = Instant::now();
        let mut transaction = self.begin().await.expect("begun");
        sqlx::query("INSERT INTO bare (session, version, bytes) VALUES ($1, $2, $3)")
            .bind(1_i64)
            .bind(version)
            .bind(bytes)
            .execute(&mut *transaction)
            .await
            .expect("inserted");
        transaction.commit().await.expect("committed");
        begun.elapsed()
    }
}

/// The time that this part of all in a hundred did not exceed.
fn quantile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    times[times.len() * percent / 100]
}

async fn compare(name: &str, mut bare: impl Bare, store: Arc<dyn SessionStore>) {
    let mut writer = Writer::create(store, "bench").await;
    let bytes = vec![b'x'; LENGTH];
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + ROUNDS / 10 {
        let version = i64::try_from(round).expect("small");
        let pair = (bare.insert(version, &bytes).await, writer.append().await);
        if round >= ROUNDS / 10 {
            plain.push(pair.0);
            ours.push(pair.1);
        }
    }
    // What the machine does besides is least in the fast quarter.
    for (which, percent) in [("fast quarter", 25), ("median", 50)] {
        let (plain, ours) = (quantile(&mut plain, percent), quantile(&mut ours, percent));
        let ratio = ours.as_secs_f64() / plain.as_secs_f64();
        println!("{name}: {which}: append {ours:.0?}, bare insert {plain:.0?}, ratio {ratio:.2}");
    }

    let snapshot = Snapshot {
        version: writer.at.version,
        bytes: vec![b's'; 40 * 1024].into(),
        state_hash: writer.link.chain,
        chain: writer.link.chain,
    };
    writer
        .store
        .put_snapshot(&writer.at, snapshot)
        .await
        .expect("kept");
    for _ in 0..10 {
        writer.append().await;
    }
    for from in [LoadFrom::Snapshot, LoadFrom::After(allm_core::Version(0))] {
        let mut times = Vec::new();
        let mut entries = 0;
        for _ in 0..50 {
            let begun = Instant::now();
            let loaded = writer.store.load(&writer.at.id, from).await.expect("there");
            times.push(begun.elapsed());
            entries = loaded.entries.len();
        }
        let took = quantile(&mut times, 50);
        println!("{name}: load with {entries} entries ({from:?}) {took:.0?}");
    }
}

#[tokio::main]
async fn main() {
    let folder = std::env::temp_dir().join(format!("allm-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let bare = rusqlite::Connection::open(folder.join("bare.db")).expect("opens");
    bare.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;
         CREATE TABLE bare (session INTEGER, version INTEGER, bytes BLOB, PRIMARY KEY (session, version))",
    )
    .expect("made");
    let bare = Thread::start(bare);
    let store = SqliteStore::open(folder.join("ours.db"))
        .await
        .expect("opens");
    compare("SQLite", bare, Arc::new(store)).await;
    std::fs::remove_dir_all(&folder).expect("removed");

    let Some(server) = Server::private() else {
        return;
    };
    let url = server.database();
    let options: PgConnectOptions = url.parse().expect("a URL");
    let mut bare = options
        .disable_statement_logging()
        .connect()
        .await
        .expect("connects");
    let table = "CREATE TABLE bare (session bigint, version bigint, bytes bytea, PRIMARY KEY (session, version))";
    sqlx::raw_sql(table).execute(&mut bare).await.expect("made");
    let store = PostgresStore::connect(&url).await.expect("connects");
    compare("PostgreSQL", bare, Arc::new(store)).await;
}

//! What happens when something goes wrong.

use std::sync::Arc;
use std::time::Duration;

use allm_core::{DeleteIf, EntryClass, LoadFrom, StoreError, StoreReason, Version};
use allm_postgres_test::{PASSWORD, Server};
use allm_store::PostgresStore;

use super::database;
use super::support::logs::{Logs, shows};
use super::support::{Journal, Store, behaviours, reason, restarts};

fn fault(event: &str, condition: &str, text: &str) -> String {
    format!(
        "CREATE OR REPLACE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             RAISE EXCEPTION '{text}'; END $$;
         CREATE TRIGGER fault BEFORE {event} FOR EACH ROW WHEN ({condition}) EXECUTE FUNCTION fault()"
    )
}

#[tokio::test]
async fn s109_an_append_that_fails_at_any_row_leaves_nothing() {
    let Some(database) = database() else { return };
    let store = database.store().await;
    let journal = Journal::create(&store, "a").await;
    let entries = journal.next(EntryClass::Input, &["1", "2", "3", "4", "5"]);
    let before = journal.whole().await;
    let insert = "INSERT ON allm.entries";
    let rows = (2..=6).map(|version| (insert, format!("new.version = {version}")));
    for (event, condition) in rows.chain([("UPDATE ON allm.sessions", "true".to_owned())]) {
        database.psql(&fault(event, &condition, "injected"));
        journal
            .try_append(None, [1; 16], &entries)
            .await
            .expect_err("injected");
        assert_eq!(journal.whole().await, before);
        let table = event.rsplit(' ').next().expect("a table");
        database.psql(&format!("DROP TRIGGER fault ON {table}"));
    }
    assert_eq!(
        journal.try_append(None, [1; 16], &entries).await,
        Ok(Version(6))
    );
    assert_eq!(journal.whole().await.entries.len(), 6);
}

#[tokio::test]
async fn s115_a_missing_or_altered_blob_is_corrupt_at_its_version() {
    let Some(database) = database() else { return };
    let store = database.store().await;
    let [a, _] = behaviours::long_content_comes_back(&store).await;
    let whole = LoadFrom::After(Version(0));
    database.psql("UPDATE allm.snapshots SET blob = '\\x00'");
    let loaded = a.load(LoadFrom::Snapshot).await.expect("there");
    assert_eq!(
        (loaded.snapshot, loaded.entries.len()),
        (None, 5),
        "a snapshot is a cache"
    );
    database.psql("UPDATE allm.blobs SET content = '\\x00' WHERE length(content) = 70000");
    assert_eq!(a.load(whole).await, Err(StoreError::corrupt(Version(5))));
    database.psql("DELETE FROM allm.blobs WHERE length(content) = 65537");
    assert_eq!(a.load(whole).await, Err(StoreError::corrupt(Version(4))));
    let later = a
        .load(LoadFrom::After(Version(5)))
        .await
        .expect("nothing is asked of them");
    assert_eq!(later.entries, []);
}

#[tokio::test]
async fn s169_nothing_of_a_deleted_session_is_left_but_its_tombstone() {
    let Some(database) = database() else { return };
    let store = database.store().await;
    let journals = behaviours::long_content_comes_back(&store).await;
    let tables = [
        "sessions",
        "entries",
        "appends",
        "snapshots",
        "blobs",
        "tombstones",
    ];
    let counts = || {
        tables
            .map(|table| database.psql(&format!("SELECT count(*) FROM allm.{table}")))
            .join(" ")
    };
    assert_eq!(counts(), "2 10 0 2 2 0");
    for journal in &journals {
        store.trim(&journal.at, Version(5)).await.expect("covered");
    }
    assert_eq!(counts(), "2 2 6 2 1 0");
    store
        .delete(&journals[0].at.id, DeleteIf::Any)
        .await
        .expect("deleted");
    assert_eq!(counts(), "1 1 3 1 1 1");
    journals[1]
        .load(LoadFrom::Snapshot)
        .await
        .expect("what it shared is there");
    store
        .delete(&journals[1].at.id, DeleteIf::Any)
        .await
        .expect("deleted");
    assert_eq!(counts(), "0 0 0 0 0 2");
    // After thirty days the next deletion takes the old tombstones with it.
    database.psql("UPDATE allm.tombstones SET until = 0");
    assert_eq!(
        reason(journals[0].input(1, "x").await),
        StoreReason::NotFound
    );
    let last = Journal::create(&store, "c").await;
    store
        .delete(&last.at.id, DeleteIf::Any)
        .await
        .expect("deleted");
    assert_eq!(counts(), "0 0 0 0 0 1");
}

/// S126: the server crashes and comes back, and whoever was connected either stays or connects anew.
#[tokio::test]
async fn s126_fences_grow_after_a_restart_too() {
    let Some(server) = Server::private() else {
        return;
    };
    let connect = async |url: &str| -> Store {
        let options = PostgresStore::options().wait(Duration::from_secs(5));
        Arc::new(options.connect(url).await.expect("connects")) as Store
    };
    for stays in [true, false] {
        let url = server.database();
        let restart = async |store: Store| -> Store {
            server.stop();
            server.start();
            if stays {
                // Reading finds out that the connections are dead; a lease would not be asked for twice.
                store.now().await.expect("read again");
                return store;
            }
            drop(store);
            connect(&url).await
        };
        restarts::fences_grow_over_restarts(connect(&url).await, restart).await;
    }
}

/// The store's half of S164.
#[tokio::test]
async fn s164_a_server_that_went_away_is_unavailable_until_it_is_back() {
    let Some(server) = Server::private() else {
        return;
    };
    let options = PostgresStore::options().wait(Duration::from_secs(5));
    let store = options.connect(&server.database()).await.expect("connects");
    let store: Store = Arc::new(store);
    let journal = Journal::create(&store, "a").await;
    server.stop();
    for _ in 0..2 {
        assert_eq!(
            reason(journal.input(1, "x").await),
            StoreReason::Unavailable
        );
        assert_eq!(
            reason(journal.load(LoadFrom::Snapshot).await),
            StoreReason::Unavailable
        );
    }
    server.start();
    assert_eq!(journal.input(1, "x").await, Ok(Version(2)));
    assert_eq!(journal.whole().await.entries.len(), 2);
    // With connections that were good before the server went away.
    server.stop();
    server.start();
    assert_eq!(journal.input(1, "x").await, Ok(Version(2)));
    assert_eq!(journal.whole().await.entries.len(), 2);
}

/// S164
#[tokio::test]
async fn an_answer_that_does_not_come_is_unavailable() {
    let Some(database) = database() else { return };
    let options = PostgresStore::options().wait(Duration::from_millis(500));
    let store = options.connect(&database.url).await.expect("connects");
    let store: Store = Arc::new(store);
    let journal = Journal::create(&store, "a").await;
    let fault = "CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                     PERFORM pg_sleep(1000); RETURN new; END $$;
                 CREATE TRIGGER fault BEFORE INSERT ON allm.entries FOR EACH ROW EXECUTE FUNCTION fault()";
    database.psql(fault);
    assert_eq!(
        reason(journal.input(1, "x").await),
        StoreReason::Unavailable
    );
    database.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep' \
                   AND datname = current_database()",
    );
    database.psql("DROP TRIGGER fault ON allm.entries");
    assert_eq!(journal.input(1, "x").await, Ok(Version(2)));
}

#[tokio::test]
async fn s122_nothing_that_is_told_shows_content_or_the_password() {
    const SECRET: &str = "the-secret-content";
    let Some(database) = database() else { return };
    let logs = Logs::begin();
    let store = PostgresStore::connect(&database.url)
        .await
        .expect("connects");
    let shown = format!("{store:?} {:?}", PostgresStore::options());
    let store: Store = Arc::new(store);
    let mut journal = Journal::create(&store, "a").await;
    journal.write(SECRET).await.expect("appended");
    let snapshot = journal.snapshot(SECRET);
    store
        .put_snapshot(&journal.at, snapshot)
        .await
        .expect("kept");
    journal.input(1, SECRET).await.expect("appended");
    let reused = journal.input(1, "other").await.expect_err("a conflict");
    database.psql(&fault("INSERT ON allm.entries", "true", SECRET));
    journal.reload().await;
    let broken = journal.input(2, SECRET).await.expect_err("injected");
    let mut told = format!("{shown} {reused:?} {broken:?} {broken} {}", logs.text());
    assert!(!shows(&told, SECRET), "{told}");
    for url in [
        database.url.replace("127.0.0.1:", "127.0.0.1:9"),
        database.url.replace(PASSWORD, &format!("{PASSWORD}x")),
        database.url.replace("/test_", "/none_"),
        database.url.replace("postgres://", ""),
        database.url.replace('@', "@@"),
    ] {
        let options = PostgresStore::options().wait(Duration::from_secs(5));
        let error = options.connect(&url).await.expect_err("not there");
        told = format!("{told} {error:?} {error} {}", logs.text());
    }
    assert!(!shows(&told, PASSWORD), "{told}");
}

/// S121
#[tokio::test]
async fn without_notify_no_hint_comes_and_none_is_sent() {
    let Some(database) = database() else { return };
    let quiet = PostgresStore::options().without_notify();
    let quiet: Store = Arc::new(quiet.connect(&database.url).await.expect("connects"));
    let mut journal = Journal::create(&quiet, "a").await;
    let id = journal.at.id.clone();
    let mut hint = quiet.changed(&id);
    let waited = tokio::time::timeout(Duration::from_millis(100), &mut hint);
    let (waited, written) = tokio::join!(waited, journal.write("x"));
    written.expect("appended");
    assert!(waited.is_err());
}

#[tokio::test]
async fn a_hint_crosses_from_store_to_store() {
    let Some(database) = database() else { return };
    let (here, there) = (database.store().await, database.store().await);
    let mut journal = Journal::create(&there, "a").await;
    let id = journal.at.id.clone();
    let mut hint = here.changed(&id);
    for _ in 0..600 {
        let told = tokio::time::timeout(Duration::from_millis(50), &mut hint);
        let (told, written) = tokio::join!(told, journal.write("x"));
        written.expect("appended");
        if told.is_ok() {
            return;
        }
    }
    panic!("no hint came");
}

//! What happens when something goes wrong.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use allm_core::{
    AppendId, DeleteIf, EntryClass, Lease, LoadFrom, Snapshot, StoreError, StoreReason, Takeover,
    Version, WriterId,
};
use allm_store::{Clock, SqliteStore};

use super::support::logs::{Logs, shows};
use super::support::{Journal, Store, behaviours, in_progress, reason, restarts, time};
use super::{Folder, execute, rows};

#[tokio::test]
async fn s109_an_append_that_fails_at_any_row_leaves_nothing() {
    let folder = Folder::new();
    let store = folder.store().await;
    let journal = Journal::create(&store, "a").await;
    let entries = journal.next(EntryClass::Input, &["1", "2", "3", "4", "5"]);
    let before = journal.whole().await;
    let rows = (2..=6).map(|version| format!("INSERT ON entries WHEN new.version = {version}"));
    for row in rows.chain(["UPDATE ON sessions".to_owned()]) {
        let trigger =
            format!("CREATE TRIGGER fault BEFORE {row} BEGIN SELECT RAISE(ABORT, 'injected'); END");
        execute(&folder, &trigger);
        journal
            .try_append(None, [1; 16], &entries)
            .await
            .expect_err("injected");
        assert_eq!(journal.whole().await, before);
        execute(&folder, "DROP TRIGGER fault");
    }
    assert_eq!(
        journal.try_append(None, [1; 16], &entries).await,
        Ok(Version(6))
    );
    assert_eq!(journal.whole().await.entries.len(), 6);
}

#[tokio::test]
async fn s115_a_missing_or_altered_blob_is_corrupt_at_its_version() {
    let folder = Folder::new();
    let store = folder.store().await;
    let [a, _] = behaviours::long_content_comes_back(&store).await;
    let whole = LoadFrom::After(Version(0));
    execute(&folder, "UPDATE snapshots SET blob = zeroblob(32)");
    let loaded = a.load(LoadFrom::Snapshot).await.expect("there");
    assert_eq!(
        (loaded.snapshot, loaded.entries.len()),
        (None, 5),
        "a snapshot is a cache"
    );
    execute(
        &folder,
        "UPDATE blobs SET content = zeroblob(70000) WHERE length(content) = 70000",
    );
    assert_eq!(a.load(whole).await, Err(StoreError::corrupt(Version(5))));
    execute(&folder, "DELETE FROM blobs WHERE length(content) = 65537");
    assert_eq!(a.load(whole).await, Err(StoreError::corrupt(Version(4))));
    let later = a
        .load(LoadFrom::After(Version(5)))
        .await
        .expect("nothing is asked of them");
    assert_eq!(later.entries, []);
}

#[tokio::test]
async fn s169_nothing_of_a_deleted_session_is_left_but_its_tombstone() {
    let folder = Folder::new();
    let store = folder.store().await;
    let journals = behaviours::long_content_comes_back(&store).await;
    let counts = || {
        let counts = "SELECT count(*) FROM sessions UNION ALL SELECT count(*) FROM entries
             UNION ALL SELECT count(*) FROM appends UNION ALL SELECT count(*) FROM snapshots
             UNION ALL SELECT count(*) FROM tags UNION ALL SELECT count(*) FROM blobs
             UNION ALL SELECT count(*) FROM tombstones";
        rows(&folder, counts)
    };
    assert_eq!(counts(), [2, 10, 0, 2, 0, 2, 0]);
    for journal in &journals {
        store.trim(&journal.at, Version(5)).await.expect("covered");
    }
    assert_eq!(counts(), [2, 2, 6, 2, 0, 1, 0]);
    store
        .delete(&journals[0].at.id, DeleteIf::Any)
        .await
        .expect("deleted");
    assert_eq!(counts(), [1, 1, 3, 1, 0, 1, 1]);
    journals[1]
        .load(LoadFrom::Snapshot)
        .await
        .expect("what it shared is there");
    store
        .delete(&journals[1].at.id, DeleteIf::Any)
        .await
        .expect("deleted");
    assert_eq!(counts(), [0, 0, 0, 0, 0, 0, 2]);
}

/// S163
#[tokio::test]
async fn s163_a_full_disk_is_full_and_changes_nothing() {
    let folder = Folder::new();
    let small = SqliteStore::options().max_pages(60);
    let small: Store = Arc::new(small.open(folder.file()).await.expect("opens"));
    let mut journal = Journal::create(&small, "a").await;
    let text = "x".repeat(10_000);
    let mut refused = 0;
    for append in 0..40 {
        let before = journal.whole().await;
        let entries = journal.next(EntryClass::Input, &[&text]);
        match journal.try_append(None, [append; 16], &entries).await {
            Ok(version) => {
                journal.at.version = version;
                journal.link = entries[0].link();
            }
            Err(error) => {
                assert_eq!(error.reason, StoreReason::Full);
                assert_eq!(journal.whole().await, before);
                refused += 1;
                // With room again, the same append is done.
                let store = folder.store().await;
                let roomy = Journal {
                    store,
                    ..journal.clone()
                };
                let done = roomy.try_append(None, [append; 16], &entries).await;
                assert_eq!(done, Ok(entries[0].version));
                journal.at.version = entries[0].version;
                journal.link = entries[0].link();
            }
        }
    }
    assert!(refused > 3, "the disk was full {refused} times");
    assert_eq!(journal.whole().await.entries.len(), 41);
}

/// S208
#[tokio::test]
async fn s208_a_disk_with_room_for_the_entries_alone_takes_them() {
    let folder = Folder::new();
    let small = SqliteStore::options().max_pages(30);
    let small: Store = Arc::new(small.open(folder.file()).await.expect("opens"));
    let journal = Journal::create(&small, "a").await;
    let one = WriterId::new("one");
    let lease = small.acquire(
        &journal.at.id,
        &one,
        Lease::DEFAULT_TTL,
        Takeover::IfExpired,
    );
    let lease = lease.await.expect("acquired");
    let entries = journal.next(EntryClass::Progress, &["the end"]);
    let link = entries[0].link();
    let snapshot = Snapshot {
        version: link.version,
        bytes: vec![b'x'; 60_000].into(),
        state_hash: link.chain,
        chain: link.chain,
    };
    let (id, head) = (AppendId::from_bytes([1; 16]), in_progress());
    let end =
        || small.append_and_release(&journal.at, &lease, id, &entries, &head, Some(&snapshot));
    // Nothing but the entries, and that is told; the same when it is asked again.
    assert_eq!(end().await, Ok(false));
    assert_eq!(end().await, Ok(false));
    let loaded = journal.load(LoadFrom::Snapshot).await.expect("loaded");
    assert_eq!(loaded.snapshot, None);
    assert_eq!(loaded.head.version, link.version);
    assert_eq!(loaded.head.lease, Some(lease.held()));
}

#[tokio::test]
async fn a_file_that_is_locked_for_too_long_is_unavailable() {
    let folder = Folder::new();
    let store = SqliteStore::options().busy_timeout(Duration::from_millis(50));
    let store: Store = Arc::new(store.open(folder.file()).await.expect("opens"));
    let mut journal = Journal::create(&store, "a").await;
    let other = super::connect(&folder);
    other.execute_batch("BEGIN IMMEDIATE").expect("locked");
    assert_eq!(reason(journal.write("x").await), StoreReason::Unavailable);
    journal.whole().await;
    other.execute_batch("ROLLBACK").expect("free");
    assert_eq!(journal.write("x").await, Ok(Version(2)));
}

/// What a task has begun is done as a whole, whether or not the task is there to hear of it.
#[tokio::test]
async fn an_append_that_nobody_waits_for_is_done_once_or_not_at_all() {
    let folder = Folder::new();
    let store = folder.store().await;
    let journal = Journal::create(&store, "a").await;
    let entries = journal.next(EntryClass::Input, &["1", "2"]);
    for _ in 0..3 {
        let other = super::connect(&folder);
        other.execute_batch("BEGIN IMMEDIATE").expect("locked");
        {
            let append = journal.try_append(None, [1; 16], &entries);
            let mut append = std::pin::pin!(append);
            let first = std::future::poll_fn(|cx| {
                std::task::Poll::Ready(append.as_mut().poll(cx).is_ready())
            });
            assert!(!first.await, "the file is held");
        }
        other.execute_batch("ROLLBACK").expect("free");
        // This comes after it or before it, and is the same append.
        let again = journal.try_append(None, [1; 16], &entries).await;
        assert_eq!(again, Ok(Version(3)));
        assert_eq!(journal.whole().await.entries.len(), 3);
    }
}

#[tokio::test]
async fn a_name_that_is_no_file_is_refused() {
    for name in ["", ":memory:"] {
        let opened = SqliteStore::open(name).await;
        assert_eq!(reason(opened), StoreReason::Refused, "{name:?}");
    }
    // What looks like an address is the name of a file.
    let folder = Folder::new();
    let name = "file:sessions.db?mode=memory";
    let path = folder.file().with_file_name(name);
    SqliteStore::open(&path).await.expect("opens").close().await;
    assert!(path.exists());
}

/// S126: the file is closed, by all who had it open, and opened again.
#[tokio::test]
async fn s126_fences_grow_after_a_restart_too() {
    let folder = Folder::new();
    let open = async || Arc::new(SqliteStore::open(folder.file()).await.expect("opens"));
    let current = Mutex::new(open().await);
    let first: Store = Arc::clone(&*current.lock().expect("not poisoned")) as Store;
    let restart = async |store: Store| -> Store {
        drop(store);
        let last = Arc::clone(&*current.lock().expect("not poisoned"));
        last.close().await;
        // Whoever closes a file last takes its log away.
        assert!(!folder.file().with_extension("db-wal").exists(), "open");
        let next = open().await;
        *current.lock().expect("not poisoned") = Arc::clone(&next);
        next as Store
    };
    restarts::fences_grow_over_restarts(first, restart).await;
}

/// The store's half of S167 and S168.
#[tokio::test]
async fn s168_leases_follow_the_store_s_clock_wherever_it_jumps() {
    let folder = Folder::new();
    let clock = Clock::manual(time(1_000_000));
    let store = SqliteStore::options().clock(clock.clone());
    let store: Store = Arc::new(store.open(folder.file()).await.expect("opens"));
    let journal = Journal::create(&store, "a").await;
    let first = journal
        .acquire("one", Takeover::IfExpired)
        .await
        .expect("free");
    clock.advance(Duration::from_secs(24 * 60 * 60));
    let second = journal
        .acquire("two", Takeover::IfExpired)
        .await
        .expect("expired");
    assert_eq!(
        reason(journal.progress(first.fence, 1).await),
        StoreReason::Fenced
    );
    clock.set(time(1_000_000));
    let held = journal.acquire("one", Takeover::IfExpired).await;
    assert_eq!(held, Err(StoreError::lease_held(second.held())));
    journal
        .acquire("one", Takeover::Force)
        .await
        .expect("forced");
    store
        .delete(&journal.at.id, DeleteIf::Force)
        .await
        .expect("deleted");
    let month = Duration::from_secs(30 * 24 * 60 * 60);
    clock.advance(month - Duration::from_millis(1));
    assert_eq!(reason(journal.input(1, "x").await), StoreReason::Gone);
    clock.advance(Duration::from_millis(1));
    assert_eq!(reason(journal.input(1, "x").await), StoreReason::NotFound);
}

#[tokio::test]
async fn s122_nothing_that_is_told_shows_content() {
    const SECRET: &str = "the-secret-content";
    let logs = Logs::begin();
    let folder = Folder::new();
    let store = SqliteStore::open(folder.file()).await.expect("opens");
    let shown = format!("{store:?}");
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
    execute(
        &folder,
        "CREATE TRIGGER fault BEFORE INSERT ON entries \
        BEGIN SELECT RAISE(ABORT, 'the-secret-content'); END",
    );
    journal.reload().await;
    let broken = journal.input(2, SECRET).await.expect_err("injected");
    let told = format!("{shown} {reused:?} {broken:?} {broken} {}", logs.text());
    assert!(!shows(&told, SECRET), "{told}");
}

//! Several programs on one file.

use std::sync::Arc;
use std::time::Duration;

use allm_core::{
    Lease, Link, LoadFrom, SessionFilter, SessionStore as _, StoreReason, Takeover, Version,
    WriterId,
};
use allm_store::SqliteStore;

use super::support::{Journal, Store, id, listed, programs, reason};
use super::{Folder, rows};

const PROGRAM: &str = "programs::program";

/// Opens the file, makes a session and appends to it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "other tests start it"]
async fn program() {
    let Some(task) = programs::task() else { return };
    let store = SqliteStore::open(&task[0]).await.expect("opens");
    let store: Store = Arc::new(store);
    let mut journal = Journal::create(&store, &task[1]).await;
    for _ in 0..task[2].parse::<u32>().expect("a number") {
        journal.write("an entry").await.expect("appended");
    }
}

/// Takes a session that another program made, and dies with the lease in its hand.
#[tokio::test]
#[ignore = "other tests start it"]
async fn holder() {
    let Some(task) = programs::task() else { return };
    let store = SqliteStore::open(&task[0]).await.expect("opens");
    let (id, name) = (id(&task[1]), WriterId::new("another program"));
    let lease = store.acquire(&id, &name, Lease::DEFAULT_TTL, Takeover::Force);
    assert_eq!(lease.await.expect("forced").fence.0.to_string(), task[2]);
    // Not an end of the test, but of the program: nothing is given back.
    std::process::exit(0);
}

/// S126: the numbers go on from program to program.
#[tokio::test]
async fn s126_fences_grow_from_program_to_program() {
    let folder = Folder::new();
    let journal = Journal::create(&folder.store().await, "a").await;
    let path = folder.file();
    let path = path.to_str().expect("a path");
    for round in 0..3 {
        let task = format!("{path}\na\n{}", 2 * round + 1);
        programs::all_succeed(vec![programs::start("programs::holder", &task)]);
        let held = journal.acquire("me", Takeover::IfExpired).await;
        assert_eq!(reason(held), StoreReason::LeaseHeld);
        let lease = journal.acquire("me", Takeover::Force).await;
        let lease = lease.expect("forced");
        assert_eq!(lease.fence.0, 2 * round + 2);
        journal.store.release(lease).await.expect("given back");
    }
}

fn start(folder: &Folder, name: usize, entries: u32) -> std::process::Child {
    let path = folder.file();
    let path = path.to_str().expect("a path");
    programs::start(PROGRAM, &format!("{path}\np{name}\n{entries}"))
}

#[tokio::test]
async fn s117_eight_programs_migrate_an_empty_file_once() {
    let folder = Folder::new();
    programs::all_succeed((0..8).map(|name| start(&folder, name, 0)).collect());
    let store = folder.store().await;
    assert_eq!(listed(&store, &SessionFilter::new(), 50).await.len(), 8);
    let numbers = "SELECT number FROM allm_schema ORDER BY number";
    assert_eq!(rows(&folder, numbers), [1, 2]);
}

/// Wherever the program is killed, the file has no table of ours or all of them.
#[tokio::test]
async fn s117_a_program_killed_in_mid_migration_leaves_the_old_or_the_new_schema() {
    for round in 0..24 {
        let folder = Folder::new();
        let mut program = start(&folder, 0, 0);
        std::thread::sleep(Duration::from_millis(round * 2));
        program.kill().expect("killed");
        program.wait().expect("it ended");
        if folder.file().exists() {
            let tables = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'";
            let tables = rows(&folder, tables)[0];
            assert!(tables == 0 || tables == 8, "{tables} tables");
        }
        Journal::create(&folder.store().await, "after").await;
    }
}

#[tokio::test]
async fn s120_eight_programs_append_a_thousand_entries_each() {
    let folder = Folder::new();
    programs::all_succeed((0..8).map(|name| start(&folder, name, 1000)).collect());
    let store = folder.store().await;
    let heads = listed(&store, &SessionFilter::new(), 50).await;
    assert_eq!(heads.len(), 8);
    for head in heads {
        let from = LoadFrom::After(Version(0));
        let loaded = store.load(&head.id, from).await.expect("there");
        assert_eq!(loaded.entries.len(), 1001);
        loaded.verify(&Link::START).expect("whole");
    }
}

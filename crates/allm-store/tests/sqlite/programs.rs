//! Several programs on one file.

use std::sync::Arc;
use std::time::Duration;

use allm_core::{Link, LoadFrom, SessionFilter, Version};
use allm_store::SqliteStore;

use super::support::{Journal, Store, listed, programs};
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
    assert_eq!(rows(&folder, "SELECT count(*) FROM allm_schema").await, [1]);
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
            let tables = rows(&folder, tables).await[0];
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

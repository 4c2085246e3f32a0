//! The store in a file of SQLite.

#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::cast_possible_truncation,
    missing_docs,
    unreachable_pub,
    reason = "these are tests"
)]

mod faults;
mod programs;
mod rules;
mod schema;
#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::sync::Arc;

use allm_store::SqliteStore;
use rusqlite::Connection;
use support::Store;

/// A folder of its own, removed at the end.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let name: String = support::random()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = std::env::temp_dir().join(format!("allm-sqlite-{name}"));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub fn file(&self) -> PathBuf {
        self.0.join("sessions.db")
    }

    pub async fn store(&self) -> Store {
        Arc::new(SqliteStore::open(self.file()).await.expect("opens"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The file as any other program would open it.
pub(crate) fn connect(folder: &Folder) -> Connection {
    Connection::open(folder.file()).expect("opens")
}

pub(crate) fn execute(folder: &Folder, sql: &str) {
    connect(folder).execute_batch(sql).expect("done");
}

/// The only column of all rows.
pub(crate) fn rows(folder: &Folder, sql: &str) -> Vec<i64> {
    let connection = connect(folder);
    let mut rows = connection.prepare(sql).expect("a statement");
    let rows = rows.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("read")).collect()
}

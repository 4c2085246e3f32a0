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
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
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
pub(crate) async fn connect(folder: &Folder) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(folder.file());
    options
        .create_if_missing(true)
        .disable_statement_logging()
        .connect()
        .await
        .expect("opens")
}

pub(crate) async fn execute(folder: &Folder, sql: &str) {
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(sql));
    sql.execute(&mut connect(folder).await).await.expect("done");
}

/// The only column of all rows.
pub(crate) async fn rows(folder: &Folder, sql: &'static str) -> Vec<i64> {
    let rows = sqlx::query_scalar(sql);
    rows.fetch_all(&mut connect(folder).await)
        .await
        .expect("done")
}

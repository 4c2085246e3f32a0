//! The store in PostgreSQL.

#![cfg(feature = "postgres")]
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
mod pooled;
mod programs;
mod rules;
mod schema;
#[path = "../support/mod.rs"]
mod support;

use std::sync::Arc;

use allm_postgres_test::Server;
use allm_store::PostgresStore;
use support::Store;

/// An empty database of its own.
#[derive(Debug)]
pub struct Database {
    pub server: Server,
    pub url: String,
}

/// `None` where PostgreSQL is not installed.
pub fn database() -> Option<Database> {
    let server = Server::shared()?;
    let url = server.database();
    Some(Database { server, url })
}

impl Database {
    pub async fn store(&self) -> Store {
        Arc::new(PostgresStore::connect(&self.url).await.expect("connects"))
    }

    pub fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.url, sql)
    }
}

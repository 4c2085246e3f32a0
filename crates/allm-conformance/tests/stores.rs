//! Our own databases pass the store kit.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "these are tests"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use allm_conformance::store::{self, Fresh, StoreSubject};
use allm_core::BoxFuture;
use allm_postgres_test::Server;
use allm_store::{PostgresStore, SqliteStore};

/// A folder that goes with the store.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Work on threads, so that it really races.
fn spawned(work: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
        for task in tasks {
            task.await.unwrap();
        }
    })
}

struct Sqlite(AtomicUsize);

impl StoreSubject for Sqlite {
    fn fresh(&self) -> BoxFuture<'_, Fresh> {
        Box::pin(async {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            let name = format!("allm-kit-{}-{number}", std::process::id());
            let folder = Folder(std::env::temp_dir().join(name));
            std::fs::create_dir_all(&folder.0).unwrap();
            let file = folder.0.join("sessions.db");
            let store = Arc::new(SqliteStore::open(&file).await.unwrap());
            let again = move || {
                let file = file.clone();
                async move { Arc::new(SqliteStore::open(file).await.unwrap()) }
            };
            Fresh::new(store).reopen(again).keep(folder)
        })
    }

    fn together(&self, work: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
        spawned(work)
    }
}

struct Postgres(Server);

impl StoreSubject for Postgres {
    fn fresh(&self) -> BoxFuture<'_, Fresh> {
        Box::pin(async {
            let url = self.0.database();
            let store = Arc::new(PostgresStore::connect(&url).await.unwrap());
            let again = move || {
                let url = url.clone();
                async move { Arc::new(PostgresStore::connect(&url).await.unwrap()) }
            };
            Fresh::new(store).reopen(again)
        })
    }

    fn together(&self, work: Vec<BoxFuture<'static, ()>>) -> BoxFuture<'static, ()> {
        spawned(work)
    }
}

/// S56, S107, S108, S110 to S116, S122, S124 to S126, S132, S169, S170, S172: what a store does for them, in a file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_passes() {
    store::check(&Sqlite(AtomicUsize::new(0))).await.assert();
}

/// The same, on a server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgres_passes() {
    let Some(server) = Server::shared() else {
        return;
    };
    store::check(&Postgres(server)).await.assert();
}

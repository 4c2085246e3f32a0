//! What a program is told to do.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use allm::SessionStore;
use allm_store::{PostgresStore, SqliteStore};
use serde::{Deserialize, Serialize};

use crate::host::HostStore;

/// Where sessions are kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum StoreAt {
    /// In a file of SQLite.
    Sqlite(PathBuf),
    /// In the PostgreSQL database of this URL.
    Postgres(String),
    /// In the journal of a host.
    Host(PathBuf),
}

impl StoreAt {
    /// Opens it.
    ///
    /// # Panics
    ///
    /// When it cannot be opened.
    pub async fn open(&self) -> Arc<dyn SessionStore> {
        match self {
            Self::Sqlite(path) => Arc::new(SqliteStore::open(path).await.expect("the file")),
            Self::Postgres(url) => {
                let options = PostgresStore::options().connections(4);
                Arc::new(options.connect(url).await.expect("the database"))
            }
            Self::Host(path) => Arc::new(HostStore::new(path)),
        }
    }
}

/// What a child is told to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// Where sessions are kept.
    pub store: StoreAt,
    /// The session.
    pub session: String,
    /// The name of the scenario.
    pub scenario: String,
    /// The port of the world.
    pub world: u16,
    /// Where the program dies; nowhere when there is nothing.
    pub kill_at: Option<String>,
    /// What is done about the lease of a program that died.
    pub lease: OldLease,
    /// How long a lease lasts, in milliseconds.
    pub lease_millis: u64,
}

/// What is done about the lease of a program that died.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OldLease {
    /// There is none.
    None,
    /// It is taken by force, as somebody does who knows that the program is dead.
    Force,
    /// It is waited for.
    Wait,
}

impl Job {
    /// How long a lease lasts.
    #[must_use]
    pub const fn lease_ttl(&self) -> Duration {
        Duration::from_millis(self.lease_millis)
    }
}

//! A store in a file of SQLite.

mod answers;
mod append;
mod blobs;
mod fault;
mod leases;
mod open;
mod options;
mod read;
mod row;
mod sql;
mod thread;
mod write;

use std::fmt;
use std::path::Path;

use allm_core::{StoreError, Timestamp};
use rusqlite::{Connection, TransactionBehavior};

use crate::clock::Clock;
use crate::hints::Hints;
use fault::Fault;
pub use options::SqliteOptions;
use thread::Threads;

/// A store in a file of SQLite: the one to begin with.
///
/// Many programs of one machine may share the file; on a network file system it is not safe. What was written is on the
/// disk when a write is ready: write-ahead log, `synchronous = FULL`. Time is that of the machine.
///
/// Writes of one store come one after the other. Those of other programs are waited for, as long as
/// [`SqliteOptions::busy_timeout`] says, and then are `unavailable`.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = std::env::temp_dir().join(format!("allm-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// use allm_core::{PageRequest, SessionFilter, SessionStore};
/// use allm_store::SqliteStore;
///
/// let store = SqliteStore::open(folder.join("sessions.db")).await?;
/// let page = store.list(&SessionFilter::new(), PageRequest::default()).await?;
/// assert!(page.items.is_empty());
/// # store.close().await;
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok(())
/// # }
/// ```
pub struct SqliteStore {
    writer: Threads,
    readers: Threads,
    clock: Clock,
    hints: Hints,
}

impl SqliteStore {
    /// Opens the file, or makes it, and migrates it if need be.
    ///
    /// # Errors
    ///
    /// `schema_too_new` when a newer library has migrated it; `corrupt` when it is no database or was migrated with
    /// another text of a migration; `unavailable` and `full` when the file cannot be had; `refused` when there is no
    /// file, as with `:memory:`.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::options().open(path).await
    }

    /// Options, to open it otherwise.
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
    }

    /// Closes the connections that are idle. The last program that does so leaves one file behind instead of three.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }

    /// Does this in a transaction, to be committed when it is done and undone when it is not.
    async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection, Timestamp) -> Result<T, Fault> + Send + 'static,
    {
        let clock = self.clock.clone();
        let work = move |connection: &mut Connection| {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // What time it is once others are out of the way.
            let done = work(&transaction, clock.now())?;
            transaction.commit()?;
            Ok(done)
        };
        self.writer.run(work).await
    }

    /// Reads this, all of it as of one instant: that of the first statement.
    async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection, Timestamp) -> Result<T, Fault> + Send + 'static,
    {
        let clock = self.clock.clone();
        let work = move |connection: &mut Connection| {
            let transaction = connection.transaction()?;
            let read = work(&transaction, clock.now())?;
            transaction.commit()?;
            Ok(read)
        };
        self.readers.run(work).await
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

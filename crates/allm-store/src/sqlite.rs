//! A store in a file of SQLite.

mod answers;
mod append;
mod blobs;
mod leases;
mod open;
mod options;
mod read;
mod row;
mod write;

use std::fmt;
use std::path::Path;

use allm_core::{StoreError, StoreReason};
use sqlx::sqlite::SqliteConnection;

use crate::clock::Clock;
use crate::database::connections::{Connections, Lent};
use crate::database::fault::{self, Fault};
use crate::hints::Hints;
pub use options::SqliteOptions;

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
    writer: Connections<SqliteConnection>,
    readers: Connections<SqliteConnection>,
    clock: Clock,
    hints: Hints,
}

impl SqliteStore {
    /// Opens the file, or makes it, and migrates it if need be.
    ///
    /// # Errors
    ///
    /// `schema_too_new` when a newer library has migrated it; `corrupt` when it is no database or was migrated with
    /// another text of a migration; `unavailable` and `full` when the file cannot be had.
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

    /// A write that has begun. Dropping it undoes it.
    async fn begin(&self) -> Result<Write<'_>, StoreError> {
        let begin = async {
            let mut lent = self.writer.lend().await?;
            let begin = sqlx::query("BEGIN IMMEDIATE");
            begin.execute(&mut lent.connection).await?;
            Ok(Write(lent))
        };
        begin.await.map_err(told)
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore")
            .field("clock", &self.clock)
            .finish_non_exhaustive()
    }
}

struct Write<'a>(Lent<'a, SqliteConnection>);

impl Write<'_> {
    fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.0.connection
    }

    /// Commits what was done, or undoes it.
    async fn finish<T>(mut self, result: Result<T, Fault>) -> Result<T, StoreError> {
        let end = match &result {
            Ok(_) => "COMMIT",
            Err(Fault::Answer(_)) => "ROLLBACK",
            // A full disk may have ended the transaction by itself; a new connection has none for sure.
            Err(Fault::Broken(error)) => return Err(told_of(error)),
        };
        let ended = sqlx::query(end).execute(self.connection()).await;
        ended.map_err(told)?;
        self.0.keep();
        result.map_err(answered)
    }
}

fn answered(fault: Fault) -> StoreError {
    match fault {
        Fault::Answer(error) => error,
        Fault::Broken(error) => told(error),
    }
}

fn told(error: sqlx::Error) -> StoreError {
    told_of(&error)
}

fn told_of(error: &sqlx::Error) -> StoreError {
    fault::told(error, reason_of)
}

/// By the result codes of SQLite; the lowest byte of an extended one is the plain one.
fn reason_of(code: &str) -> StoreReason {
    const SHM_SIZE: i32 = 4874;
    let code: i32 = code.parse().unwrap_or_default();
    match (code, code & 0xff) {
        // The file beside the log could not grow.
        (SHM_SIZE, _) | (_, 13) => StoreReason::Full,
        (_, 11 | 26) => StoreReason::Corrupt,
        (_, 18) => StoreReason::TooLarge,
        (_, 19) => StoreReason::Refused,
        _ => StoreReason::Unavailable,
    }
}

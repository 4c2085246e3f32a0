//! How a file is opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use allm_core::StoreError;

use super::SqliteStore;
use super::open::{Opening, prepare};
use super::thread::Threads;
use crate::clock::Clock;
use crate::database::schema::Migrate;
use crate::hints::Hints;
use crate::rules::refused;

/// How a file is opened as a [`SqliteStore`].
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteOptions {
    migrate: Migrate,
    busy_timeout: Duration,
    readers: u32,
    clock: Clock,
    max_pages: Option<u32>,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            migrate: Migrate::Auto,
            busy_timeout: Duration::from_secs(30),
            readers: 4,
            clock: Clock::system(),
            max_pages: None,
        }
    }
}

impl SqliteOptions {
    /// What is done about a file that is new or of an older release. [`Migrate::Auto`] if nobody says otherwise.
    pub fn migrate(mut self, migrate: Migrate) -> Self {
        self.migrate = migrate;
        self
    }

    /// How long a write waits for those of other programs; 30 s if nobody says otherwise, at most a day.
    pub fn busy_timeout(mut self, time: Duration) -> Self {
        self.busy_timeout = time.min(Duration::from_secs(24 * 60 * 60));
        self
    }

    /// How many reads may go on at once; 4 if nobody says otherwise.
    pub fn readers(mut self, readers: u32) -> Self {
        self.readers = readers;
        self
    }

    /// A clock other than the machine's, for tests.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The most pages of 4 KiB that the file may have; a write that needs more is `full`.
    pub fn max_pages(mut self, pages: u32) -> Self {
        self.max_pages = Some(pages);
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Those of [`SqliteStore::open`]; `schema_too_old` with [`Migrate::Never`].
    pub async fn open(self, path: impl AsRef<Path>) -> Result<SqliteStore, StoreError> {
        let file = path.as_ref().to_owned();
        if file.as_os_str().is_empty() || file.as_os_str() == ":memory:" {
            // SQLite takes these for a database of one connection that ends with it.
            return Err(refused(
                "a store needs a file; `MemoryStore` keeps sessions in memory",
            ));
        }
        let opening = Arc::new(Opening {
            file,
            create: self.migrate == Migrate::Auto,
            busy_timeout: self.busy_timeout,
            max_pages: self.max_pages,
        });
        // Others are waited for inside SQLite, and those of this program may be many.
        let wait = self
            .busy_timeout
            .saturating_mul(2)
            .max(Duration::from_secs(1));
        let writer = Threads::new(Arc::clone(&opening), 1, wait);
        let (migrate, patience) = (self.migrate, self.busy_timeout);
        let prepare = move |connection: &mut _| prepare(connection, migrate, patience);
        writer.run(prepare).await?;
        Ok(SqliteStore {
            writer,
            readers: Threads::new(opening, self.readers, wait),
            clock: self.clock,
            hints: Hints::default(),
        })
    }
}

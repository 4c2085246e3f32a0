//! All stores at once, for tests whose time is paused.
//!
//! A paused clock jumps whenever nobody has anything to do, and a test that waits for a database has nothing to do: all
//! its time limits would be over at once. So databases are asked in another place, whose time is real, and the paused
//! clock stands still until they have answered.
//!
//! A [`Clock`] that is set by hand is the clock of all of them, also of PostgreSQL.
//!
//! ```
//! use allm_core::Timestamp;
//! use allm_store::Clock;
//!
//! let clock = Clock::manual(Timestamp::from_millis(1_700_000_000_000)?);
//! for place in allm_store_test::places(Some(&clock)) {
//!     println!("{}", place.name);
//! }
//! # Ok::<(), allm_core::InvalidTimestamp>(())
//! ```

#![expect(clippy::expect_used, reason = "only tests use it")]

mod elsewhere;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use allm_core::SessionStore;
use allm_postgres_test::Server;
use allm_store::{Clock, MemoryStore, PostgresStore, SqliteStore};

use elsewhere::{Elsewhere, ServerClock, waited};

/// A new, empty store, and what it needs to be there.
pub struct Place {
    /// `memory`, `sqlite` or `postgres`.
    pub name: &'static str,
    /// The store.
    pub store: Arc<dyn SessionStore>,
    folder: Option<PathBuf>,
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Every store that can be had here. Without a clock, that of the machine or of the server counts.
///
/// # Panics
///
/// When a store cannot be made.
#[must_use]
pub fn places(clock: Option<&Clock>) -> Vec<Place> {
    let mut places = vec![memory(clock), sqlite(clock)];
    places.extend(postgres(clock));
    places
}

/// A store in memory.
#[must_use]
pub fn memory(clock: Option<&Clock>) -> Place {
    let store = match clock {
        Some(clock) => MemoryStore::with_clock(clock.clone()),
        None => MemoryStore::new(),
    };
    Place {
        name: "memory",
        store: Arc::new(store),
        folder: None,
    }
}

/// A file of SQLite.
///
/// # Panics
///
/// When it cannot be made.
#[must_use]
pub fn sqlite(clock: Option<&Clock>) -> Place {
    let name = format!("allm-place-{}-{}", std::process::id(), number());
    // No machine dies here, so nothing need reach a disk.
    let memory = PathBuf::from("/dev/shm");
    let base = Some(memory).filter(|memory| memory.is_dir());
    let folder = base.unwrap_or_else(std::env::temp_dir).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let options = match clock {
        Some(clock) => SqliteStore::options().clock(clock.clone()),
        None => SqliteStore::options(),
    };
    let file = folder.join("sessions.db");
    let store = waited(async move { options.open(file).await.expect("a file") });
    Place {
        name: "sqlite",
        store: Arc::new(Elsewhere::new(Arc::new(store), None)),
        folder: Some(folder),
    }
}

/// Tables of their own in a database of PostgreSQL; `None` where there is no server to be had.
///
/// # Panics
///
/// When they cannot be made.
#[must_use]
pub fn postgres(clock: Option<&Clock>) -> Option<Place> {
    let (server, url) = database()?;
    let schema = format!("s{}", number());
    let options = PostgresStore::options().schema(&schema).connections(4);
    let store = waited(async { options.connect(url).await.expect("a database") });
    let clock = clock.map(|clock| ServerClock::new(clock, server, url, &schema));
    Some(Place {
        name: "postgres",
        store: Arc::new(Elsewhere::new(Arc::new(store), clock)),
        folder: None,
    })
}

/// One database for all tests of this program, because tables are made much faster than databases. The server is held
/// until the program ends.
fn database() -> Option<(&'static Server, &'static str)> {
    static DATABASE: OnceLock<Option<(Server, String)>> = OnceLock::new();
    let database = DATABASE.get_or_init(|| {
        let server = Server::shared()?;
        let url = server.database();
        Some((server, url))
    });
    database
        .as_ref()
        .map(|(server, url)| (server, url.as_str()))
}

fn number() -> u32 {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    NUMBER.fetch_add(1, Ordering::Relaxed)
}

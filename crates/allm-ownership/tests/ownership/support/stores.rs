//! The three stores.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use allm::{SessionStore, Sessions, SessionsOptions};
use allm_postgres_test::Server;
use allm_store::{Clock, MemoryStore, PostgresStore, SqliteStore};
use allm_store_test::{Place, places};

pub(crate) type Store = Arc<dyn SessionStore>;

/// A store, opened by several machines, and what it needs to be there.
pub(crate) struct Ground {
    pub(crate) name: &'static str,
    machines: Vec<Store>,
    folder: Option<PathBuf>,
    server: Option<Server>,
    /// It goes with its last holder.
    _place: Option<Place>,
}

impl Ground {
    /// The store as one of three machines sees it.
    pub(crate) fn machine(&self, number: usize) -> &Store {
        &self.machines[number]
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
        drop(self.server.take());
    }
}

pub(crate) fn memory() -> Ground {
    let store: Store = Arc::new(MemoryStore::new());
    Ground {
        name: "memory",
        machines: vec![Arc::clone(&store), Arc::clone(&store), store],
        folder: None,
        server: None,
        _place: None,
    }
}

/// A folder of one's own.
pub(crate) fn folder() -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("allm-ownership-{}-{number}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

pub(crate) async fn sqlite() -> Ground {
    let folder = folder();
    let mut machines: Vec<Store> = Vec::new();
    for _ in 0..3 {
        let store = SqliteStore::open(folder.join("sessions.db")).await;
        machines.push(Arc::new(store.expect("a file")));
    }
    Ground {
        name: "sqlite",
        machines,
        folder: Some(folder),
        server: None,
        _place: None,
    }
}

/// `None` where there is no server to be had.
pub(crate) async fn postgres() -> Option<Ground> {
    let server = Server::shared()?;
    let url = server.database();
    let mut machines: Vec<Store> = Vec::new();
    for number in 0..3 {
        // The last one neither tells nor hears.
        let options = PostgresStore::options().connections(4);
        let options = if number == 2 {
            options.without_notify()
        } else {
            options
        };
        machines.push(Arc::new(options.connect(&url).await.expect("a database")));
    }
    Some(Ground {
        name: "postgres",
        machines,
        folder: None,
        server: Some(server),
        _place: None,
    })
}

/// Every store that can be had here.
pub(crate) async fn all() -> Vec<Ground> {
    let mut all = vec![memory(), sqlite().await];
    all.extend(postgres().await);
    all
}

/// Every store that can be had here, for tests whose time is paused. All machines are one.
pub(crate) fn paused() -> Vec<Ground> {
    grounds(None)
}

/// As [`paused`], by this clock.
pub(crate) fn clocked(clock: &Clock) -> Vec<Ground> {
    grounds(Some(clock))
}

fn grounds(clock: Option<&Clock>) -> Vec<Ground> {
    let ground = |place: Place| Ground {
        name: place.name,
        machines: vec![Arc::clone(&place.store); 3],
        folder: None,
        server: None,
        _place: Some(place),
    };
    places(clock).into_iter().map(ground).collect()
}

/// The sessions of one machine.
pub(crate) fn sessions(store: &Store) -> Sessions {
    Sessions::with(Arc::clone(store), SessionsOptions::default())
}

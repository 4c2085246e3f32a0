//! A store that is asked in another place, whose time is real.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use allm_core::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};
use allm_postgres_test::Server;
use allm_store::Clock;
use tokio::runtime::Runtime;

/// Where time is real.
fn there() -> &'static Runtime {
    static THERE: OnceLock<Runtime> = OnceLock::new();
    THERE.get_or_init(|| {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(2).enable_all().build();
        runtime.expect("a runtime")
    })
}

/// Waits for something there, whether this is a thread of a runtime or not.
pub(crate) fn waited<T: Send>(work: impl Future<Output = T> + Send) -> T {
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| there().block_on(work));
        waiting.join().expect("it does not panic")
    })
}

/// The clock of a server, set by hand: all its functions ask one function for the time, and that is replaced.
pub(crate) struct ServerClock {
    clock: Clock,
    server: &'static Server,
    url: String,
    schema: String,
    shown: Mutex<Option<Timestamp>>,
}

impl ServerClock {
    pub(crate) fn new(clock: &Clock, server: &'static Server, url: &str, schema: &str) -> Self {
        Self {
            clock: clock.clone(),
            server,
            url: url.to_owned(),
            schema: schema.to_owned(),
            shown: Mutex::default(),
        }
    }

    /// Sets the clock of the server, if it shows another time.
    fn set(&self) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock.now();
        if *shown != Some(now) {
            let sql = format!(
                "CREATE OR REPLACE FUNCTION {}.millis() RETURNS bigint LANGUAGE sql VOLATILE \
                 AS $$ SELECT {}::bigint $$",
                self.schema,
                now.as_millis()
            );
            self.server.psql(&self.url, &sql);
            *shown = Some(now);
        }
    }
}

pub(crate) struct Elsewhere {
    inner: Arc<dyn SessionStore>,
    clock: Option<Arc<ServerClock>>,
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").finish_non_exhaustive()
    }
}

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl Elsewhere {
    pub(crate) fn new(inner: Arc<dyn SessionStore>, clock: Option<ServerClock>) -> Self {
        Self {
            inner,
            clock: clock.map(Arc::new),
        }
    }

    /// Asks there. While a thread waits for the answer, a paused clock stands still.
    fn ask<'a, T, W>(&self, work: W) -> Answer<'a, T>
    where
        T: Send + 'static,
        W: for<'b> FnOnce(&'b dyn SessionStore) -> Answer<'b, T> + Send + 'static,
    {
        let (inner, clock) = (Arc::clone(&self.inner), self.clock.clone());
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || {
                if let Some(clock) = clock {
                    clock.set();
                }
                there().block_on(work(&*inner))
            });
            asked.await.expect("it does not panic")
        })
    }
}

/// As the inner store, elsewhere. Hints never come: a hint is never needed.
impl SessionStore for Elsewhere {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        let new = new.clone();
        self.ask(move |store| Box::pin(async move { store.create(&new).await }))
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        let id = id.clone();
        self.ask(move |store| Box::pin(async move { store.load(&id, from).await }))
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        let (at, entries, head) = (at.clone(), entries.to_vec(), head.clone());
        self.ask(move |store| {
            Box::pin(async move { store.append(&at, fence, append_id, &entries, &head).await })
        })
    }

    fn append_and_release<'a>(
        &'a self,
        at: &'a Position,
        lease: &'a Lease,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
        snapshot: Option<&'a Snapshot>,
    ) -> Answer<'a, bool> {
        let (at, lease, entries) = (at.clone(), lease.clone(), entries.to_vec());
        let (head, snapshot) = (head.clone(), snapshot.cloned());
        self.ask(move |store| {
            Box::pin(async move {
                let snapshot = snapshot.as_ref();
                let done =
                    store.append_and_release(&at, &lease, append_id, &entries, &head, snapshot);
                done.await
            })
        })
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        let filter = filter.clone();
        self.ask(move |store| Box::pin(async move { store.list(&filter, page).await }))
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        let id = id.clone();
        self.ask(move |store| Box::pin(async move { store.delete(&id, condition).await }))
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Answer<'a, Lease> {
        let (id, holder) = (id.clone(), holder.clone());
        self.ask(move |store| {
            Box::pin(async move { store.acquire(&id, &holder, ttl, takeover).await })
        })
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, (Lease, bool)> {
        let (claim, at, entries, head) =
            (claim.clone(), at.clone(), entries.to_vec(), head.clone());
        self.ask(move |store| {
            Box::pin(async move {
                let begun = store.acquire_and_append(&claim, &at, append_id, &entries, &head);
                begun.await
            })
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        let lease = lease.clone();
        self.ask(move |store| Box::pin(async move { store.renew(&lease).await }))
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        self.ask(move |store| Box::pin(async move { store.release(lease).await }))
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        let at = at.clone();
        self.ask(move |store| Box::pin(async move { store.put_snapshot(&at, snapshot).await }))
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        let at = at.clone();
        self.ask(move |store| Box::pin(async move { store.trim(&at, before).await }))
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        self.ask(move |store| Box::pin(async move { store.now().await }))
    }
}

//! A store that notes what is written to another, so that the same bytes can be written without it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use allm::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

/// What one append wrote.
#[derive(Clone)]
pub(crate) struct Appended {
    /// How long nothing had been written before it.
    pub(crate) pause: Duration,
    /// The lengths of its entries.
    pub(crate) lengths: Vec<usize>,
}

/// Passes everything on.
pub(crate) struct Listener {
    store: Arc<dyn SessionStore>,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    /// When the last write ended.
    ended: Option<Instant>,
    appends: Vec<Appended>,
}

impl Listener {
    pub(crate) fn new(store: Arc<dyn SessionStore>) -> Self {
        Self {
            store,
            noted: Mutex::default(),
        }
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, entries: &[Entry]) {
        let mut noted = self.noted();
        let pause = noted.ended.map_or(Duration::ZERO, |ended| ended.elapsed());
        let lengths = entries.iter().map(|entry| entry.bytes.len()).collect();
        noted.appends.push(Appended { pause, lengths });
    }

    /// Notes when a write has ended.
    async fn written<T>(&self, write: BoxFuture<'_, T>) -> T {
        let written = write.await;
        self.noted().ended = Some(Instant::now());
        written
    }

    /// What was appended since the last time.
    pub(crate) fn take(&self) -> Vec<Appended> {
        std::mem::take(&mut *self.noted()).appends
    }
}

impl SessionStore for Listener {
    fn create<'a>(&'a self, new: &'a NewSession) -> BoxFuture<'a, Result<Head, StoreError>> {
        self.store.create(new)
    }

    fn load<'a>(
        &'a self,
        id: &'a SessionId,
        from: LoadFrom,
    ) -> BoxFuture<'a, Result<Loaded, StoreError>> {
        self.store.load(id, from)
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> BoxFuture<'a, Result<Version, StoreError>> {
        self.note(entries);
        let append = self.store.append(at, fence, append_id, entries, head);
        Box::pin(self.written(append))
    }

    fn append_and_release<'a>(
        &'a self,
        at: &'a Position,
        lease: &'a Lease,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
        snapshot: Option<&'a Snapshot>,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.note(entries);
        let store = &self.store;
        let append = store.append_and_release(at, lease, append_id, entries, head, snapshot);
        Box::pin(self.written(append))
    }

    fn list<'a>(
        &'a self,
        filter: &'a SessionFilter,
        page: PageRequest,
    ) -> BoxFuture<'a, Result<Page<Head>, StoreError>> {
        self.store.list(filter, page)
    }

    fn delete<'a>(
        &'a self,
        id: &'a SessionId,
        condition: DeleteIf,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.delete(id, condition)
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        let acquire = self.store.acquire(id, holder, ttl, takeover);
        Box::pin(self.written(acquire))
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> BoxFuture<'a, Result<(Lease, bool), StoreError>> {
        let begin = self
            .store
            .acquire_and_append(claim, at, append_id, entries, head);
        Box::pin(async move {
            self.note(entries);
            let begun = self.written(begin).await?;
            if !begun.1 {
                self.noted().appends.pop();
            }
            Ok(begun)
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> BoxFuture<'a, Result<Lease, StoreError>> {
        self.store.renew(lease)
    }

    fn release(&self, lease: Lease) -> BoxFuture<'_, Result<(), StoreError>> {
        self.store.release(lease)
    }

    fn put_snapshot<'a>(
        &'a self,
        at: &'a Position,
        snapshot: Snapshot,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.put_snapshot(at, snapshot)
    }

    fn trim<'a>(
        &'a self,
        at: &'a Position,
        before: Version,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        self.store.trim(at, before)
    }

    fn changed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        self.store.changed(id)
    }

    fn addressed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        self.store.addressed(id)
    }

    fn now(&self) -> BoxFuture<'_, Result<Timestamp, StoreError>> {
        self.store.now()
    }
}

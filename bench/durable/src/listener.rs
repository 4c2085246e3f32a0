//! A store that notes what is written to another, so that the same bytes can be written without it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use allm::{
    AppendId, BoxFuture, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

/// Passes everything on.
pub(crate) struct Listener {
    store: Arc<dyn SessionStore>,
    /// For each append the lengths of its entries.
    appends: Mutex<Vec<Vec<usize>>>,
}

impl Listener {
    pub(crate) fn new(store: Arc<dyn SessionStore>) -> Self {
        Self {
            store,
            appends: Mutex::default(),
        }
    }

    fn note(&self, entries: &[Entry]) {
        let lengths = entries.iter().map(|entry| entry.bytes.len()).collect();
        let mut appends = self.appends.lock().unwrap_or_else(PoisonError::into_inner);
        appends.push(lengths);
    }

    /// What was appended since the last time.
    pub(crate) fn take(&self) -> Vec<Vec<usize>> {
        let mut appends = self.appends.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *appends)
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
        self.store.append(at, fence, append_id, entries, head)
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
        store.append_and_release(at, lease, append_id, entries, head, snapshot)
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
        self.store.acquire(id, holder, ttl, takeover)
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

//! The trait, as futures over what the store does at once.

use std::time::Duration;

use allm_core::{
    AppendId, BoxFuture, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

use super::{MemoryStore, time};

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl SessionStore for MemoryStore {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        Box::pin(async move { self.create_now(new) })
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        Box::pin(async move { self.load_now(id, from) })
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        Box::pin(async move { self.append_now(at, fence, append_id, entries, head) })
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        Box::pin(async move { self.list_now(filter, &page) })
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        Box::pin(async move { self.delete_now(id, condition) })
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Answer<'a, Lease> {
        Box::pin(async move { self.acquire_now(id, holder, ttl, takeover) })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        Box::pin(async move { self.renew_now(lease) })
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(async move { self.release_now(&lease) })
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move { self.snapshot_now(at, snapshot) })
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        Box::pin(async move { self.trim_now(at, before) })
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(async move { Ok(time(self.state().clock)) })
    }
}

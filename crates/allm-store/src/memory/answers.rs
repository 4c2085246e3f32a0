//! The trait, as futures over what the state does at once.

use std::time::Duration;

use allm_core::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

use super::MemoryStore;
use crate::hints::Writer;

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl SessionStore for MemoryStore {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        Box::pin(async move { self.state().create(new) })
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        Box::pin(async move { self.state().load(self.clock.now(), id, from) })
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        Box::pin(async move {
            let now = self.clock.now();
            let version = (self.state()).append(now, at, fence, append_id, entries, head)?;
            self.hints.give(&at.id, Writer::with(fence));
            Ok(version)
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
        Box::pin(async move {
            let now = self.clock.now();
            {
                let mut state = self.state();
                let fence = Some(lease.fence);
                state.append(now, at, fence, append_id, entries, head)?;
                state.keep_and_release(now, at, lease, snapshot);
            }
            self.hints.give(&at.id, Writer::Driver);
            Ok(true)
        })
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        Box::pin(async move { self.state().list(self.clock.now(), filter, &page) })
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        Box::pin(async move { self.state().delete(self.clock.now(), id, condition) })
    }

    fn acquire<'a>(
        &'a self,
        id: &'a SessionId,
        holder: &'a WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Answer<'a, Lease> {
        let claim = Claim {
            holder: holder.clone(),
            ttl,
            takeover,
        };
        Box::pin(async move { self.state().acquire(self.clock.now(), id, &claim) })
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, (Lease, bool)> {
        Box::pin(async move {
            let now = self.clock.now();
            let taken = (self.state()).acquire_and_append(now, claim, at, append_id, entries, head);
            let (lease, is_appended) = taken?;
            if is_appended {
                self.hints.give(&at.id, Writer::Driver);
            }
            Ok((lease, is_appended))
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        Box::pin(async move { self.state().renew(self.clock.now(), lease) })
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(async move {
            self.state().release(self.clock.now(), &lease);
            Ok(())
        })
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move { self.state().put_snapshot(self.clock.now(), at, snapshot) })
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        Box::pin(async move { self.state().trim(self.clock.now(), at, before) })
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(async move { Ok(self.clock.now()) })
    }

    fn changed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(self.hints.wait(id))
    }

    fn addressed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(self.hints.wait_for_input(id))
    }
}

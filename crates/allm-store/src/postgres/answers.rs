//! The trait.

use std::time::Duration;

use allm_core::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

use super::PostgresStore;
use crate::hints::Writer;
use crate::rules::is_short;

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl SessionStore for PostgresStore {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        Box::pin(self.create_new(new))
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        Box::pin(self.load_from(id, from))
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
            let version = (self.append_all(at, fence, append_id, entries, head)).await?;
            self.tell(&at.id, Writer::with(fence));
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
            let released = snapshot.is_none_or(|snapshot| is_short(&snapshot.bytes));
            if released {
                let done = self.append_last(at, lease, append_id, entries, head, snapshot);
                done.await?;
            } else {
                let fence = Some(lease.fence);
                self.append_all(at, fence, append_id, entries, head).await?;
            }
            self.tell(&at.id, Writer::Driver);
            Ok(released)
        })
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        Box::pin(async move { self.list_page(filter, &page).await })
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        Box::pin(self.delete_if(id, condition))
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
        Box::pin(async move { self.acquire_for(id, &claim).await })
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
            let taken = self.acquire_with(claim, at, append_id, entries, head);
            let (lease, is_appended) = taken.await?;
            if is_appended {
                self.tell(&at.id, Writer::Driver);
            }
            Ok((lease, is_appended))
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        Box::pin(self.renew_lease(lease))
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(async move { self.release_lease(&lease).await })
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(async move { self.keep_snapshot(at, &snapshot).await })
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        Box::pin(self.trim_to(at, before))
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(self.time())
    }

    fn changed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match &self.hearing {
                Some(hearing) => hearing.wait(id).await,
                None => std::future::pending().await,
            }
        })
    }

    fn addressed<'a>(&'a self, id: &'a SessionId) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            match &self.hearing {
                Some(hearing) => hearing.wait_for_input(id).await,
                None => std::future::pending().await,
            }
        })
    }
}

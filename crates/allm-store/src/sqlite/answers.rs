//! The trait.

use std::time::Duration;

use allm_core::{
    AppendId, BoxFuture, Claim, DeleteIf, Entry, Fence, Head, HeadUpdate, Lease, LoadFrom, Loaded,
    NewSession, Page, PageRequest, Position, SessionFilter, SessionId, SessionStore, Snapshot,
    StoreError, Takeover, Timestamp, Version, WriterId,
};

use super::SqliteStore;
use super::append::{Append, Ending};
use crate::hints::Writer;

type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

impl SessionStore for SqliteStore {
    fn create<'a>(&'a self, new: &'a NewSession) -> Answer<'a, Head> {
        Box::pin(self.create_new(new.clone()))
    }

    fn load<'a>(&'a self, id: &'a SessionId, from: LoadFrom) -> Answer<'a, Loaded> {
        Box::pin(self.load_from(id.clone(), from))
    }

    fn append<'a>(
        &'a self,
        at: &'a Position,
        fence: Option<Fence>,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, Version> {
        let append = Append {
            at: at.clone(),
            fence,
            id: append_id,
            entries: entries.to_vec(),
            head: head.clone(),
            ending: None,
        };
        Box::pin(async move {
            let version = self.append_all(append).await?;
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
        let append = Append {
            at: at.clone(),
            fence: Some(lease.fence),
            id: append_id,
            entries: entries.to_vec(),
            head: head.clone(),
            ending: Some(Ending {
                snapshot: snapshot.cloned(),
            }),
        };
        Box::pin(async move {
            let released = self.append_ending(append).await?;
            self.hints.give(&at.id, Writer::Driver);
            Ok(released)
        })
    }

    fn list<'a>(&'a self, filter: &'a SessionFilter, page: PageRequest) -> Answer<'a, Page<Head>> {
        Box::pin(async move { self.list_page(filter, &page).await })
    }

    fn delete<'a>(&'a self, id: &'a SessionId, condition: DeleteIf) -> Answer<'a, ()> {
        Box::pin(self.delete_if(id.clone(), condition))
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
        Box::pin(self.acquire_for(id.clone(), claim))
    }

    fn acquire_and_append<'a>(
        &'a self,
        claim: &'a Claim,
        at: &'a Position,
        append_id: AppendId,
        entries: &'a [Entry],
        head: &'a HeadUpdate,
    ) -> Answer<'a, (Lease, bool)> {
        let append = Append {
            at: at.clone(),
            fence: None,
            id: append_id,
            entries: entries.to_vec(),
            head: head.clone(),
            ending: None,
        };
        Box::pin(async move {
            let (lease, is_appended) = self.acquire_with(claim.clone(), append).await?;
            if is_appended {
                self.hints.give(&at.id, Writer::Driver);
            }
            Ok((lease, is_appended))
        })
    }

    fn renew<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Lease> {
        Box::pin(self.renew_lease(lease.clone()))
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        Box::pin(self.release_lease(lease))
    }

    fn put_snapshot<'a>(&'a self, at: &'a Position, snapshot: Snapshot) -> Answer<'a, ()> {
        Box::pin(self.keep_snapshot(at.clone(), snapshot))
    }

    fn trim<'a>(&'a self, at: &'a Position, before: Version) -> Answer<'a, ()> {
        Box::pin(self.trim_to(at.clone(), before))
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

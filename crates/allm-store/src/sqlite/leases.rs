//! Leases.

use std::time::Duration;

use allm_core::{Fence, Lease, SessionId, StoreError, Takeover, Timestamp, WriterId};
use sqlx::sqlite::SqliteConnection;

use super::SqliteStore;
use super::write::{exact, named};
use crate::clock::{later, whole_millis};
use crate::database::fault::Fault;
use crate::database::integer;
use crate::rules::{fenced, not_found, short_ttl};

impl SqliteStore {
    pub(super) async fn acquire_for(
        &self,
        id: &SessionId,
        holder: &WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Result<Lease, StoreError> {
        if whole_millis(ttl) == 0 {
            return Err(short_ttl());
        }
        let mut write = self.begin().await?;
        let now = self.clock.now();
        let done = acquire(write.connection(), now, id, holder, ttl, takeover).await;
        write.finish(done).await
    }

    pub(super) async fn renew_lease(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let mut write = self.begin().await?;
        let done = renew(write.connection(), self.clock.now(), lease).await;
        write.finish(done).await
    }

    pub(super) async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut write = self.begin().await?;
        let release = "UPDATE sessions SET holder = NULL, lease_until = NULL \
                       WHERE id = ? AND uid = ? AND fence = ?";
        let done = sqlx::query(release)
            .bind(lease.id.as_str())
            .bind(lease.uid.as_bytes().as_slice())
            .bind(integer(lease.fence.0))
            .execute(write.connection())
            .await;
        write.finish(done.map(drop).map_err(Fault::from)).await
    }
}

async fn acquire(
    connection: &mut SqliteConnection,
    now: Timestamp,
    id: &SessionId,
    holder: &WriterId,
    ttl: Duration,
    takeover: Takeover,
) -> Result<Lease, Fault> {
    let found = named(connection, now, id).await?.ok_or_else(not_found)?;
    if let (Some(held), Takeover::IfExpired) = (found.lease, takeover) {
        return Err(StoreError::lease_held(held).into());
    }
    let fence = Fence(found.last_fence.0.saturating_add(1));
    let expires_at = later(now, whole_millis(ttl));
    sqlx::query("UPDATE sessions SET fence = ?, holder = ?, lease_until = ? WHERE key = ?")
        .bind(integer(fence.0))
        .bind(holder.as_str())
        .bind(expires_at.as_millis())
        .bind(found.key)
        .execute(connection)
        .await?;
    Ok(Lease {
        id: id.clone(),
        uid: found.uid,
        holder: holder.clone(),
        fence,
        ttl,
        expires_at,
    })
}

async fn renew(
    connection: &mut SqliteConnection,
    now: Timestamp,
    lease: &Lease,
) -> Result<Lease, Fault> {
    let found = exact(connection, now, &lease.id, lease.uid).await?;
    if found.fence != Some(lease.fence) {
        return Err(fenced().into());
    }
    let expires_at = later(now, whole_millis(lease.ttl));
    sqlx::query("UPDATE sessions SET lease_until = ? WHERE key = ?")
        .bind(expires_at.as_millis())
        .bind(found.key)
        .execute(connection)
        .await?;
    Ok(Lease {
        expires_at,
        ..lease.clone()
    })
}

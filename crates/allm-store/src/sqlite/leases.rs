//! Leases.

use std::time::Duration;

use allm_core::{Fence, Lease, SessionId, StoreError, Takeover, Timestamp, Version, WriterId};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::write::{exact, named, uid};
use super::{SqliteStore, answered, told};
use crate::clock::{later, whole_millis};
use crate::database::fault::Fault;
use crate::database::{count, integer};
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
        if let Some(lease) = self.usual_acquisition(id, holder, ttl, takeover).await? {
            return Ok(lease);
        }
        let mut write = self.begin().await?;
        let now = self.clock.now();
        let done = acquire(write.connection(), now, id, holder, ttl, takeover).await;
        write.finish(done).await
    }

    /// The usual case with one way to the connection's thread and back: the session is there and free. `None` when it is
    /// not; nothing was done then.
    async fn usual_acquisition(
        &self,
        id: &SessionId,
        holder: &WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Result<Option<Lease>, StoreError> {
        let mut lent = self.writer.lend().await.map_err(told)?;
        let now = self.clock.now();
        let expires_at = later(now, whole_millis(ttl));
        let acquired = sqlx::query(
            "BEGIN IMMEDIATE;
             UPDATE sessions SET fence = fence + 1, holder = ?2, lease_until = ?3
             WHERE id = ?1 AND (?5 OR holder IS NULL OR lease_until <= ?4)
             RETURNING uid, fence, version;
             COMMIT",
        )
        .bind(id.as_str())
        .bind(holder.as_str())
        .bind(expires_at.as_millis())
        .bind(now.as_millis())
        .bind(takeover == Takeover::Force)
        .fetch_all(&mut lent.connection)
        .await
        .map_err(told)?;
        lent.keep();
        let Some(row) = acquired.first() else {
            return Ok(None);
        };
        let read = || {
            Ok(Lease {
                id: id.clone(),
                uid: uid(row.try_get(0)?)?,
                holder: holder.clone(),
                fence: Fence(count(row.try_get(1)?)),
                ttl,
                expires_at,
                version: Some(Version(count(row.try_get(2)?))),
            })
        };
        read().map(Some).map_err(answered)
    }

    pub(super) async fn renew_lease(&self, lease: &Lease) -> Result<Lease, StoreError> {
        let mut write = self.begin().await?;
        let done = renew(write.connection(), self.clock.now(), lease).await;
        write.finish(done).await
    }

    pub(super) async fn release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let mut lent = self.writer.lend().await.map_err(told)?;
        sqlx::query(
            "BEGIN IMMEDIATE;
             UPDATE sessions SET holder = NULL, lease_until = NULL
             WHERE id = ?1 AND uid = ?2 AND fence = ?3;
             COMMIT",
        )
        .bind(lease.id.as_str())
        .bind(lease.uid.as_bytes().as_slice())
        .bind(integer(lease.fence.0))
        .execute(&mut lent.connection)
        .await
        .map_err(told)?;
        lent.keep();
        Ok(())
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
        version: Some(found.version),
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

//! Leases.

use std::time::Duration;

use allm_core::{Fence, Lease, SessionId, StoreError, Takeover, Timestamp, WriterId};
use rusqlite::Connection;

use super::SqliteStore;
use super::fault::Fault;
use super::write::{exact, named};
use crate::clock::{later, whole_millis};
use crate::database::integer;
use crate::rules::{fenced, not_found, short_ttl};

impl SqliteStore {
    pub(super) async fn acquire_for(
        &self,
        id: SessionId,
        holder: WriterId,
        ttl: Duration,
        takeover: Takeover,
    ) -> Result<Lease, StoreError> {
        if whole_millis(ttl) == 0 {
            return Err(short_ttl());
        }
        let acquire =
            move |connection: &_, now| acquire(connection, now, id, holder, ttl, takeover);
        self.write(acquire).await
    }

    pub(super) async fn renew_lease(&self, lease: Lease) -> Result<Lease, StoreError> {
        self.write(move |connection, now| renew(connection, now, lease))
            .await
    }

    pub(super) async fn release_lease(&self, lease: Lease) -> Result<(), StoreError> {
        self.write(move |connection, _| release(connection, &lease))
            .await
    }
}

fn acquire(
    connection: &Connection,
    now: Timestamp,
    id: SessionId,
    holder: WriterId,
    ttl: Duration,
    takeover: Takeover,
) -> Result<Lease, Fault> {
    let found = named(connection, now, &id)?.ok_or_else(not_found)?;
    if let (Some(held), Takeover::IfExpired) = (found.lease, takeover) {
        return Err(StoreError::lease_held(held).into());
    }
    let fence = Fence(found.last_fence.0.saturating_add(1));
    let expires_at = later(now, whole_millis(ttl));
    let set = "UPDATE sessions SET fence = ?, holder = ?, lease_until = ? WHERE key = ?";
    connection.prepare_cached(set)?.execute((
        integer(fence.0),
        holder.as_str(),
        expires_at.as_millis(),
        found.key,
    ))?;
    Ok(Lease {
        id,
        uid: found.uid,
        holder,
        fence,
        ttl,
        expires_at,
        version: Some(found.version),
    })
}

fn renew(connection: &Connection, now: Timestamp, lease: Lease) -> Result<Lease, Fault> {
    let found = exact(connection, now, &lease.id, lease.uid)?;
    if found.fence != Some(lease.fence) {
        return Err(fenced().into());
    }
    let expires_at = later(now, whole_millis(lease.ttl));
    let set = "UPDATE sessions SET lease_until = ? WHERE key = ?";
    let mut set = connection.prepare_cached(set)?;
    set.execute((expires_at.as_millis(), found.key))?;
    Ok(Lease {
        expires_at,
        ..lease
    })
}

/// Whatever is not held any more is left as it is.
fn release(connection: &Connection, lease: &Lease) -> Result<(), Fault> {
    let free = "UPDATE sessions SET holder = NULL, lease_until = NULL
                WHERE id = ? AND uid = ? AND fence = ?";
    connection.prepare_cached(free)?.execute((
        lease.id.as_str(),
        lease.uid.as_bytes(),
        integer(lease.fence.0),
    ))?;
    Ok(())
}

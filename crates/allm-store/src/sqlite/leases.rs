//! Leases.

use allm_core::{Claim, Fence, Lease, SessionId, StoreError, Takeover, Timestamp, check_append};
use rusqlite::Connection;

use super::SqliteStore;
use super::append::Append;
use super::fault::Fault;
use super::write::{exact, named};
use crate::clock::{later, whole_millis};
use crate::database::integer;
use crate::rules::{check_claim, fenced, is_appended, is_untimely, not_found};

impl SqliteStore {
    pub(super) async fn acquire_for(
        &self,
        id: SessionId,
        claim: Claim,
    ) -> Result<Lease, StoreError> {
        check_claim(&claim)?;
        self.write(move |connection, now| acquire(connection, now, id, claim))
            .await
    }

    /// The lease, and whether what begins a run was appended under it.
    pub(super) async fn acquire_with(
        &self,
        claim: Claim,
        mut append: Append,
    ) -> Result<(Lease, bool), StoreError> {
        check_claim(&claim)?;
        check_append(&append.at, Some(Fence(0)), &append.entries)?;
        let acquire = move |connection: &_, now| {
            let lease = acquire(connection, now, append.at.id.clone(), claim)?;
            if is_untimely(&lease, &append.at, &append.entries, now) {
                return Ok((lease, false));
            }
            append.fence = Some(lease.fence);
            let is_appended = match append.write(connection, now) {
                Ok(_) => true,
                // It writes nothing before it knows.
                Err(Fault::Answer(error)) => is_appended::<()>(Err(error))?,
                Err(fault) => return Err(fault),
            };
            Ok((lease, is_appended))
        };
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
    claim: Claim,
) -> Result<Lease, Fault> {
    let Claim {
        holder,
        ttl,
        takeover,
    } = claim;
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

//! Creating, deleting, snapshots, trimming.

use std::collections::BTreeMap;

use allm_core::{
    DeleteIf, Fence, Head, NewSession, Position, SessionId, SessionUid, Snapshot, StoreError,
    Timestamp, Version,
};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::append::insert;
use super::{SqliteStore, blobs, row};
use crate::clock::later;
use crate::database::content::Place;
use crate::database::fault::Fault;
use crate::database::{count, integer, tags};
use crate::rules::{
    TOMBSTONE_MILLIS, already_exists, at_version, gone, not_found, uncovered_trim, unfit_snapshot,
};

/// What a write has to know of a session.
pub(super) struct Found {
    pub(super) key: i64,
    pub(super) uid: SessionUid,
    pub(super) version: Version,
    /// The current one; none after a release.
    pub(super) fence: Option<Fence>,
    pub(super) last_fence: Fence,
    pub(super) lease: Option<allm_core::HeldLease>,
}

/// A `uid` as it was kept.
pub(super) fn uid(bytes: Vec<u8>) -> Result<SessionUid, Fault> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(|_| StoreError::corrupt(Version(1)))?;
    Ok(SessionUid::from_bytes(bytes))
}

/// The session with this id.
pub(super) async fn named(
    connection: &mut SqliteConnection,
    now: Timestamp,
    id: &SessionId,
) -> Result<Option<Found>, Fault> {
    let found = "SELECT key, uid, version, fence, holder, lease_until FROM sessions WHERE id = ?";
    let found = sqlx::query(found).bind(id.as_str());
    let Some(found) = found.fetch_optional(connection).await? else {
        return Ok(None);
    };
    let uid = uid(found.try_get(1)?)?;
    let last_fence = Fence(count(found.try_get(3)?));
    let lease = row::held(found.try_get(4)?, found.try_get(5)?)?;
    Ok(Some(Found {
        key: found.try_get(0)?,
        uid,
        version: Version(count(found.try_get(2)?)),
        fence: lease.as_ref().map(|_| last_fence),
        last_fence,
        lease: lease.filter(|held| now < held.expires_at),
    }))
}

/// The session with this id and this `uid`.
pub(super) async fn exact(
    connection: &mut SqliteConnection,
    now: Timestamp,
    id: &SessionId,
    uid: SessionUid,
) -> Result<Found, Fault> {
    match named(connection, now, id).await? {
        Some(found) if found.uid == uid => Ok(found),
        Some(_) => Err(gone().into()),
        None => {
            let tombstone = "SELECT 1 FROM tombstones WHERE id = ? AND uid = ? AND until > ?";
            let tombstone: Option<i64> = sqlx::query_scalar(tombstone)
                .bind(id.as_str())
                .bind(uid.as_bytes().as_slice())
                .bind(now.as_millis())
                .fetch_optional(connection)
                .await?;
            Err(tombstone.map_or_else(not_found, |_| gone()).into())
        }
    }
}

/// Writes the rows that listings find tags by.
pub(super) async fn put_tags(
    connection: &mut SqliteConnection,
    session: i64,
    tags: &BTreeMap<String, String>,
) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM tags WHERE session = ?")
        .bind(session)
        .execute(&mut *connection)
        .await?;
    for (key, value) in tags {
        sqlx::query("INSERT INTO tags (session, key, value) VALUES (?, ?, ?)")
            .bind(session)
            .bind(key)
            .bind(value)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

impl SqliteStore {
    pub(super) async fn create_new(&self, new: &NewSession) -> Result<Head, StoreError> {
        new.check()?;
        let mut write = self.begin().await?;
        let done = create(write.connection(), new).await;
        write.finish(done).await
    }

    pub(super) async fn delete_if(
        &self,
        id: &SessionId,
        condition: DeleteIf,
    ) -> Result<(), StoreError> {
        let mut write = self.begin().await?;
        let done = delete(write.connection(), self.clock.now(), id, condition).await;
        write.finish(done).await
    }

    pub(super) async fn keep_snapshot(
        &self,
        at: &Position,
        snapshot: &Snapshot,
    ) -> Result<(), StoreError> {
        let mut write = self.begin().await?;
        let done = put_snapshot(write.connection(), self.clock.now(), at, snapshot).await;
        write.finish(done).await
    }

    pub(super) async fn trim_to(&self, at: &Position, before: Version) -> Result<(), StoreError> {
        let mut write = self.begin().await?;
        let done = trim(write.connection(), self.clock.now(), at, before).await;
        write.finish(done).await
    }
}

async fn create(connection: &mut SqliteConnection, new: &NewSession) -> Result<Head, Fault> {
    let head = Head::created(new);
    let insert_head = "INSERT INTO sessions \
         (id, uid, version, status, runnable, tags, next_expiry, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
         ON CONFLICT (id) DO NOTHING RETURNING key";
    let key: Option<i64> = sqlx::query_scalar(insert_head)
        .bind(head.id.as_str())
        .bind(head.uid.as_bytes().as_slice())
        .bind(integer(head.version.0))
        .bind(head.status.as_str())
        .bind(head.runnable)
        .bind(tags::all(&head.tags))
        .bind(head.next_expiry.map(Timestamp::as_millis))
        .bind(head.created_at.as_millis())
        .fetch_optional(&mut *connection)
        .await?;
    let key = key.ok_or_else(already_exists)?;
    put_tags(connection, key, &head.tags).await?;
    insert(connection, key, &new.first, None).await?;
    Ok(head)
}

async fn delete(
    connection: &mut SqliteConnection,
    now: Timestamp,
    id: &SessionId,
    condition: DeleteIf,
) -> Result<(), Fault> {
    let found = named(connection, now, id).await?.ok_or_else(not_found)?;
    if let DeleteIf::Version(version) = condition {
        at_version(version, found.version)?;
    }
    if let Some(held) = found.lease.filter(|_| condition != DeleteIf::Force) {
        return Err(StoreError::lease_held(held).into());
    }
    blobs::forget_entries(connection, found.key, i64::MAX).await?;
    blobs::forget_snapshot(connection, found.key).await?;
    // Its other rows go with it.
    sqlx::query("DELETE FROM sessions WHERE key = ?")
        .bind(found.key)
        .execute(&mut *connection)
        .await?;
    sqlx::query("DELETE FROM tombstones WHERE until <= ?")
        .bind(now.as_millis())
        .execute(&mut *connection)
        .await?;
    sqlx::query("INSERT OR REPLACE INTO tombstones (id, uid, until) VALUES (?, ?, ?)")
        .bind(id.as_str())
        .bind(found.uid.as_bytes().as_slice())
        .bind(later(now, TOMBSTONE_MILLIS).as_millis())
        .execute(connection)
        .await?;
    Ok(())
}

async fn put_snapshot(
    connection: &mut SqliteConnection,
    now: Timestamp,
    at: &Position,
    snapshot: &Snapshot,
) -> Result<(), Fault> {
    let found = exact(connection, now, &at.id, at.uid).await?;
    let fits = "SELECT 1 FROM entries WHERE session = ?1 AND version = ?2 AND chain = ?3
                UNION ALL SELECT 1 FROM snapshots WHERE session = ?1 AND version = ?2 AND chain = ?3";
    let fits: Option<i64> = sqlx::query_scalar(fits)
        .bind(found.key)
        .bind(integer(snapshot.version.0))
        .bind(snapshot.chain.as_bytes().as_slice())
        .fetch_optional(&mut *connection)
        .await?;
    if at.version != snapshot.version || fits.is_none() {
        return Err(unfit_snapshot().into());
    }
    let newer = "SELECT 1 FROM snapshots WHERE session = ? AND version > ?";
    let newer: Option<i64> = sqlx::query_scalar(newer)
        .bind(found.key)
        .bind(integer(snapshot.version.0))
        .fetch_optional(&mut *connection)
        .await?;
    if newer.is_some() {
        return Ok(());
    }
    replace_snapshot(connection, found.key, snapshot).await?;
    Ok(())
}

/// Keeps a snapshot in place of the one that is there.
pub(super) async fn replace_snapshot(
    connection: &mut SqliteConnection,
    session: i64,
    snapshot: &Snapshot,
) -> Result<(), sqlx::Error> {
    let place = Place::of(&snapshot.bytes);
    // What is new comes first, so that content which stays the same is not dropped in between.
    blobs::refer(connection, &place, &snapshot.bytes).await?;
    blobs::forget_snapshot(connection, session).await?;
    let put = "INSERT OR REPLACE INTO snapshots (session, version, state_hash, chain, bytes, blob)
               VALUES (?, ?, ?, ?, ?, ?)";
    sqlx::query(put)
        .bind(session)
        .bind(integer(snapshot.version.0))
        .bind(snapshot.state_hash.as_bytes().as_slice())
        .bind(snapshot.chain.as_bytes().as_slice())
        .bind(place.row(&snapshot.bytes))
        .bind(place.hash())
        .execute(connection)
        .await?;
    Ok(())
}

async fn trim(
    connection: &mut SqliteConnection,
    now: Timestamp,
    at: &Position,
    before: Version,
) -> Result<(), Fault> {
    let found = exact(connection, now, &at.id, at.uid).await?;
    at_version(at.version, found.version)?;
    let through = integer(before.0).saturating_sub(1);
    let covered = "SELECT 1 FROM snapshots WHERE session = ? AND version >= ?";
    let covered: Option<i64> = sqlx::query_scalar(covered)
        .bind(found.key)
        .bind(through)
        .fetch_optional(&mut *connection)
        .await?;
    covered.ok_or_else(uncovered_trim)?;
    blobs::forget_entries(connection, found.key, through).await?;
    for statement in [
        "INSERT INTO appends (session, append_id, version, chain)
         SELECT session, append_id, version, chain FROM entries
         WHERE session = ? AND version <= ? AND append_id IS NOT NULL",
        "DELETE FROM entries WHERE session = ? AND version <= ?",
        "UPDATE sessions SET trimmed = ?2 WHERE key = ?1 AND trimmed < ?2",
    ] {
        sqlx::query(statement)
            .bind(found.key)
            .bind(through)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

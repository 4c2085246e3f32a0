//! Creating, deleting, snapshots, trimming.

use std::collections::BTreeMap;

use allm_core::{
    DeleteIf, Fence, Head, HeldLease, NewSession, Position, SessionId, SessionUid, Snapshot,
    StoreError, Timestamp, Version,
};
use rusqlite::{Connection, OptionalExtension as _};

use super::append::insert;
use super::fault::Fault;
use super::{SqliteStore, blobs, row};
use crate::clock::later;
use crate::database::content::Place;
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
    pub(super) lease: Option<HeldLease>,
    pub(super) listed: Listed,
}

/// What listings are filtered by, as it is kept.
pub(super) struct Listed {
    pub(super) status: String,
    pub(super) runnable: bool,
    pub(super) next_expiry: Option<i64>,
    pub(super) tags: Vec<u8>,
}

/// A `uid` as it was kept.
fn uid(bytes: Vec<u8>) -> Result<SessionUid, Fault> {
    let bytes = bytes.try_into();
    let bytes = bytes.map_err(|_| StoreError::corrupt(Version(1)))?;
    Ok(SessionUid::from_bytes(bytes))
}

/// The session with this id.
pub(super) fn named(
    connection: &Connection,
    now: Timestamp,
    id: &SessionId,
) -> Result<Option<Found>, Fault> {
    let found =
        "SELECT key, uid, version, fence, holder, lease_until, status, runnable, next_expiry, tags
                 FROM sessions WHERE id = ?";
    let mut found = connection.prepare_cached(found)?;
    let mut found = found.query([id.as_str()])?;
    let Some(found) = found.next()? else {
        return Ok(None);
    };
    let last_fence = Fence(count(found.get(3)?));
    let lease = row::held(found.get(4)?, found.get(5)?)?;
    Ok(Some(Found {
        key: found.get(0)?,
        uid: uid(found.get(1)?)?,
        version: Version(count(found.get(2)?)),
        fence: lease.as_ref().map(|_| last_fence),
        last_fence,
        lease: lease.filter(|held| now < held.expires_at),
        listed: Listed {
            status: found.get(6)?,
            runnable: found.get(7)?,
            next_expiry: found.get(8)?,
            tags: found.get(9)?,
        },
    }))
}

/// The session with this id and this `uid`.
pub(super) fn exact(
    connection: &Connection,
    now: Timestamp,
    id: &SessionId,
    uid: SessionUid,
) -> Result<Found, Fault> {
    match named(connection, now, id)? {
        Some(found) if found.uid == uid => Ok(found),
        Some(_) => Err(gone().into()),
        None => {
            let deleted = "SELECT 1 FROM tombstones WHERE id = ? AND uid = ? AND until > ?";
            let mut deleted = connection.prepare_cached(deleted)?;
            let deleted = deleted.exists((id.as_str(), uid.as_bytes(), now.as_millis()))?;
            Err(if deleted { gone() } else { not_found() }.into())
        }
    }
}

/// Writes the rows that listings find tags by.
pub(super) fn put_tags(
    connection: &Connection,
    session: i64,
    tags: &BTreeMap<String, String>,
) -> Result<(), rusqlite::Error> {
    let mut delete = connection.prepare_cached("DELETE FROM tags WHERE session = ?")?;
    delete.execute([session])?;
    let insert = "INSERT INTO tags (session, key, value) VALUES (?, ?, ?)";
    let mut insert = connection.prepare_cached(insert)?;
    for (key, value) in tags {
        insert.execute((session, key, value))?;
    }
    Ok(())
}

impl SqliteStore {
    pub(super) async fn create_new(&self, new: NewSession) -> Result<Head, StoreError> {
        new.check()?;
        self.write(move |connection, _| create(connection, &new))
            .await
    }

    pub(super) async fn delete_if(
        &self,
        id: SessionId,
        condition: DeleteIf,
    ) -> Result<(), StoreError> {
        self.write(move |connection, now| delete(connection, now, &id, condition))
            .await
    }

    pub(super) async fn keep_snapshot(
        &self,
        at: Position,
        snapshot: Snapshot,
    ) -> Result<(), StoreError> {
        self.write(move |connection, now| put_snapshot(connection, now, &at, &snapshot))
            .await
    }

    pub(super) async fn trim_to(&self, at: Position, before: Version) -> Result<(), StoreError> {
        self.write(move |connection, now| trim(connection, now, &at, before))
            .await
    }
}

fn create(connection: &Connection, new: &NewSession) -> Result<Head, Fault> {
    let head = Head::created(new);
    let insert_head = "INSERT INTO sessions \
         (id, uid, version, status, runnable, tags, next_expiry, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)
         ON CONFLICT (id) DO NOTHING RETURNING key";
    let values = (
        head.id.as_str(),
        head.uid.as_bytes(),
        integer(head.version.0),
        head.status.as_str(),
        head.runnable,
        tags::all(&head.tags),
        head.next_expiry.map(Timestamp::as_millis),
        head.created_at.as_millis(),
    );
    let key = connection
        .prepare_cached(insert_head)?
        .query_row(values, |row| row.get(0))
        .optional()?;
    let key = key.ok_or_else(already_exists)?;
    put_tags(connection, key, &head.tags)?;
    insert(connection, key, &new.first, None)?;
    Ok(head)
}

fn delete(
    connection: &Connection,
    now: Timestamp,
    id: &SessionId,
    condition: DeleteIf,
) -> Result<(), Fault> {
    let found = named(connection, now, id)?.ok_or_else(not_found)?;
    if let DeleteIf::Version(version) = condition {
        at_version(version, found.version)?;
    }
    if let Some(held) = found.lease.filter(|_| condition != DeleteIf::Force) {
        return Err(StoreError::lease_held(held).into());
    }
    blobs::forget_entries(connection, found.key, i64::MAX)?;
    blobs::forget_snapshot(connection, found.key)?;
    // Its other rows go with it.
    let mut delete = connection.prepare_cached("DELETE FROM sessions WHERE key = ?")?;
    delete.execute([found.key])?;
    let mut forget = connection.prepare_cached("DELETE FROM tombstones WHERE until <= ?")?;
    forget.execute([now.as_millis()])?;
    let bury = "INSERT OR REPLACE INTO tombstones (id, uid, until) VALUES (?, ?, ?)";
    connection.prepare_cached(bury)?.execute((
        id.as_str(),
        found.uid.as_bytes(),
        later(now, TOMBSTONE_MILLIS).as_millis(),
    ))?;
    Ok(())
}

fn put_snapshot(
    connection: &Connection,
    now: Timestamp,
    at: &Position,
    snapshot: &Snapshot,
) -> Result<(), Fault> {
    let found = exact(connection, now, &at.id, at.uid)?;
    let version = integer(snapshot.version.0);
    let fits = "SELECT 1 FROM entries WHERE session = ?1 AND version = ?2 AND chain = ?3
                UNION ALL SELECT 1 FROM snapshots WHERE session = ?1 AND version = ?2 AND chain = ?3";
    let mut fits = connection.prepare_cached(fits)?;
    let fits = fits.exists((found.key, version, snapshot.chain.as_bytes()))?;
    if at.version != snapshot.version || !fits {
        return Err(unfit_snapshot().into());
    }
    let newer = "SELECT 1 FROM snapshots WHERE session = ? AND version > ?";
    let mut newer = connection.prepare_cached(newer)?;
    if !newer.exists((found.key, version))? {
        replace_snapshot(connection, found.key, snapshot)?;
    }
    Ok(())
}

/// Keeps a snapshot in place of the one that is there.
pub(super) fn replace_snapshot(
    connection: &Connection,
    session: i64,
    snapshot: &Snapshot,
) -> Result<(), rusqlite::Error> {
    let place = Place::of(&snapshot.bytes);
    // What is new comes first, so that content which stays the same is not dropped in between.
    blobs::refer(connection, &place, &snapshot.bytes)?;
    blobs::forget_snapshot(connection, session)?;
    let put = "INSERT OR REPLACE INTO snapshots (session, version, state_hash, chain, bytes, blob)
               VALUES (?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(put)?.execute((
        session,
        integer(snapshot.version.0),
        snapshot.state_hash.as_bytes(),
        snapshot.chain.as_bytes(),
        place.row(&snapshot.bytes),
        place.hash(),
    ))?;
    Ok(())
}

fn trim(
    connection: &Connection,
    now: Timestamp,
    at: &Position,
    before: Version,
) -> Result<(), Fault> {
    let found = exact(connection, now, &at.id, at.uid)?;
    at_version(at.version, found.version)?;
    let through = integer(before.0).saturating_sub(1);
    let covered = "SELECT 1 FROM snapshots WHERE session = ? AND version >= ?";
    let mut covered = connection.prepare_cached(covered)?;
    if !covered.exists((found.key, through))? {
        return Err(uncovered_trim().into());
    }
    blobs::forget_entries(connection, found.key, through)?;
    for statement in [
        "INSERT INTO appends (session, append_id, version, chain)
         SELECT session, append_id, version, chain FROM entries
         WHERE session = ? AND version <= ? AND append_id IS NOT NULL",
        "DELETE FROM entries WHERE session = ? AND version <= ?",
        "UPDATE sessions SET trimmed = ?2 WHERE key = ?1 AND trimmed < ?2",
    ] {
        let mut statement = connection.prepare_cached(statement)?;
        statement.execute((found.key, through))?;
    }
    Ok(())
}

//! Rows as values.

use allm_core::{
    Entry, EntryClass, Head, HeldLease, SessionId, SessionStatus, SessionUid, Snapshot, StoreError,
    StoreReason, Timestamp, Version, WriterId,
};
use rusqlite::Row;

use super::fault::Fault;
use crate::database::content::{hash, put_back};
use crate::database::{count, tags};

/// The columns of a head, in the order in which [`head`] reads them.
macro_rules! head_columns {
    () => {
        "id, uid, version, status, runnable, tags, next_expiry, created_at, updated_at, holder, \
         lease_until"
    };
}
pub(super) use head_columns;

pub(super) fn head(row: &Row<'_>, now: Timestamp) -> Result<Head, Fault> {
    let id: String = row.get(0)?;
    let uid: Vec<u8> = row.get(1)?;
    let status: String = row.get(3)?;
    let tags: Vec<u8> = row.get(5)?;
    let next_expiry: Option<i64> = row.get(6)?;
    let lease = held(row.get(9)?, row.get(10)?)?;
    Ok(Head {
        id: SessionId::new(id).map_err(|_| damaged())?,
        uid: SessionUid::from_bytes(uid.try_into().map_err(|_| damaged())?),
        version: Version(count(row.get(2)?)),
        status: status_named(&status).ok_or_else(damaged)?,
        runnable: row.get(4)?,
        tags: tags::read(&tags).ok_or_else(damaged)?,
        lease: lease.filter(|held| now < held.expires_at),
        next_expiry: next_expiry.map(time).transpose()?,
        created_at: time(row.get(7)?)?,
        updated_at: time(row.get(8)?)?,
    })
}

/// A lease that was not given back, live or not.
pub(super) fn held(holder: Option<String>, until: Option<i64>) -> Result<Option<HeldLease>, Fault> {
    let Some((holder, until)) = holder.zip(until) else {
        return Ok(None);
    };
    let (holder, expires_at) = (WriterId::new(holder), time(until)?);
    Ok(Some(HeldLease { holder, expires_at }))
}

/// An entry: version, class, at, chain, bytes, hash, content under that hash.
pub(super) fn entry(row: &Row<'_>) -> Result<Entry, Fault> {
    let version = Version(count(row.get(0)?));
    let damaged = || StoreError::corrupt(version);
    let class: i64 = row.get(1)?;
    let chain: Vec<u8> = row.get(3)?;
    let content = put_back(row.get(4)?, row.get(5)?, row.get(6)?);
    Ok(Entry {
        version,
        class: class_numbered(class).ok_or_else(damaged)?,
        at: Timestamp::from_millis(row.get(2)?).map_err(|_| damaged())?,
        bytes: content.ok_or_else(damaged)?,
        chain: hash(&chain).ok_or_else(damaged)?,
    })
}

/// A snapshot: version, state hash, chain, bytes, hash, content under that hash. Its version alone when its content is missing or altered.
pub(super) fn snapshot(row: &Row<'_>) -> Result<Result<Snapshot, Version>, rusqlite::Error> {
    let version = Version(count(row.get(0)?));
    let state_hash: Vec<u8> = row.get(1)?;
    let chain: Vec<u8> = row.get(2)?;
    let content = put_back(row.get(3)?, row.get(4)?, row.get(5)?);
    let whole =
        (hash(&state_hash).zip(hash(&chain)).zip(content)).map(|((state_hash, chain), bytes)| {
            Snapshot {
                version,
                bytes,
                state_hash,
                chain,
            }
        });
    Ok(whole.ok_or(version))
}

pub(super) fn class_number(class: EntryClass) -> i64 {
    match class {
        EntryClass::Input => 0,
        EntryClass::Progress => 1,
    }
}

fn class_numbered(number: i64) -> Option<EntryClass> {
    let all = [EntryClass::Input, EntryClass::Progress];
    all.into_iter().find(|class| class_number(*class) == number)
}

fn status_named(name: &str) -> Option<SessionStatus> {
    let mut all = SessionStatus::ALL.into_iter();
    all.find(|status| status.as_str() == name)
}

fn time(millis: i64) -> Result<Timestamp, Fault> {
    Timestamp::from_millis(millis).map_err(|_| damaged().into())
}

/// The row of a session is not as it was written.
fn damaged() -> StoreError {
    StoreError::new(StoreReason::Corrupt, "the row of a session is damaged")
}

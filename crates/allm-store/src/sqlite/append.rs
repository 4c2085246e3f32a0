//! Appending.

use allm_core::{
    AppendId, Entry, Fence, HeadUpdate, Position, Snapshot, StoreError, StoreReason, Timestamp,
    Version, check_append,
};
use rusqlite::{Connection, OptionalExtension as _};

use super::fault::Fault;
use super::sql::Sql;
use super::write::{Found, Listed, exact, put_tags, replace_snapshot};
use super::{SqliteStore, blobs, row};
use crate::database::content::Place;
use crate::database::{count, integer, tags};
use crate::rules::{at_version, fenced, is_short, refused};

#[derive(Clone)]
pub(super) struct Append {
    pub(super) at: Position,
    pub(super) fence: Option<Fence>,
    pub(super) id: AppendId,
    pub(super) entries: Vec<Entry>,
    pub(super) head: HeadUpdate,
    /// What goes with the append that ends a run.
    pub(super) ending: Option<Ending>,
}

/// The lease is given back, and this is kept.
#[derive(Clone)]
pub(super) struct Ending {
    pub(super) snapshot: Option<Snapshot>,
}

impl SqliteStore {
    pub(super) async fn append_all(&self, append: Append) -> Result<Version, StoreError> {
        let version = check_append(&append.at, append.fence, &append.entries)?;
        self.append_checked(append).await?;
        Ok(version)
    }

    /// Appends what ends a run, and tells whether what goes with it was done.
    pub(super) async fn append_ending(&self, mut append: Append) -> Result<bool, StoreError> {
        check_append(&append.at, append.fence, &append.entries)?;
        let snapshot = (append.ending.as_ref()).and_then(|ending| ending.snapshot.as_ref());
        let keeps = snapshot.is_some();
        if snapshot.is_none_or(|snapshot| is_short(&snapshot.bytes)) {
            match self.append_checked(append.clone()).await {
                // There may be room for the entries alone.
                Err(error) if error.reason == StoreReason::Full && keeps => {}
                done => return done,
            }
        }
        append.ending = None;
        self.append_checked(append).await?;
        Ok(false)
    }

    /// Tells whether it was done; if not, it was done before.
    async fn append_checked(&self, append: Append) -> Result<bool, StoreError> {
        self.write(move |connection, now| append.write(connection, now))
            .await
    }
}

impl Append {
    pub(super) fn write(&self, connection: &Connection, now: Timestamp) -> Result<bool, Fault> {
        let last = self.entries.last();
        let last = last.ok_or_else(|| refused("there is nothing to append"))?;
        let Some(found) = self.examine(connection, now, last)? else {
            return Ok(false);
        };
        self.set_head(connection, &found, last)?;
        for entry in &self.entries {
            let append_id = (entry.version == last.version).then_some(self.id);
            insert(connection, found.key, entry, append_id)?;
        }
        if let Some(snapshot) = self.snapshot(last) {
            replace_snapshot(connection, found.key, snapshot)?;
        }
        Ok(true)
    }

    /// The snapshot that goes with it. One of something else is not kept.
    fn snapshot(&self, last: &Entry) -> Option<&Snapshot> {
        let snapshot = self.ending.as_ref()?.snapshot.as_ref()?;
        (snapshot.link() == last.link()).then_some(snapshot)
    }

    /// What is in the way, check by check. The session when nothing is; `None` when this append was done before.
    fn examine(
        &self,
        connection: &Connection,
        now: Timestamp,
        last: &Entry,
    ) -> Result<Option<Found>, Fault> {
        let found = exact(connection, now, &self.at.id, self.at.uid)?;
        let known = "SELECT version, chain FROM entries WHERE session = ?1 AND append_id = ?2
                     UNION ALL SELECT version, chain FROM appends WHERE session = ?1 AND append_id = ?2";
        let known = connection
            .prepare_cached(known)?
            .query_row((found.key, self.id.as_bytes()), |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
            .optional()?;
        if let Some((version, chain)) = known {
            let (version, chain): (i64, Vec<u8>) = (version, chain);
            return if Version(count(version)) == last.version && chain == last.chain.as_bytes() {
                Ok(None)
            } else {
                Err(StoreError::conflict(self.at.version, found.version).into())
            };
        }
        if self.fence.is_some() && self.fence != found.fence {
            return Err(fenced().into());
        }
        at_version(self.at.version, found.version)?;
        Ok(Some(found))
    }

    fn set_head(
        &self,
        connection: &Connection,
        found: &Found,
        last: &Entry,
    ) -> Result<(), rusqlite::Error> {
        let HeadUpdate {
            status,
            runnable,
            next_expiry,
            tags,
            ..
        } = &self.head;
        let listed = Listed {
            status: status.as_str().to_owned(),
            runnable: *runnable,
            next_expiry: next_expiry.map(Timestamp::as_millis),
            tags: tags::all(tags),
        };
        // What stays as it is is not set: each index that has it would be written again.
        let mut set = Sql::new("UPDATE sessions SET version = ");
        set.bind(integer(last.version.0))
            .push(", updated_at = ")
            .bind(last.at.as_millis());
        let known = &found.listed;
        if listed.status != known.status {
            set.push(", status = ").bind(listed.status);
        }
        if listed.runnable != known.runnable {
            set.push(", runnable = ").bind(listed.runnable);
        }
        if listed.next_expiry != known.next_expiry {
            set.push(", next_expiry = ").bind(listed.next_expiry);
        }
        if self.ending.is_some() {
            set.push(", holder = NULL, lease_until = NULL");
        }
        let has_new_tags = listed.tags != known.tags;
        if has_new_tags {
            set.push(", tags = ").bind(listed.tags);
        }
        set.push(" WHERE key = ").bind(found.key);
        let values = rusqlite::params_from_iter(set.values);
        connection.prepare_cached(&set.text)?.execute(values)?;
        if has_new_tags {
            put_tags(connection, found.key, tags)?;
        }
        Ok(())
    }
}

pub(super) fn insert(
    connection: &Connection,
    session: i64,
    entry: &Entry,
    append_id: Option<AppendId>,
) -> Result<(), rusqlite::Error> {
    let place = Place::of(&entry.bytes);
    blobs::refer(connection, &place, &entry.bytes)?;
    let insert = "INSERT INTO entries (session, version, class, at, chain, append_id, bytes, blob)
                  VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute((
        session,
        integer(entry.version.0),
        row::class_number(entry.class),
        entry.at.as_millis(),
        entry.chain.as_bytes(),
        append_id.as_ref().map(AppendId::as_bytes),
        place.row(&entry.bytes),
        place.hash(),
    ))?;
    Ok(())
}

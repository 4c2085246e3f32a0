//! Appending.

use allm_core::{
    AppendId, Entry, Fence, HeadUpdate, Position, StoreError, Timestamp, Version, check_append,
};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::write::{exact, put_tags};
use super::{SqliteStore, blobs, row};
use crate::database::content::Place;
use crate::database::fault::Fault;
use crate::database::{count, integer, tags};
use crate::rules::{at_version, fenced, refused};

pub(super) struct Append<'a> {
    pub(super) at: &'a Position,
    pub(super) fence: Option<Fence>,
    pub(super) id: AppendId,
    pub(super) entries: &'a [Entry],
    pub(super) head: &'a HeadUpdate,
}

impl SqliteStore {
    pub(super) async fn append_all(&self, append: Append<'_>) -> Result<Version, StoreError> {
        let version = check_append(append.at, append.fence, append.entries)?;
        let last = (append.entries.last()).ok_or_else(|| refused("there is nothing to append"))?;
        let mut write = self.begin().await?;
        let connection = write.connection();
        let done = append.write(connection, self.clock.now(), last).await;
        write.finish(done.map(|()| version)).await
    }
}

impl Append<'_> {
    async fn write(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
        last: &Entry,
    ) -> Result<(), Fault> {
        let tags = tags::all(&self.head.tags);
        if self.usual(connection, last, &tags).await? {
            return Ok(());
        }
        let Some(session) = self.examine(connection, now, last).await? else {
            return Ok(());
        };
        self.set_head(connection, session, last, &tags).await?;
        for entry in self.entries {
            let append_id = (entry.version == last.version).then_some(self.id);
            insert(connection, session, entry, append_id).await?;
        }
        Ok(())
    }

    /// The usual case with one way to the connection's thread and back: nothing is in the way, there is one entry, it is
    /// not long, and the tags are as they were. Tells whether it was done; if not, nothing was.
    async fn usual(
        &self,
        connection: &mut SqliteConnection,
        last: &Entry,
        tags: &[u8],
    ) -> Result<bool, sqlx::Error> {
        if self.entries.len() != 1 || Place::of(&last.bytes).hash().is_some() {
            return Ok(false);
        }
        let fence = self.fence.map(|fence| integer(fence.0));
        // The numbers of the parameters go through both statements.
        let done = sqlx::query(
            "UPDATE sessions
             SET version = ?1, updated_at = ?2, status = ?3, runnable = ?4, next_expiry = ?5
             WHERE id = ?6 AND uid = ?7 AND version = ?8 AND tags = ?9
               AND (?10 IS NULL OR (fence = ?10 AND holder IS NOT NULL))
               AND NOT EXISTS (SELECT 1 FROM entries WHERE session = sessions.key AND append_id = ?11)
               AND NOT EXISTS (SELECT 1 FROM appends WHERE session = sessions.key AND append_id = ?11);
             INSERT INTO entries (session, version, class, at, chain, append_id, bytes)
             SELECT key, ?1, ?12, ?2, ?13, ?11, ?14 FROM sessions WHERE id = ?6 AND changes() = 1",
        )
        .bind(integer(last.version.0))
        .bind(last.at.as_millis())
        .bind(self.head.status.as_str())
        .bind(self.head.runnable)
        .bind(self.head.next_expiry.map(Timestamp::as_millis))
        .bind(self.at.id.as_str())
        .bind(self.at.uid.as_bytes().as_slice())
        .bind(integer(self.at.version.0))
        .bind(tags)
        .bind(fence)
        .bind(self.id.as_bytes().as_slice())
        .bind(row::class_number(last.class))
        .bind(last.chain.as_bytes().as_slice())
        .bind(last.bytes.as_ref())
        .execute(connection)
        .await?;
        Ok(done.rows_affected() == 2)
    }

    /// What is in the way, check by check. The key when nothing is; `None` when this append was done before.
    async fn examine(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
        last: &Entry,
    ) -> Result<Option<i64>, Fault> {
        let found = exact(connection, now, &self.at.id, self.at.uid).await?;
        let known = sqlx::query(
            "SELECT version, chain FROM entries WHERE session = ?1 AND append_id = ?2
             UNION ALL SELECT version, chain FROM appends WHERE session = ?1 AND append_id = ?2",
        )
        .bind(found.key)
        .bind(self.id.as_bytes().as_slice())
        .fetch_optional(&mut *connection)
        .await?;
        if let Some(known) = known {
            let version = Version(count(known.try_get(0)?));
            let chain: Vec<u8> = known.try_get(1)?;
            return if version == last.version && chain == last.chain.as_bytes() {
                Ok(None)
            } else {
                Err(StoreError::conflict(self.at.version, found.version).into())
            };
        }
        if self.fence.is_some() && self.fence != found.fence {
            return Err(fenced().into());
        }
        at_version(self.at.version, found.version)?;
        Ok(Some(found.key))
    }

    async fn set_head(
        &self,
        connection: &mut SqliteConnection,
        session: i64,
        last: &Entry,
        tags: &[u8],
    ) -> Result<(), sqlx::Error> {
        sqlx::query(
            "UPDATE sessions SET version = ?, updated_at = ?, status = ?, runnable = ?, \
             next_expiry = ?, tags = ? WHERE key = ?",
        )
        .bind(integer(last.version.0))
        .bind(last.at.as_millis())
        .bind(self.head.status.as_str())
        .bind(self.head.runnable)
        .bind(self.head.next_expiry.map(Timestamp::as_millis))
        .bind(tags)
        .bind(session)
        .execute(&mut *connection)
        .await?;
        put_tags(connection, session, &self.head.tags).await
    }
}

pub(super) async fn insert(
    connection: &mut SqliteConnection,
    session: i64,
    entry: &Entry,
    append_id: Option<AppendId>,
) -> Result<(), sqlx::Error> {
    let place = Place::of(&entry.bytes);
    blobs::refer(connection, &place, &entry.bytes).await?;
    let insert = "INSERT INTO entries (session, version, class, at, chain, append_id, bytes, blob)
                  VALUES (?, ?, ?, ?, ?, ?, ?, ?)";
    sqlx::query(insert)
        .bind(session)
        .bind(integer(entry.version.0))
        .bind(row::class_number(entry.class))
        .bind(entry.at.as_millis())
        .bind(entry.chain.as_bytes().as_slice())
        .bind(append_id.as_ref().map(|id| id.as_bytes().as_slice()))
        .bind(place.row(&entry.bytes))
        .bind(place.hash())
        .execute(connection)
        .await?;
    Ok(())
}

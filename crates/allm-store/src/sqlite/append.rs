//! Appending.

use allm_core::{
    AppendId, Entry, Fence, HeadUpdate, Position, Snapshot, StoreError, StoreReason, Timestamp,
    Version, check_append,
};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::write::{exact, put_tags, replace_snapshot};
use super::{SqliteStore, blobs, row, told};
use crate::database::content::Place;
use crate::database::fault::Fault;
use crate::database::{count, integer, tags};
use crate::rules::{at_version, fenced, is_short, refused};

pub(super) struct Append<'a> {
    pub(super) at: &'a Position,
    pub(super) fence: Option<Fence>,
    pub(super) id: AppendId,
    pub(super) entries: &'a [Entry],
    pub(super) head: &'a HeadUpdate,
    /// What goes with the append that ends a run.
    pub(super) ending: Option<Ending<'a>>,
}

/// The lease is given back, and this is kept.
#[derive(Clone, Copy)]
pub(super) struct Ending<'a> {
    pub(super) snapshot: Option<&'a Snapshot>,
}

/// More entries than this are not usual.
const USUAL_ENTRIES: usize = 8;

impl SqliteStore {
    pub(super) async fn append_all(&self, append: &Append<'_>) -> Result<Version, StoreError> {
        let version = check_append(append.at, append.fence, append.entries)?;
        self.append_checked(append).await?;
        Ok(version)
    }

    /// Appends what ends a run, and tells whether what goes with it was done.
    pub(super) async fn append_ending(&self, append: Append<'_>) -> Result<bool, StoreError> {
        check_append(append.at, append.fence, append.entries)?;
        let snapshot = append.ending.and_then(|ending| ending.snapshot);
        if snapshot.is_none_or(|snapshot| is_short(&snapshot.bytes)) {
            match self.append_checked(&append).await {
                // There may be room for the entries alone.
                Err(error) if error.reason == StoreReason::Full && snapshot.is_some() => {}
                done => return done,
            }
        }
        let ending = None;
        self.append_checked(&Append { ending, ..append }).await?;
        Ok(false)
    }

    /// Tells whether it was done; if not, it was done before.
    async fn append_checked(&self, append: &Append<'_>) -> Result<bool, StoreError> {
        let last = (append.entries.last()).ok_or_else(|| refused("there is nothing to append"))?;
        let tags = tags::all(&append.head.tags);
        if append.is_usual() {
            let mut lent = self.writer.lend().await.map_err(told)?;
            let done = append.usual(&mut lent.connection, last, &tags).await;
            // A connection in which something failed is closed, and with it what was not committed is undone.
            let done = done.map_err(told)?;
            lent.keep();
            if done {
                return Ok(true);
            }
        }
        let mut write = self.begin().await?;
        let now = self.clock.now();
        let done = append.write(write.connection(), now, last, &tags).await;
        write.finish(done).await
    }
}

impl Append<'_> {
    async fn write(
        &self,
        connection: &mut SqliteConnection,
        now: Timestamp,
        last: &Entry,
        tags: &[u8],
    ) -> Result<bool, Fault> {
        let Some(session) = self.examine(connection, now, last).await? else {
            return Ok(false);
        };
        self.set_head(connection, session, last, tags).await?;
        for entry in self.entries {
            let append_id = (entry.version == last.version).then_some(self.id);
            insert(connection, session, entry, append_id).await?;
        }
        if let Some(snapshot) = self.snapshot(last) {
            replace_snapshot(connection, session, snapshot).await?;
        }
        if self.ending.is_some() {
            sqlx::query("UPDATE sessions SET holder = NULL, lease_until = NULL WHERE key = ?")
                .bind(session)
                .execute(connection)
                .await?;
        }
        Ok(true)
    }

    /// The snapshot that goes with it. One of something else is not kept.
    fn snapshot(&self, last: &Entry) -> Option<&Snapshot> {
        let snapshot = self.ending?.snapshot?;
        (snapshot.link() == last.link()).then_some(snapshot)
    }

    /// Whether it may be tried in one go: there are few entries, and none of them is long.
    fn is_usual(&self) -> bool {
        self.entries.len() <= USUAL_ENTRIES
            && self.entries.iter().all(|entry| is_short(&entry.bytes))
    }

    /// The usual case with one way to the connection's thread and back, from the beginning of the transaction to its end:
    /// nothing is in the way, and the tags are as they were. Tells whether it was done; if not, nothing was.
    async fn usual(
        &self,
        connection: &mut SqliteConnection,
        last: &Entry,
        tags: &[u8],
    ) -> Result<bool, sqlx::Error> {
        let snapshot = self.snapshot(last);
        let sql = usual_sql(
            self.entries.len(),
            self.ending.is_some(),
            snapshot.is_some(),
        );
        let fence = self.fence.map(|fence| integer(fence.0));
        let (id, append_id) = (self.at.id.as_str(), self.id.as_bytes().as_slice());
        // In the order in which they stand in the statements, one after the other.
        let mut query = sqlx::query(AssertSqlSafe(sql))
            .bind(integer(last.version.0))
            .bind(last.at.as_millis())
            .bind(self.head.status.as_str())
            .bind(self.head.runnable)
            .bind(self.head.next_expiry.map(Timestamp::as_millis))
            .bind(id)
            .bind(self.at.uid.as_bytes().as_slice())
            .bind(integer(self.at.version.0))
            .bind(tags)
            .bind(fence)
            .bind(fence)
            .bind(append_id)
            .bind(append_id);
        for entry in self.entries {
            query = query
                .bind(integer(entry.version.0))
                .bind(row::class_number(entry.class))
                .bind(entry.at.as_millis())
                .bind(entry.chain.as_bytes().as_slice())
                .bind((entry.version == last.version).then_some(append_id))
                .bind(entry.bytes.as_ref())
                .bind(id);
        }
        if let Some(snapshot) = snapshot {
            query = query
                .bind(integer(snapshot.version.0))
                .bind(snapshot.state_hash.as_bytes().as_slice())
                .bind(snapshot.chain.as_bytes().as_slice())
                .bind(snapshot.bytes.as_ref())
                .bind(id);
        }
        // To the last row and beyond: the commit comes after it.
        let done = query.fetch_all(connection).await?;
        Ok(!done.is_empty())
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

/// The statements of the usual case. Each of them does something only if the one before it did, and the first gives a row
/// if it did.
fn usual_sql(entries: usize, ends: bool, keeps: bool) -> String {
    let lease = if ends {
        ", holder = NULL, lease_until = NULL"
    } else {
        ""
    };
    // What a long snapshot names has to be taken back, which is not usual.
    let is_short = if keeps {
        "AND NOT EXISTS (SELECT 1 FROM snapshots WHERE session = sessions.key AND blob IS NOT NULL)"
    } else {
        ""
    };
    let mut sql = format!(
        "BEGIN IMMEDIATE;
         UPDATE sessions
         SET version = ?, updated_at = ?, status = ?, runnable = ?, next_expiry = ?{lease}
         WHERE id = ? AND uid = ? AND version = ? AND tags = ?
           AND (? IS NULL OR (fence = ? AND holder IS NOT NULL))
           AND NOT EXISTS (SELECT 1 FROM entries WHERE session = sessions.key AND append_id = ?)
           AND NOT EXISTS (SELECT 1 FROM appends WHERE session = sessions.key AND append_id = ?)
           {is_short}
         RETURNING 1;"
    );
    for _ in 0..entries {
        sql.push_str(
            "INSERT INTO entries (session, version, class, at, chain, append_id, bytes)
             SELECT key, ?, ?, ?, ?, ?, ? FROM sessions WHERE id = ? AND changes() = 1;",
        );
    }
    if keeps {
        sql.push_str(
            "INSERT OR REPLACE INTO snapshots (session, version, state_hash, chain, bytes)
             SELECT key, ?, ?, ?, ? FROM sessions WHERE id = ? AND changes() = 1;",
        );
    }
    sql.push_str("COMMIT");
    sql
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

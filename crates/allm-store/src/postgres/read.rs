//! Loading and listing: one statement each, so all of an answer is as of one instant.
//! The columns of a head come first in both.

use allm_core::{
    Entry, EntryClass, Head, HeldLease, LeaseFilter, LoadFrom, Loaded, Page, PageRequest,
    SessionFilter, SessionId, SessionStatus, SessionUid, Snapshot, StoreError, Timestamp, Version,
};
use sqlx::Row;
use sqlx::postgres::PgRow;

use super::answer::{damaged, holder};
use super::fault::{Fault, told};
use super::sql::Sql;
use super::{Again, PostgresStore};
use crate::cursor;
use crate::database::content::{hash, put_back};
use crate::database::{count, integer, tags};
use crate::rules::{last_with_prefix, not_found};

/// When the statement came in, in milliseconds.
macro_rules! instant {
    () => {
        "floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint"
    };
}

/// The columns of a head, in the order in which [`head`] reads them. Only a live lease is shown.
const HEAD: &str = concat!(
    "s.id, s.uid, s.version, s.status, s.runnable, \
     (SELECT coalesce(string_agg(t, ''::bytea ORDER BY n), ''::bytea) \
      FROM unnest(s.tags) WITH ORDINALITY AS u (t, n)), \
     s.next_expiry, s.created_at, s.updated_at, \
     CASE WHEN s.lease_until > ",
    instant!(),
    " THEN s.holder END, s.lease_until"
);

impl PostgresStore {
    pub(super) async fn load_from(
        &self,
        id: &SessionId,
        from: LoadFrom,
    ) -> Result<Loaded, StoreError> {
        match self.load_once(id, from).await? {
            Ok(loaded) => Ok(loaded),
            // The snapshot cannot be had. It is a cache: the journal has it all, unless it was trimmed.
            Err(version) => {
                let all = self.load_once(id, LoadFrom::After(Version(0))).await?;
                all.map_err(|_| StoreError::corrupt(version))
            }
        }
    }

    /// What is there; the version of the snapshot when that is asked for and its content is missing or altered.
    async fn load_once(
        &self,
        id: &SessionId,
        from: LoadFrom,
    ) -> Result<Result<Loaded, Version>, StoreError> {
        let rows = self.rows(self.loading(id, from), Again::Safe).await?;
        let read = || {
            let mut rows = rows.iter();
            let head = head(rows.next().ok_or_else(not_found)?)?;
            let (mut snapshot, mut entries) = (None, Vec::new());
            for row in rows {
                match row.try_get::<i32, _>(11)? {
                    1 => match read_snapshot(row)? {
                        Ok(read) => snapshot = Some(read),
                        Err(version) => return Ok(Err(version)),
                    },
                    _ => entries.push(read_entry(row)?),
                }
            }
            Ok(Ok(Loaded {
                head,
                snapshot,
                entries,
            }))
        };
        read().map_err(|fault: Fault| fault.told(told))
    }

    fn loading(&self, id: &SessionId, from: LoadFrom) -> Sql {
        let after = match from {
            LoadFrom::After(version) => integer(version.0),
            // Before every version, so the snapshot is needed.
            LoadFrom::Snapshot => -1,
        };
        let sql = self.sql().push("SELECT * FROM ").name("load_1(");
        sql.text(id.as_str()).push(",").int(after).push(")")
    }

    pub(super) async fn list_page(
        &self,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Head>, StoreError> {
        let sql = self.listing(filter, page)?;
        // No id has such a character, and the database could not take it.
        let none = (filter.id_prefix.as_ref()).is_some_and(|prefix| prefix.contains('\0'));
        let rows = match none {
            true => Vec::new(),
            false => self.rows(sql, Again::Safe).await?,
        };
        let heads: Result<Vec<Head>, Fault> = rows.iter().map(head).collect();
        Ok(cursor::page(
            filter,
            page,
            heads.map_err(|fault: Fault| fault.told(told))?,
        ))
    }

    fn listing(&self, filter: &SessionFilter, page: &PageRequest) -> Result<Sql, StoreError> {
        let sql = self.sql().push("SELECT ").push(HEAD).push(" FROM ");
        let mut sql = sql.name("sessions").push(" s WHERE true");
        if let Some(cursor) = page.cursor() {
            let (created_at, id) = cursor::read(filter, cursor)?;
            sql = sql.push(" AND (s.created_at, s.id) > (");
            sql = sql.int(created_at.as_millis()).push(", ");
            sql = sql.text(id.as_str()).push(")");
        }
        if !filter.statuses.is_empty() {
            let name =
                |sql: Sql, status: &SessionStatus| sql.push("'").push(status.as_str()).push("'");
            sql = sql
                .push(" AND s.status = ANY (")
                .array(&filter.statuses, name, "text[]")
                .push(")");
        }
        sql = match filter.runnable {
            Some(true) => sql.push(" AND s.runnable"),
            Some(false) => sql.push(" AND NOT s.runnable"),
            None => sql,
        };
        if !filter.tags.is_empty() {
            let tag =
                |sql: Sql, (key, value): (&String, &String)| sql.bytes(&tags::one(key, value));
            // The index has no row for a session without tags.
            sql = sql.push(" AND s.tags <> '{}' AND s.tags @> ");
            sql = sql.array(&filter.tags, tag, "bytea[]");
        }
        if let Some(prefix) = &filter.id_prefix {
            sql = sql.push(" AND s.id BETWEEN ").text(prefix);
            sql = sql.push(" AND ").text(&last_with_prefix(prefix));
        }
        for (condition, time) in [
            (" AND s.created_at >= ", filter.created_from),
            (" AND s.created_at < ", filter.created_before),
            (" AND s.updated_at >= ", filter.updated_from),
            (" AND s.updated_at < ", filter.updated_before),
            (" AND s.next_expiry < ", filter.expires_before),
        ] {
            if time.is_some() {
                sql = sql.push(condition).time(time);
            }
        }
        sql = match filter.lease {
            Some(LeaseFilter::Held) => sql.push(concat!(
                " AND s.holder IS NOT NULL AND s.lease_until > ",
                instant!()
            )),
            Some(LeaseFilter::Free) => sql.push(concat!(
                " AND (s.holder IS NULL OR s.lease_until <= ",
                instant!(),
                ")"
            )),
            None => sql,
        };
        let sql = sql.push(" ORDER BY s.created_at, s.id LIMIT ");
        Ok(sql.int(i64::from(page.size()) + 1))
    }

    pub(super) async fn time(&self) -> Result<Timestamp, StoreError> {
        let sql = self.sql().push("SELECT ").name("millis()");
        let row = self.row(sql, Again::Safe).await?;
        let millis = row.try_get(0).map_err(told)?;
        Timestamp::from_millis(millis).map_err(|_| damaged())
    }
}

fn head(row: &PgRow) -> Result<Head, Fault> {
    let time = |millis| Timestamp::from_millis(millis).map_err(|_| damaged());
    let id: String = row.try_get(0)?;
    let uid: Vec<u8> = row.try_get(1)?;
    let status: String = row.try_get(3)?;
    let tags: Vec<u8> = row.try_get(5)?;
    let next_expiry: Option<i64> = row.try_get(6)?;
    let held: Option<Vec<u8>> = row.try_get(9)?;
    let until: Option<i64> = row.try_get(10)?;
    let lease = held.zip(until).map(|(held, until)| {
        let (holder, expires_at) = (holder(held), crate::clock::clamped(until));
        HeldLease { holder, expires_at }
    });
    let mut statuses = SessionStatus::ALL.into_iter();
    Ok(Head {
        id: SessionId::new(id).map_err(|_| damaged())?,
        uid: SessionUid::from_bytes(uid.try_into().map_err(|_| damaged())?),
        version: Version(count(row.try_get(2)?)),
        status: (statuses.find(|found| found.as_str() == status)).ok_or_else(damaged)?,
        runnable: row.try_get(4)?,
        tags: tags::read(&tags).ok_or_else(damaged)?,
        lease,
        next_expiry: next_expiry.map(time).transpose()?,
        created_at: time(row.try_get(7)?)?,
        updated_at: time(row.try_get(8)?)?,
    })
}

fn read_snapshot(row: &PgRow) -> Result<Result<Snapshot, Version>, Fault> {
    let version = Version(count(row.try_get(12)?));
    let state_hash: Vec<u8> = row.try_get(15)?;
    let chain: Vec<u8> = row.try_get(16)?;
    let content = put_back(row.try_get(17)?, row.try_get(18)?, row.try_get(19)?);
    let hashes = hash(&state_hash).zip(hash(&chain));
    let whole = hashes
        .zip(content)
        .map(|((state_hash, chain), bytes)| Snapshot {
            version,
            bytes,
            state_hash,
            chain,
        });
    Ok(whole.ok_or(version))
}

fn read_entry(row: &PgRow) -> Result<Entry, Fault> {
    let version = Version(count(row.try_get(12)?));
    let damaged = || StoreError::corrupt(version);
    let class: i16 = row.try_get(13)?;
    let chain: Vec<u8> = row.try_get(16)?;
    let content = put_back(row.try_get(17)?, row.try_get(18)?, row.try_get(19)?);
    Ok(Entry {
        version,
        class: match class {
            0 => EntryClass::Input,
            1 => EntryClass::Progress,
            _ => return Err(damaged().into()),
        },
        at: Timestamp::from_millis(row.try_get(14)?).map_err(|_| damaged())?,
        bytes: content.ok_or_else(damaged)?,
        chain: hash(&chain).ok_or_else(damaged)?,
    })
}

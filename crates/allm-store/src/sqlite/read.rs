//! Loading and listing.

use allm_core::{
    Entry, Head, LeaseFilter, LoadFrom, Loaded, Page, PageRequest, SessionFilter, SessionId,
    StoreError, Timestamp, Version,
};
use rusqlite::{Connection, OptionalExtension as _, params_from_iter};

use super::fault::Fault;
use super::sql::Sql;
use super::{SqliteStore, row};
use crate::cursor;
use crate::database::{count, integer};
use crate::rules::{last_with_prefix, not_found};

impl SqliteStore {
    pub(super) async fn load_from(
        &self,
        id: SessionId,
        from: LoadFrom,
    ) -> Result<Loaded, StoreError> {
        self.read(move |connection, now| load(connection, now, &id, from))
            .await
    }

    pub(super) async fn list_page(
        &self,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Head>, StoreError> {
        let query = listing(self.clock.now(), filter, page)?;
        let list = move |connection: &Connection, now| {
            let mut rows = connection.prepare_cached(&query.text)?;
            let mut rows = rows.query(params_from_iter(query.values))?;
            let mut heads = Vec::new();
            while let Some(row) = rows.next()? {
                heads.push(row::head(row, now)?);
            }
            Ok(heads)
        };
        let heads = self.read(list).await?;
        Ok(cursor::page(filter, page, heads))
    }
}

fn load(
    connection: &Connection,
    now: Timestamp,
    id: &SessionId,
    from: LoadFrom,
) -> Result<Loaded, Fault> {
    let found = concat!(
        "SELECT ",
        row::head_columns!(),
        ", key, trimmed FROM sessions WHERE id = ?"
    );
    let mut found = connection.prepare_cached(found)?;
    let mut found = found.query([id.as_str()])?;
    let found = found.next()?.ok_or_else(not_found)?;
    let head = row::head(found, now)?;
    let key: i64 = found.get(11)?;
    let trimmed = Version(count(found.get(12)?));
    let (snapshot, after) = match from {
        LoadFrom::After(after) if trimmed <= after => (None, after),
        LoadFrom::After(_) | LoadFrom::Snapshot => {
            let snapshot = "SELECT s.version, s.state_hash, s.chain, s.bytes, s.blob, b.content \
                            FROM snapshots s LEFT JOIN blobs b ON b.hash = s.blob \
                            WHERE s.session = ?";
            let mut snapshot = connection.prepare_cached(snapshot)?;
            let snapshot = snapshot.query_row([key], row::snapshot).optional()?;
            match snapshot {
                Some(Ok(snapshot)) => {
                    let version = snapshot.version;
                    (Some(snapshot), version)
                }
                // It is a cache: the journal has it all, unless it was trimmed.
                Some(Err(version)) if trimmed > Version(0) => {
                    return Err(StoreError::corrupt(version).into());
                }
                Some(Err(_)) | None => (None, trimmed),
            }
        }
    };
    let rows = "SELECT e.version, e.class, e.at, e.chain, e.bytes, e.blob, b.content \
                FROM entries e LEFT JOIN blobs b ON b.hash = e.blob \
                WHERE e.session = ? AND e.version > ? ORDER BY e.version";
    let mut rows = connection.prepare_cached(rows)?;
    let mut rows = rows.query((key, integer(after.0)))?;
    let mut entries: Vec<Entry> = Vec::new();
    while let Some(row) = rows.next()? {
        entries.push(row::entry(row)?);
    }
    Ok(Loaded {
        head,
        snapshot,
        entries,
    })
}

fn listing(now: Timestamp, filter: &SessionFilter, page: &PageRequest) -> Result<Sql, StoreError> {
    let mut query = Sql::new("SELECT ");
    query.push(row::head_columns!());
    query.push(" FROM sessions WHERE TRUE");
    if let Some(cursor) = page.cursor() {
        let (created_at, id) = cursor::read(filter, cursor)?;
        query.push(" AND (created_at, id) > (");
        query.bind(created_at.as_millis()).push(", ");
        query.bind(id.to_string()).push(")");
    }
    if !filter.statuses.is_empty() {
        query.push(" AND status IN (");
        for (index, status) in filter.statuses.iter().enumerate() {
            query.push(if index == 0 { "" } else { ", " });
            query.bind(status.as_str().to_owned());
        }
        query.push(")");
    }
    match filter.runnable {
        Some(true) => query.push(" AND runnable = 1"),
        Some(false) => query.push(" AND runnable = 0"),
        None => &mut query,
    };
    for (key, value) in &filter.tags {
        query.push(" AND key IN (SELECT session FROM tags WHERE tags.key = ");
        query.bind(key.clone()).push(" AND value = ");
        query.bind(value.clone()).push(")");
    }
    if let Some(prefix) = &filter.id_prefix {
        query.push(" AND id BETWEEN ").bind(prefix.clone());
        query.push(" AND ").bind(last_with_prefix(prefix));
    }
    for (condition, time) in [
        (" AND created_at >= ", filter.created_from),
        (" AND created_at < ", filter.created_before),
        (" AND updated_at >= ", filter.updated_from),
        (" AND updated_at < ", filter.updated_before),
        (" AND next_expiry < ", filter.expires_before),
    ] {
        if let Some(time) = time {
            query.push(condition).bind(time.as_millis());
        }
    }
    match filter.lease {
        Some(LeaseFilter::Held) => {
            query.push(" AND holder IS NOT NULL AND lease_until > ");
            query.bind(now.as_millis());
        }
        Some(LeaseFilter::Free) => {
            query.push(" AND (holder IS NULL OR lease_until <= ");
            query.bind(now.as_millis()).push(")");
        }
        None => {}
    }
    query.push(" ORDER BY created_at, id LIMIT ");
    query.bind(i64::from(page.size()) + 1);
    Ok(query)
}

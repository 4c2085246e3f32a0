//! Loading and listing.

use allm_core::{
    Entry, Head, LeaseFilter, LoadFrom, Loaded, Page, PageRequest, SessionFilter, SessionId,
    StoreError, Timestamp, Version,
};
use sqlx::sqlite::{Sqlite, SqliteConnection};
use sqlx::{QueryBuilder, Row};

use super::{SqliteStore, answered, row, told};
use crate::cursor;
use crate::database::fault::Fault;
use crate::database::{count, integer};
use crate::rules::{last_with_prefix, not_found};

impl SqliteStore {
    pub(super) async fn load_from(
        &self,
        id: &SessionId,
        from: LoadFrom,
    ) -> Result<Loaded, StoreError> {
        let mut lent = self.readers.lend().await.map_err(told)?;
        // All of it as of one instant: that of the first statement in the transaction.
        let read = async {
            sqlx::query("BEGIN").execute(&mut lent.connection).await?;
            let loaded = load(&mut lent.connection, self.clock.now(), id, from).await;
            sqlx::query("COMMIT").execute(&mut lent.connection).await?;
            loaded
        };
        let loaded = read.await;
        if !matches!(loaded, Err(Fault::Broken(_))) {
            lent.keep();
        }
        loaded.map_err(answered)
    }

    pub(super) async fn list_page(
        &self,
        filter: &SessionFilter,
        page: &PageRequest,
    ) -> Result<Page<Head>, StoreError> {
        let now = self.clock.now();
        let mut query = listing(now, filter, page)?;
        let mut lent = self.readers.lend().await.map_err(told)?;
        let rows = query.build().fetch_all(&mut lent.connection).await;
        let rows = rows.map_err(told)?;
        lent.keep();
        let heads: Result<Vec<Head>, Fault> = rows.iter().map(|row| row::head(row, now)).collect();
        Ok(cursor::page(filter, page, heads.map_err(answered)?))
    }
}

async fn load(
    connection: &mut SqliteConnection,
    now: Timestamp,
    id: &SessionId,
    from: LoadFrom,
) -> Result<Loaded, Fault> {
    let found = concat!(
        "SELECT ",
        row::head_columns!(),
        ", key, trimmed FROM sessions WHERE id = ?"
    );
    let found = sqlx::query(found).bind(id.as_str());
    let found = found.fetch_optional(&mut *connection).await?;
    let found = found.ok_or_else(not_found)?;
    let head = row::head(&found, now)?;
    let key: i64 = found.try_get(11)?;
    let trimmed = Version(count(found.try_get(12)?));
    let (snapshot, after) = match from {
        LoadFrom::After(after) if trimmed <= after => (None, after),
        LoadFrom::After(_) | LoadFrom::Snapshot => {
            let snapshot = "SELECT s.version, s.state_hash, s.chain, s.bytes, s.blob, b.content \
                            FROM snapshots s LEFT JOIN blobs b ON b.hash = s.blob \
                            WHERE s.session = ?";
            let snapshot = sqlx::query(snapshot).bind(key);
            let snapshot = snapshot.fetch_optional(&mut *connection).await?;
            match snapshot.map(|found| row::snapshot(&found)).transpose()? {
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
    let entries = "SELECT e.version, e.class, e.at, e.chain, e.bytes, e.blob, b.content \
                   FROM entries e LEFT JOIN blobs b ON b.hash = e.blob \
                   WHERE e.session = ? AND e.version > ? ORDER BY e.version";
    let entries = sqlx::query(entries)
        .bind(key)
        .bind(integer(after.0))
        .fetch_all(connection)
        .await?;
    let entries: Result<Vec<Entry>, Fault> = entries.iter().map(row::entry).collect();
    Ok(Loaded {
        head,
        snapshot,
        entries: entries?,
    })
}

fn listing(
    now: Timestamp,
    filter: &SessionFilter,
    page: &PageRequest,
) -> Result<QueryBuilder<Sqlite>, StoreError> {
    let mut query = QueryBuilder::new("SELECT ");
    query.push(row::head_columns!());
    query.push(" FROM sessions WHERE TRUE");
    if let Some(cursor) = page.cursor() {
        let (created_at, id) = cursor::read(filter, cursor)?;
        query.push(" AND (created_at, id) > (");
        query.push_bind(created_at.as_millis()).push(", ");
        query.push_bind(id.to_string()).push(")");
    }
    if !filter.statuses.is_empty() {
        query.push(" AND status IN (");
        let mut statuses = query.separated(", ");
        for status in &filter.statuses {
            statuses.push_bind(status.as_str());
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
        query.push_bind(key.clone()).push(" AND value = ");
        query.push_bind(value.clone()).push(")");
    }
    if let Some(prefix) = &filter.id_prefix {
        query.push(" AND id BETWEEN ").push_bind(prefix.clone());
        query.push(" AND ").push_bind(last_with_prefix(prefix));
    }
    for (condition, time) in [
        (" AND created_at >= ", filter.created_from),
        (" AND created_at < ", filter.created_before),
        (" AND updated_at >= ", filter.updated_from),
        (" AND updated_at < ", filter.updated_before),
        (" AND next_expiry < ", filter.expires_before),
    ] {
        if let Some(time) = time {
            query.push(condition).push_bind(time.as_millis());
        }
    }
    match filter.lease {
        Some(LeaseFilter::Held) => {
            query.push(" AND holder IS NOT NULL AND lease_until > ");
            query.push_bind(now.as_millis());
        }
        Some(LeaseFilter::Free) => {
            query.push(" AND (holder IS NULL OR lease_until <= ");
            query.push_bind(now.as_millis()).push(")");
        }
        None => {}
    }
    query.push(" ORDER BY created_at, id LIMIT ");
    query.push_bind(i64::from(page.size()) + 1);
    Ok(query)
}

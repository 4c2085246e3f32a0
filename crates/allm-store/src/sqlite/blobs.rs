//! Long content, once by its hash.

use sqlx::sqlite::SqliteConnection;

use crate::database::content::Place;

/// Keeps content under its hash if that is its place, and counts the row that names it.
pub(super) async fn refer(
    connection: &mut SqliteConnection,
    place: &Place,
    bytes: &[u8],
) -> Result<(), sqlx::Error> {
    if let Some(hash) = place.hash() {
        let upsert = "INSERT INTO blobs (hash, refs, content) VALUES (?, 1, ?)
                      ON CONFLICT (hash) DO UPDATE SET refs = refs + 1";
        let upsert = sqlx::query(upsert).bind(hash).bind(bytes);
        upsert.execute(connection).await?;
    }
    Ok(())
}

/// Takes back what the entries up to a version name, and drops what nothing names any more.
pub(super) async fn forget_entries(
    connection: &mut SqliteConnection,
    session: i64,
    through: i64,
) -> Result<(), sqlx::Error> {
    let named = "SELECT blob, count(*) FROM entries
                 WHERE session = ? AND version <= ? AND blob IS NOT NULL GROUP BY blob";
    let named: Vec<(Vec<u8>, i64)> = sqlx::query_as(named)
        .bind(session)
        .bind(through)
        .fetch_all(&mut *connection)
        .await?;
    for (hash, times) in named {
        forget(connection, &hash, times).await?;
    }
    Ok(())
}

/// Takes back what the snapshot names.
pub(super) async fn forget_snapshot(
    connection: &mut SqliteConnection,
    session: i64,
) -> Result<(), sqlx::Error> {
    let named = "SELECT blob FROM snapshots WHERE session = ? AND blob IS NOT NULL";
    let named: Option<Vec<u8>> = sqlx::query_scalar(named)
        .bind(session)
        .fetch_optional(&mut *connection)
        .await?;
    match named {
        Some(hash) => forget(connection, &hash, 1).await,
        None => Ok(()),
    }
}

async fn forget(
    connection: &mut SqliteConnection,
    hash: &[u8],
    times: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE blobs SET refs = refs - ? WHERE hash = ?")
        .bind(times)
        .bind(hash)
        .execute(&mut *connection)
        .await?;
    sqlx::query("DELETE FROM blobs WHERE hash = ? AND refs <= 0")
        .bind(hash)
        .execute(connection)
        .await?;
    Ok(())
}

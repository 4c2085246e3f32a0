//! Long content, once by its hash.

use rusqlite::{Connection, OptionalExtension as _};

use crate::database::content::Place;

/// Keeps content under its hash if that is its place, and counts the row that names it.
pub(super) fn refer(
    connection: &Connection,
    place: &Place,
    bytes: &[u8],
) -> Result<(), rusqlite::Error> {
    if let Some(hash) = place.hash() {
        let upsert = "INSERT INTO blobs (hash, refs, content) VALUES (?, 1, ?)
                      ON CONFLICT (hash) DO UPDATE SET refs = refs + 1";
        let mut upsert = connection.prepare_cached(upsert)?;
        upsert.execute((hash, bytes))?;
    }
    Ok(())
}

/// Takes back what the entries up to a version name, and drops what nothing names any more.
pub(super) fn forget_entries(
    connection: &Connection,
    session: i64,
    through: i64,
) -> Result<(), rusqlite::Error> {
    let named = "SELECT blob, count(*) FROM entries
                 WHERE session = ? AND version <= ? AND blob IS NOT NULL GROUP BY blob";
    let mut named = connection.prepare_cached(named)?;
    let named = named.query_map((session, through), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let named: Vec<(Vec<u8>, i64)> = named.collect::<Result<_, _>>()?;
    for (hash, times) in named {
        forget(connection, &hash, times)?;
    }
    Ok(())
}

/// Takes back what the snapshot names.
pub(super) fn forget_snapshot(
    connection: &Connection,
    session: i64,
) -> Result<(), rusqlite::Error> {
    let named = "SELECT blob FROM snapshots WHERE session = ? AND blob IS NOT NULL";
    let mut named = connection.prepare_cached(named)?;
    let named: Option<Vec<u8>> = named.query_row([session], |row| row.get(0)).optional()?;
    match named {
        Some(hash) => forget(connection, &hash, 1),
        None => Ok(()),
    }
}

fn forget(connection: &Connection, hash: &[u8], times: i64) -> Result<(), rusqlite::Error> {
    let mut fewer = connection.prepare_cached("UPDATE blobs SET refs = refs - ? WHERE hash = ?")?;
    fewer.execute((times, hash))?;
    let mut none = connection.prepare_cached("DELETE FROM blobs WHERE hash = ? AND refs <= 0")?;
    none.execute([hash])?;
    Ok(())
}

//! How a file is opened, and what is done to it before it is used.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::fault::{Fault, is_busy};
use crate::clock::Clock;
use crate::database::schema::{self, Migrate, Migration};

const MIGRATIONS: &[Migration] = &[
    Migration {
        number: 1,
        sql: include_str!("../../migrations/sqlite/0001_sessions.sql"),
    },
    Migration {
        number: 2,
        sql: include_str!("../../migrations/sqlite/0002_rows.sql"),
    },
];

/// More statements than all that the store has, without those of lists.
const STATEMENTS: usize = 64;

/// How a connection is opened.
pub(super) struct Opening {
    pub(super) file: PathBuf,
    pub(super) create: bool,
    pub(super) busy_timeout: Duration,
    pub(super) max_pages: Option<u32>,
}

impl Opening {
    pub(super) fn open(&self) -> Result<Connection, rusqlite::Error> {
        // Every connection is used by one thread at a time. A name that looks like a URI is a name.
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, self.create);
        let connection = Connection::open_with_flags(&self.file, flags)?;
        connection.busy_timeout(self.busy_timeout)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // The write-ahead log is a property of the file. It is set when that is known to be ours.
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        if let Some(pages) = self.max_pages {
            connection.pragma_update(None, "max_page_count", pages)?;
        }
        Ok(connection)
    }
}

/// Makes a file fit to be used, on a connection that is not used for anything else.
pub(super) fn prepare(
    connection: &mut Connection,
    migrate: Migrate,
    patience: Duration,
) -> Result<(), Fault> {
    let applied = applied(connection)?;
    match schema::next(MIGRATIONS, &applied)? {
        Some(missing) if migrate == Migrate::Never => return Err(schema::too_old(missing).into()),
        Some(_) => {
            keep_a_log(connection, patience)?;
            while one(connection)? {}
        }
        None => keep_a_log(connection, patience)?,
    }
    Ok(())
}

/// Numbers and checksums of the migrations that the file has had.
fn applied(connection: &Connection) -> Result<Vec<(i64, Vec<u8>)>, rusqlite::Error> {
    // Asked in SQL: `table_exists` goes by what this connection has seen of the schema.
    let found = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'allm_schema'";
    if !connection.prepare(found)?.exists([])? {
        return Ok(Vec::new());
    }
    let mut applied =
        connection.prepare("SELECT number, checksum FROM allm_schema ORDER BY number")?;
    let applied = applied.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    applied.collect()
}

/// Sets the write-ahead log. Programs that start together get in each other's way here without being made to wait.
fn keep_a_log(connection: &Connection, patience: Duration) -> Result<(), rusqlite::Error> {
    let until = Instant::now() + patience;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if Instant::now() < until && is_busy(&error) => {
                std::thread::sleep(Duration::from_millis(10));
            }
            done => return done,
        }
    }
}

/// Does one migration, if one is missing. Whoever holds the write lock does it; who comes later finds it done.
fn one(connection: &mut Connection) -> Result<bool, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let applied = applied(&transaction)?;
    let Some(migration) = schema::next(MIGRATIONS, &applied)? else {
        return Ok(false);
    };
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS allm_schema (
            number INTEGER PRIMARY KEY, checksum BLOB NOT NULL, applied_at INTEGER NOT NULL
        ) STRICT",
    )?;
    transaction.execute_batch(migration.sql)?;
    transaction.execute(
        "INSERT INTO allm_schema (number, checksum, applied_at) VALUES (?, ?, ?)",
        (
            migration.number,
            migration.checksum().as_bytes(),
            Clock::system().now().as_millis(),
        ),
    )?;
    transaction.commit()?;
    Ok(true)
}

//! What is done to a file before it is used.

use std::time::Duration;

use allm_core::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::time::{Instant, sleep};

use super::{answered, told};
use crate::clock::Clock;
use crate::database::fault::Fault;
use crate::database::schema::{self, Migrate, Migration};

const MIGRATIONS: &[Migration] = &[Migration {
    number: 1,
    sql: include_str!("../../migrations/sqlite/0001_sessions.sql"),
}];

pub(super) async fn prepare(
    options: &SqliteConnectOptions,
    migrate: Migrate,
    busy_timeout: Duration,
) -> Result<(), StoreError> {
    let mut connection = options.connect().await.map_err(told)?;
    let applied = applied(&mut connection).await.map_err(told)?;
    match schema::next(MIGRATIONS, &applied)? {
        Some(missing) if migrate == Migrate::Never => return Err(schema::too_old(missing)),
        Some(_) => {
            keep_a_log(&mut connection, busy_timeout).await?;
            while one(&mut connection).await? {}
        }
        None => keep_a_log(&mut connection, busy_timeout).await?,
    }
    connection.close().await.map_err(told)
}

/// Numbers and checksums of the migrations that the file has had.
async fn applied(connection: &mut SqliteConnection) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    let found = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'allm_schema'";
    let found: i64 = sqlx::query_scalar(found)
        .fetch_one(&mut *connection)
        .await?;
    if found == 0 {
        return Ok(Vec::new());
    }
    sqlx::query_as("SELECT number, checksum FROM allm_schema ORDER BY number")
        .fetch_all(connection)
        .await
}

/// Sets the write-ahead log. Programs that start together get in each other's way here without being made to wait.
async fn keep_a_log(
    connection: &mut SqliteConnection,
    patience: Duration,
) -> Result<(), StoreError> {
    let until = Instant::now() + patience;
    loop {
        let mode = sqlx::query_scalar::<_, String>("PRAGMA journal_mode = WAL");
        match mode.fetch_one(&mut *connection).await {
            Ok(_) => return Ok(()),
            Err(error) if Instant::now() < until && is_busy(&error) => {
                sleep(Duration::from_millis(10)).await;
            }
            Err(error) => return Err(told(error)),
        }
    }
}

fn is_busy(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    let code = code.and_then(|code| code.parse::<i32>().ok());
    matches!(code.map(|code| code & 0xff), Some(5 | 6))
}

/// Does one migration, if one is missing. Whoever holds the write lock does it; who comes later finds it done.
async fn one(connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(told)?;
    let migrate = async {
        let applied = applied(&mut transaction).await?;
        let Some(migration) = schema::next(MIGRATIONS, &applied)? else {
            return Ok(false);
        };
        sqlx::raw_sql(
            "CREATE TABLE IF NOT EXISTS allm_schema (
                number INTEGER PRIMARY KEY, checksum BLOB NOT NULL, applied_at INTEGER NOT NULL
            ) STRICT",
        )
        .execute(&mut *transaction)
        .await?;
        sqlx::raw_sql(migration.sql)
            .execute(&mut *transaction)
            .await?;
        sqlx::query("INSERT INTO allm_schema (number, checksum, applied_at) VALUES (?, ?, ?)")
            .bind(migration.number)
            .bind(migration.checksum().as_bytes().as_slice())
            .bind(Clock::system().now().as_millis())
            .execute(&mut *transaction)
            .await?;
        Ok::<_, Fault>(true)
    };
    let done = migrate.await.map_err(answered)?;
    transaction.commit().await.map_err(told)?;
    Ok(done)
}

//! Plain rows in plain tables, by the same driver with the same settings.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, SqliteConnection};

/// A connection of one's own.
pub(crate) enum Bare {
    Sqlite(SqliteConnection),
    Postgres(PgConnection),
}

const TABLE: &str = "CREATE TABLE bare (session bigint, version bigint, bytes BYTES, PRIMARY KEY (session, version))";

impl Bare {
    /// A new file.
    pub(crate) async fn sqlite(file: &Path) -> anyhow::Result<Self> {
        let mut connection = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .disable_statement_logging()
            .connect()
            .await?;
        let table = sqlx::AssertSqlSafe(TABLE.replace("BYTES", "blob"));
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Sqlite(connection))
    }

    /// A new table in a database of one's own.
    pub(crate) async fn postgres(url: &str) -> anyhow::Result<Self> {
        let options: PgConnectOptions = url.parse()?;
        let mut connection = options.disable_statement_logging().connect().await?;
        let table = sqlx::AssertSqlSafe(TABLE.replace("BYTES", "bytea"));
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Postgres(connection))
    }

    /// Writes the rows of one transaction after the other; how long that took.
    pub(crate) async fn insert(
        &mut self,
        session: i64,
        transactions: &[Vec<usize>],
    ) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let mut version = 0_i64;
        for lengths in transactions {
            match self {
                Self::Sqlite(connection) => {
                    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
                    for length in lengths {
                        version += 1;
                        sqlx::query("INSERT INTO bare (session, version, bytes) VALUES (?, ?, ?)")
                            .bind(session)
                            .bind(version)
                            .bind(vec![b'x'; *length])
                            .execute(&mut *transaction)
                            .await?;
                    }
                    transaction.commit().await?;
                }
                Self::Postgres(connection) => {
                    let mut transaction = connection.begin().await?;
                    for length in lengths {
                        version += 1;
                        sqlx::query(
                            "INSERT INTO bare (session, version, bytes) VALUES ($1, $2, $3)",
                        )
                        .bind(session)
                        .bind(version)
                        .bind(vec![b'x'; *length])
                        .execute(&mut *transaction)
                        .await?;
                    }
                    transaction.commit().await?;
                }
            }
        }
        Ok(begun.elapsed())
    }
}

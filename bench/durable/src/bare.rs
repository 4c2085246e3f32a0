//! Plain rows in plain tables, by the same driver with the same settings.

use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _, PgConnection};
use tokio::sync::oneshot;

use crate::listener::Appended;

/// A connection of one's own.
pub(crate) enum Bare {
    /// On a thread that does one transaction after the other: who writes from a task must not block it.
    Sqlite(mpsc::Sender<Transaction>),
    Postgres(PgConnection),
}

/// Rows by session, version and length.
pub(crate) struct Transaction {
    rows: Vec<(i64, i64, usize)>,
    done: oneshot::Sender<rusqlite::Result<()>>,
}

const TABLE: &str = "CREATE TABLE bare (session bigint, version bigint, bytes BYTES, PRIMARY KEY (session, version))";

impl Bare {
    /// A new file.
    pub(crate) fn sqlite(file: &Path) -> anyhow::Result<Self> {
        let mut connection = rusqlite::Connection::open(file)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        connection.execute_batch(&TABLE.replace("BYTES", "blob"))?;
        let (transactions, given) = mpsc::channel();
        std::thread::spawn(move || {
            for Transaction { rows, done } in given {
                // Whoever does not wait any more has failed already.
                drop(done.send(write(&mut connection, &rows)));
            }
        });
        Ok(Self::Sqlite(transactions))
    }

    /// A new table in a database of one's own.
    pub(crate) async fn postgres(url: &str) -> anyhow::Result<Self> {
        let options: PgConnectOptions = url.parse()?;
        let mut connection = options.disable_statement_logging().connect().await?;
        let table = sqlx::AssertSqlSafe(TABLE.replace("BYTES", "bytea"));
        sqlx::raw_sql(table).execute(&mut connection).await?;
        Ok(Self::Postgres(connection))
    }

    /// Writes the rows of one transaction after the other, each after its pause; how long that took without the pauses.
    pub(crate) async fn insert(
        &mut self,
        session: i64,
        transactions: &[Appended],
    ) -> anyhow::Result<Duration> {
        let mut took = Duration::ZERO;
        let mut version = 0_i64;
        for Appended { pause, lengths } in transactions {
            // A turn works meanwhile, and does not sleep.
            let paused = Instant::now();
            while paused.elapsed() < *pause {
                std::hint::spin_loop();
            }
            let begun = Instant::now();
            let rows = lengths.iter().map(|length| {
                version += 1;
                (session, version, *length)
            });
            match self {
                Self::Sqlite(transactions) => {
                    let (done, written) = oneshot::channel();
                    let rows = rows.collect();
                    transactions.send(Transaction { rows, done })?;
                    written.await??;
                }
                Self::Postgres(connection) => {
                    let mut transaction = connection.begin().await?;
                    for (session, version, length) in rows {
                        sqlx::query(
                            "INSERT INTO bare (session, version, bytes) VALUES ($1, $2, $3)",
                        )
                        .bind(session)
                        .bind(version)
                        .bind(vec![b'x'; length])
                        .execute(&mut *transaction)
                        .await?;
                    }
                    transaction.commit().await?;
                }
            }
            took += begun.elapsed();
        }
        Ok(took)
    }
}

fn write(
    connection: &mut rusqlite::Connection,
    rows: &[(i64, i64, usize)],
) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for (session, version, length) in rows {
        transaction
            .prepare_cached("INSERT INTO bare (session, version, bytes) VALUES (?, ?, ?)")?
            .execute((session, version, vec![b'x'; *length]))?;
    }
    transaction.commit()
}

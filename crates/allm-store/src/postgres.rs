//! A store in PostgreSQL.

mod answer;
mod answers;
mod connecting;
mod connections;
mod fault;
mod hear;
mod open;
mod options;
mod read;
mod sql;
mod write;

use std::fmt;
use std::sync::Arc;

use allm_core::{SessionId, StoreError};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, raw_sql};
use tokio::time::timeout;

use crate::hints::Writer;
use connections::Connections;
use fault::{is_lost, told};
use hear::Hearing;
pub use options::PostgresOptions;
use sql::{Sql, quoted};

/// A store in PostgreSQL, for many machines.
///
/// Every operation is one statement, and an append takes one row lock, that of its session. Nothing is kept in a
/// connection between two statements, so a pooler that gives each transaction another connection may stand before the
/// server. Time is that of the server.
///
/// What was appended is told to the other machines by `NOTIFY`, after it is committed and for
/// [`changed`](allm_core::SessionStore::changed) only. A pooler does not pass that on; nothing else needs it.
///
/// ```no_run
/// # async fn doc() -> Result<(), allm_core::StoreError> {
/// use allm_store::PostgresStore;
///
/// let store = PostgresStore::connect("postgres://app@db.example.org/app").await?;
/// # drop(store);
/// # Ok(())
/// # }
/// ```
pub struct PostgresStore {
    connections: Arc<Connections>,
    /// The name of the schema, quoted.
    schema: String,
    /// `None` when hints are switched off.
    hearing: Option<Hearing>,
}

/// Whether a statement may be sent again when its answer was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    /// The second time does no harm and gives the same answer.
    Safe,
    Never,
}

impl PostgresStore {
    /// Connects to a database and makes the tables in its schema `allm`, or migrates them if need be.
    ///
    /// # Errors
    ///
    /// `refused` when the URL cannot be read or the server does not let us in; `unavailable` when it does not answer;
    /// `schema_too_new` when a newer library has migrated the tables; `corrupt` when they were migrated with another
    /// text of a migration.
    pub async fn connect(url: &str) -> Result<Self, StoreError> {
        Self::options().connect(url).await
    }

    /// Options, to connect otherwise.
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// Closes the connections that are idle.
    pub async fn close(&self) {
        self.connections.close().await;
    }

    /// An empty statement. The name of the schema goes before each name of a table or function.
    fn sql(&self) -> Sql {
        Sql::new(&self.schema)
    }

    async fn rows(&self, sql: Sql, again: Again) -> Result<Vec<PgRow>, StoreError> {
        let sql: Arc<str> = sql.finish().into();
        let mut lent = self.connections.lend().await.map_err(told)?;
        loop {
            let rows = raw_sql(AssertSqlSafe(Arc::clone(&sql)));
            let rows = rows.fetch_all(&mut lent.connection);
            // Whoever is behind a cable that was cut never hears of it.
            let rows = timeout(self.connections.patience(), rows).await;
            match rows.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
                Ok(rows) => {
                    lent.keep();
                    return Ok(rows);
                }
                Err(error) if is_lost(&error) => {
                    // The server went away since the connection was last used, so the others are dead as well.
                    self.connections.forget_idle();
                    if again == Again::Never || !lent.used {
                        return Err(told(error));
                    }
                    drop(lent);
                    lent = self.connections.lend().await.map_err(told)?;
                }
                Err(error) => {
                    // An error of the server ends its statement and nothing else.
                    if error.as_database_error().is_some() {
                        lent.keep();
                    }
                    return Err(told(error));
                }
            }
        }
    }

    /// Tells everybody that something was appended.
    fn tell(&self, id: &SessionId, by: Writer) {
        if let Some(hearing) = &self.hearing {
            hearing.tell(id, by);
        }
    }

    /// The only row of an answer.
    async fn row(&self, sql: Sql, again: Again) -> Result<PgRow, StoreError> {
        let row = self.rows(sql, again).await?.into_iter().next();
        row.ok_or_else(|| told(sqlx::Error::RowNotFound))
    }
}

impl fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresStore")
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

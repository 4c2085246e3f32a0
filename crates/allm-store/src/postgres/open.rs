//! What is done to a database before it is used.

use allm_core::StoreError;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Row, raw_sql};

use super::connections::Connections;
use super::fault::{Fault, told};
use super::quoted;
use crate::database::schema::{self, Migrate, Migration};

const MIGRATIONS: &[Migration] = &[Migration {
    number: 1,
    sql: include_str!("../../migrations/postgres/0001_sessions.sql"),
}];

/// Any number, as long as it is always the same: that of the lock under which databases are migrated.
const LOCK: i64 = 0x616c_6c6d_0001;

pub(super) async fn prepare(
    connections: &Connections,
    schema: &str,
    migrate: Migrate,
) -> Result<(), StoreError> {
    let mut lent = connections.lend().await.map_err(told)?;
    let found = applied(&mut lent.connection, schema).await.map_err(told)?;
    match schema::next(MIGRATIONS, &found)? {
        Some(missing) if migrate == Migrate::Never => return Err(schema::too_old(missing)),
        Some(_) => while one(&mut lent.connection, schema).await? {},
        None => {}
    }
    lent.keep();
    Ok(())
}

/// Numbers and checksums of the migrations that the database has had.
async fn applied(
    connection: &mut PgConnection,
    schema: &str,
) -> Result<Vec<(i64, Vec<u8>)>, sqlx::Error> {
    let hex: String = (schema.bytes()).map(|byte| format!("{byte:02x}")).collect();
    let found = format!(
        "SELECT count(*) FROM pg_catalog.pg_tables WHERE tablename = 'allm_schema' \
         AND schemaname = convert_from(decode('{hex}', 'hex'), 'UTF8')"
    );
    let found = raw_sql(AssertSqlSafe(found));
    let found: i64 = found.fetch_one(&mut *connection).await?.try_get(0)?;
    if found == 0 {
        return Ok(Vec::new());
    }
    let schema = quoted(schema);
    let rows = format!("SELECT number, checksum FROM {schema}.allm_schema ORDER BY number");
    let rows = raw_sql(AssertSqlSafe(rows)).fetch_all(connection).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}

/// Does one migration, if one is missing. Whoever holds the lock does it; who comes later finds it done.
async fn one(connection: &mut PgConnection, schema: &str) -> Result<bool, StoreError> {
    let mut transaction = connection.begin().await.map_err(told)?;
    let migrate = async {
        // The lock ends with the transaction.
        let lock = format!("SELECT pg_advisory_xact_lock({LOCK})");
        raw_sql(AssertSqlSafe(lock))
            .execute(&mut *transaction)
            .await?;
        let found = applied(&mut transaction, schema).await?;
        let Some(migration) = schema::next(MIGRATIONS, &found)? else {
            return Ok(false);
        };
        let quoted = quoted(schema);
        let number = migration.number;
        let checksum: String = (migration.checksum().as_bytes().iter())
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let all = format!(
            "CREATE SCHEMA IF NOT EXISTS {quoted};
             SET LOCAL search_path TO {quoted}, pg_temp;
             CREATE TABLE IF NOT EXISTS allm_schema (
                 number bigint PRIMARY KEY, checksum bytea NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
             );
             {sql}
             INSERT INTO allm_schema (number, checksum) VALUES ({number}, decode('{checksum}', 'hex'));",
            sql = migration.sql,
        );
        raw_sql(AssertSqlSafe(all))
            .execute(&mut *transaction)
            .await?;
        Ok::<_, Fault>(true)
    };
    let done = migrate.await.map_err(|fault| fault.told(told))?;
    transaction.commit().await.map_err(told)?;
    Ok(done)
}

//! How a database is connected to.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use allm_core::StoreError;
use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;

use super::connections::Connections;
use super::hear::Hearing;
use super::{PostgresStore, open, quoted};
use crate::database::schema::Migrate;
use crate::rules::refused;

/// How a [`PostgresStore`] is connected to its database.
#[derive(Clone)]
#[must_use]
pub struct PostgresOptions {
    schema: String,
    connections: u32,
    wait: Duration,
    migrate: Migrate,
    notify: bool,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self {
            schema: "allm".to_owned(),
            connections: 10,
            wait: Duration::from_secs(30),
            migrate: Migrate::Auto,
            notify: true,
        }
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("wait", &self.wait)
            .field("migrate", &self.migrate)
            .field("notify", &self.notify)
            .finish()
    }
}

impl PostgresOptions {
    /// The schema of the database that the tables are in; `allm` if nobody says otherwise.
    pub fn schema(mut self, name: impl Into<String>) -> Self {
        self.schema = name.into();
        self
    }

    /// The most connections at once; 10 if nobody says otherwise. Hints have two of their own.
    pub fn connections(mut self, connections: u32) -> Self {
        self.connections = connections;
        self
    }

    /// How long an operation waits for a connection, free or new, and then for the answer, before it is `unavailable`; 30 s
    /// if nobody says otherwise.
    pub fn wait(mut self, time: Duration) -> Self {
        self.wait = time;
        self
    }

    /// What is done about a database that is empty or of an older release. [`Migrate::Auto`] if nobody says otherwise.
    pub fn migrate(mut self, migrate: Migrate) -> Self {
        self.migrate = migrate;
        self
    }

    /// Neither tells other machines of appends nor hears of theirs: `changed` never comes.
    pub fn without_notify(mut self) -> Self {
        self.notify = false;
        self
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresStore::connect`]; `schema_too_old` with [`Migrate::Never`]; `refused` for a name of a schema
    /// that is empty, longer than 58 bytes or holds NUL.
    pub async fn connect(self, url: &str) -> Result<PostgresStore, StoreError> {
        if self.schema.is_empty() || self.schema.len() > 58 || self.schema.contains('\0') {
            return Err(refused("the name of the schema is not valid"));
        }
        // A pooler refuses settings of a connection that it does not know, and keeps no prepared statements.
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| refused("the URL of the database cannot be read"))?
            .extra_float_digits(None)
            .statement_cache_capacity(0)
            .disable_statement_logging();
        let connections = Arc::new(Connections::new(
            options.clone(),
            self.connections,
            self.wait,
        ));
        open::prepare(&connections, &self.schema, self.migrate).await?;
        let hearing = self.notify.then(|| Hearing::new(options, &self.schema));
        Ok(PostgresStore {
            connections,
            schema: quoted(&self.schema),
            hearing,
        })
    }
}

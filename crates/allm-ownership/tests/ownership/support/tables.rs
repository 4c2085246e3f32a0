//! Everything that a database holds, table by table as its catalogue lists them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use allm_postgres_test::Server;
use allm_store::{PostgresStore, SqliteStore};
use serde_json::Value;

use super::sql::{created, execute, texts};
use super::stores::{Store, folder};

/// A database that can be looked into.
pub(crate) enum Database {
    Sqlite(PathBuf),
    Postgres { server: Server, url: String },
}

/// The rows of a table, each with its columns that are not null.
pub(crate) type Row = BTreeMap<String, Vec<u8>>;

/// All rows of all tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tables(pub(crate) BTreeMap<String, Vec<Row>>);

/// Those that can be had here, empty.
pub(crate) fn databases() -> Vec<Database> {
    let mut all = vec![Database::Sqlite(folder())];
    all.extend(Server::shared().map(|server| Database::Postgres {
        url: server.database(),
        server,
    }));
    all
}

impl Database {
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres { .. } => "postgres",
        }
    }

    pub(crate) async fn store(&self) -> Store {
        match self {
            Self::Sqlite(folder) => {
                let store = SqliteStore::open(folder.join("sessions.db")).await;
                Arc::new(store.expect("a file"))
            }
            Self::Postgres { url, .. } => {
                Arc::new(PostgresStore::connect(url).await.expect("a database"))
            }
        }
    }

    /// What anybody with access to the database can do to it.
    pub(crate) fn execute(&self, sql: &str) {
        match self {
            Self::Sqlite(folder) => execute(&folder.join("sessions.db"), sql),
            Self::Postgres { server, url } => {
                drop(server.psql(url, &format!("SET search_path TO allm; {sql}")));
            }
        }
    }

    /// Makes its tables, as another release did.
    pub(crate) fn create(&self, sql: &str) {
        match self {
            Self::Sqlite(folder) => created(&folder.join("sessions.db"), sql),
            Self::Postgres { server, url } => drop(server.psql(url, sql)),
        }
    }

    /// Bytes as they stand in SQL.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> String {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sqlite(_) => format!("X'{hex}'"),
            Self::Postgres { .. } => format!("decode('{hex}', 'hex')"),
        }
    }

    pub(crate) fn tables(&self) -> Tables {
        let mut all = BTreeMap::new();
        match self {
            Self::Sqlite(folder) => {
                let file = folder.join("sessions.db");
                let names = "SELECT name FROM sqlite_schema WHERE type = 'table'";
                for table in texts(&file, names) {
                    let columns = format!("SELECT name FROM pragma_table_info('{table}')");
                    let mut rows: Vec<Row> = Vec::new();
                    for column in texts(&file, &columns) {
                        let cells = format!("SELECT quote(\"{column}\") FROM \"{table}\"");
                        let cells = texts(&file, &cells);
                        rows.resize(cells.len(), Row::new());
                        for (row, cell) in rows.iter_mut().zip(cells) {
                            row.extend(unquoted(&cell).map(|cell| (column.clone(), cell)));
                        }
                    }
                    all.insert(table, rows);
                }
            }
            Self::Postgres { server, url } => {
                let names = "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables \
                             WHERE schemaname NOT IN ('pg_catalog', 'information_schema')";
                for table in server.psql(url, names).lines() {
                    let rows = format!("SELECT to_jsonb(t)::text FROM {table} AS t");
                    let rows = server.psql(url, &rows);
                    let name = table.rsplit('.').next().unwrap_or(table).to_owned();
                    all.insert(name, rows.lines().map(row_of_json).collect());
                }
            }
        }
        for rows in all.values_mut() {
            rows.sort();
        }
        Tables(all)
    }

    /// The files, where it has some of its own: as bytes, with what no table shows any more.
    pub(crate) fn files(&self) -> Vec<(String, Vec<u8>)> {
        let Self::Sqlite(folder) = self else {
            return Vec::new();
        };
        let files = std::fs::read_dir(folder).expect("a folder");
        let files = files.map(|file| file.expect("a file"));
        let name = |file: &std::fs::DirEntry| file.file_name().to_string_lossy().into_owned();
        files
            .map(|file| (name(&file), std::fs::read(file.path()).expect("read")))
            .collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Self::Sqlite(folder) = self {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// What SQLite's `quote` was given.
fn unquoted(cell: &str) -> Option<Vec<u8>> {
    let inside = |text: &str, quote: &str| {
        let text = text.strip_prefix(quote)?.strip_suffix('\'')?;
        Some(text.to_owned())
    };
    if cell == "NULL" {
        None
    } else if let Some(hex) = inside(cell, "X'") {
        Some(from_hex(&hex))
    } else if let Some(text) = inside(cell, "'") {
        Some(text.replace("''", "'").into_bytes())
    } else {
        Some(cell.as_bytes().to_vec())
    }
}

fn row_of_json(line: &str) -> Row {
    let Ok(Value::Object(row)) = serde_json::from_str(line) else {
        panic!("not a row: {line}");
    };
    let cells = row.into_iter().filter(|(_, cell)| !cell.is_null());
    cells
        .map(|(column, cell)| (column, bytes_of(&cell)))
        .collect()
}

/// PostgreSQL shows bytes as `\x…`.
fn bytes_of(cell: &Value) -> Vec<u8> {
    match cell {
        Value::String(text) => match text.strip_prefix("\\x") {
            Some(hex) => from_hex(hex),
            None => text.clone().into_bytes(),
        },
        Value::Array(items) => items.iter().flat_map(bytes_of).collect(),
        other => other.to_string().into_bytes(),
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    let byte = |pair| {
        let pair = std::str::from_utf8(pair).expect("digits");
        u8::from_str_radix(pair, 16).expect("digits")
    };
    digits.map(byte).collect()
}

impl Tables {
    /// The tables with rows in which this stands, with how many there are.
    pub(crate) fn with(&self, needle: &[u8]) -> BTreeMap<String, usize> {
        let tables = self.0.iter().map(|(name, rows)| {
            let found = rows.iter().filter(|row| holds_any(row, needle)).count();
            (name.clone(), found)
        });
        tables.filter(|(_, found)| *found > 0).collect()
    }

    pub(crate) fn counts(&self) -> BTreeMap<&str, usize> {
        let counts = self.0.iter();
        counts
            .map(|(name, rows)| (name.as_str(), rows.len()))
            .collect()
    }
}

fn holds_any(row: &Row, needle: &[u8]) -> bool {
    row.values().any(|cell| holds(cell, needle))
}

/// Whether these bytes have those in them: as they are, or in hexadecimal digits.
pub(crate) fn holds(bytes: &[u8], needle: &[u8]) -> bool {
    let hex: String = needle.iter().map(|byte| format!("{byte:02x}")).collect();
    has(bytes, needle) || has(&bytes.to_ascii_lowercase(), hex.as_bytes())
}

pub(crate) fn has(bytes: &[u8], needle: &[u8]) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle)
}

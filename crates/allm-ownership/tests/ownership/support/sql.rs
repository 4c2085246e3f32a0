//! Files of SQLite as any other program opens them.

use std::path::Path;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};

async fn connect(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file);
    let options = options.disable_statement_logging();
    options.connect().await.expect("opens")
}

pub(crate) async fn execute(file: &Path, sql: &str) {
    let mut connection = connect(file).await;
    let statements = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned()));
    let done = statements.execute(&mut connection).await;
    done.unwrap_or_else(|error| panic!("{error}: {sql}"));
}

/// As [`execute`], in a file that is not there yet.
pub(crate) async fn created(file: &Path, sql: &str) {
    std::fs::write(file, "").expect("a file");
    execute(file, sql).await;
}

/// The only column of all rows, which is text.
pub(crate) async fn texts(file: &Path, sql: String) -> Vec<String> {
    let mut connection = connect(file).await;
    let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(sql));
    rows.fetch_all(&mut connection).await.expect("read")
}

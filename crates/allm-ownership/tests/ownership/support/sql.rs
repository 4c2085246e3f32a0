//! Files of SQLite as any other program opens them.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

fn connect(file: &Path) -> Connection {
    Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_WRITE).expect("opens")
}

pub(crate) fn execute(file: &Path, sql: &str) {
    let done = connect(file).execute_batch(sql);
    done.unwrap_or_else(|error| panic!("{error}: {sql}"));
}

/// As [`execute`], in a file that is not there yet.
pub(crate) fn created(file: &Path, sql: &str) {
    std::fs::write(file, "").expect("a file");
    execute(file, sql);
}

/// The only column of all rows, which is text.
pub(crate) fn texts(file: &Path, sql: &str) -> Vec<String> {
    let connection = connect(file);
    let mut rows = connection.prepare(sql).expect("a statement");
    let rows = rows.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|text| text.expect("read")).collect()
}

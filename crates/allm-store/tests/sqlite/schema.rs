//! Schemas of other releases.

use allm_core::StoreReason;
use allm_store::{Migrate, SqliteStore};

use super::support::{golden, reason};
use super::{Folder, execute, rows};

#[tokio::test]
async fn s118_a_newer_schema_is_refused_before_anything_else() {
    let folder = Folder::new();
    folder.store().await;
    execute(
        &folder,
        "INSERT INTO allm_schema VALUES (999, x'00', 0); DROP TABLE sessions",
    );
    for migrate in [Migrate::Auto, Migrate::Never] {
        let opened = SqliteStore::options()
            .migrate(migrate)
            .open(folder.file())
            .await;
        assert_eq!(reason(opened), StoreReason::SchemaTooNew);
    }
    let tables = "SELECT count(*) FROM sqlite_schema WHERE name = 'sessions'";
    assert_eq!(rows(&folder, tables), [0]);
}

#[tokio::test]
async fn s118_an_older_schema_is_refused_where_nobody_may_migrate() {
    let folder = Folder::new();
    execute(&folder, "CREATE TABLE other (x)");
    let never = SqliteStore::options().migrate(Migrate::Never);
    let opened = never.clone().open(folder.file()).await;
    assert_eq!(reason(opened), StoreReason::SchemaTooOld);
    let tables = "SELECT count(*) FROM sqlite_schema";
    assert_eq!(rows(&folder, tables), [1]);
    folder.store().await;
    never.open(folder.file()).await.expect("migrated by now");
    let missing = Folder::new();
    let opened = SqliteStore::options().migrate(Migrate::Never);
    assert_eq!(
        reason(opened.open(missing.file()).await),
        StoreReason::Unavailable
    );
    assert!(!missing.file().exists());
}

#[tokio::test]
async fn s118_an_edited_migration_is_found_by_its_checksum() {
    let folder = Folder::new();
    folder.store().await;
    execute(&folder, "UPDATE allm_schema SET checksum = zeroblob(32)");
    let opened = SqliteStore::open(folder.file()).await;
    assert_eq!(reason(opened), StoreReason::Corrupt);
}

#[tokio::test]
async fn s119_what_was_written_under_schema_1_is_readable() {
    let folder = Folder::new();
    execute(
        &folder,
        include_str!("../../migrations/sqlite/0001_sessions.sql"),
    );
    execute(&folder, include_str!("../golden/sqlite-1.sql"));
    golden::is_readable(&folder.store().await).await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_corrupt() {
    let folder = Folder::new();
    std::fs::write(
        folder.file(),
        "not a database at all, though long enough".repeat(100),
    )
    .expect("written");
    let opened = SqliteStore::open(folder.file()).await;
    assert_eq!(reason(opened), StoreReason::Corrupt);
}

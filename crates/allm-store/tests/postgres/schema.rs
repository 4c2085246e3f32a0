//! Schemas of other releases.

use allm_core::StoreReason;
use allm_store::{Migrate, PostgresStore};

use super::database;
use super::support::{Journal, golden, reason};

#[tokio::test]
async fn s118_a_newer_schema_is_refused_before_anything_else() {
    let Some(database) = database() else { return };
    database.store().await;
    database.psql(
        "INSERT INTO allm.allm_schema VALUES (999, '\\x00'); DROP TABLE allm.sessions CASCADE",
    );
    for migrate in [Migrate::Auto, Migrate::Never] {
        let connected = PostgresStore::options()
            .migrate(migrate)
            .connect(&database.url)
            .await;
        assert_eq!(reason(connected), StoreReason::SchemaTooNew);
    }
    assert_eq!(
        database.psql("SELECT to_regclass('allm.sessions') IS NULL"),
        "t"
    );
}

#[tokio::test]
async fn s118_an_older_schema_is_refused_where_nobody_may_migrate() {
    let Some(database) = database() else { return };
    let never = PostgresStore::options().migrate(Migrate::Never);
    let connected = never.clone().connect(&database.url).await;
    assert_eq!(reason(connected), StoreReason::SchemaTooOld);
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'allm'";
    assert_eq!(database.psql(schemas), "0");
    database.store().await;
    never.connect(&database.url).await.expect("migrated by now");
}

#[tokio::test]
async fn s118_an_edited_migration_is_found_by_its_checksum() {
    let Some(database) = database() else { return };
    database.store().await;
    database.psql("UPDATE allm.allm_schema SET checksum = '\\x00'");
    let connected = PostgresStore::connect(&database.url).await;
    assert_eq!(reason(connected), StoreReason::Corrupt);
}

#[tokio::test]
async fn s119_what_was_written_under_schema_1_is_readable() {
    let Some(database) = database() else { return };
    database.psql(&format!(
        "CREATE SCHEMA allm; SET search_path TO allm, pg_temp; {} {}",
        include_str!("../../migrations/postgres/0001_sessions.sql"),
        include_str!("../golden/postgres-1.sql")
    ));
    golden::is_readable(&database.store().await).await;
}

#[tokio::test]
async fn two_schemas_of_one_database_are_two_stores() {
    let Some(database) = database() else { return };
    for name in ["one", "T wo\"; --'"] {
        let options = PostgresStore::options().schema(name);
        let store = options.connect(&database.url).await.expect("connects");
        let store: super::Store = std::sync::Arc::new(store);
        let mut journal = Journal::create(&store, "a").await;
        journal.write("x").await.expect("appended");
        journal.whole().await;
    }
    for name in ["", "a\0b", &"x".repeat(59)] {
        let connected = PostgresStore::options()
            .schema(name)
            .connect(&database.url)
            .await;
        assert_eq!(reason(connected), StoreReason::Refused);
    }
}

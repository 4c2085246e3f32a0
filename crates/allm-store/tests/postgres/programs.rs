//! Several programs on one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use allm_core::SessionFilter;
use allm_store::PostgresStore;

use super::database;
use super::support::{Journal, Store, listed, programs};

const PROGRAM: &str = "programs::program";

/// Connects and makes a session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "other tests start it"]
async fn program() {
    let Some(task) = programs::task() else { return };
    let store = PostgresStore::connect(&task[0]).await.expect("connects");
    let store: Store = Arc::new(store);
    Journal::create(&store, &task[1]).await;
}

#[tokio::test]
async fn s117_eight_programs_migrate_an_empty_database_once() {
    let Some(database) = database() else { return };
    let start = |name| programs::start(PROGRAM, &format!("{}\np{name}", database.url));
    programs::all_succeed((0..8).map(start).collect());
    let store = database.store().await;
    assert_eq!(listed(&store, &SessionFilter::new(), 50).await.len(), 8);
    assert_eq!(database.psql("SELECT count(*) FROM allm.allm_schema"), "1");
}

#[tokio::test]
async fn s117_a_program_killed_in_mid_migration_leaves_the_old_schema() {
    let Some(database) = database() else { return };
    // The migration stops where it makes this table, until it is told to go on.
    database.psql(
        "CREATE FUNCTION pause() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
             IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands()
                        WHERE object_identity = 'allm.blobs' AND command_tag = 'CREATE TABLE')
             THEN PERFORM pg_sleep(1000); END IF;
         END $$;
         CREATE EVENT TRIGGER pause ON ddl_command_end EXECUTE FUNCTION pause()",
    );
    let mut program = programs::start(PROGRAM, &format!("{}\np", database.url));
    let paused = "SELECT count(*) FROM pg_stat_activity \
                  WHERE datname = current_database() AND wait_event = 'PgSleep'";
    let begun = Instant::now();
    while database.psql(paused) != "1" {
        assert!(begun.elapsed() < Duration::from_secs(60), "it never paused");
    }
    program.kill().expect("killed");
    program.wait().expect("it ended");
    // The server notices that nobody is there only when it next writes; this is what it does then.
    database.psql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
         WHERE datname = current_database() AND wait_event = 'PgSleep'",
    );
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'allm'";
    assert_eq!(database.psql(tables), "0");
    database.psql("DROP EVENT TRIGGER pause");
    Journal::create(&database.store().await, "after").await;
    assert_eq!(database.psql(tables), "7");
}

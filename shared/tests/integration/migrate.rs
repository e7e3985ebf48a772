//! Migrations: applied once, in order, by one at a time, and never changed afterwards.

use futures_util::join;
use payments::repositories::migrations::{self, MigrationError};

use crate::support::TestDatabase;
use crate::support::database::{MIGRATION, migrate, owner};

/// The version of this source's schema: the number of the last file.
const VERSION: i32 = 6;

#[tokio::test]
async fn an_empty_database_gets_every_migration_and_a_second_run_applies_nothing() {
    let database = TestDatabase::empty().await;

    let first = migrate(&database.owner_url()).await;
    let second = migrate(&database.owner_url()).await;

    assert_eq!(first.applied.len(), usize::try_from(VERSION).unwrap(), "{first:?}");
    assert_eq!(first.applied[0], "V1__tenants_and_accounts");
    assert_eq!((first.version, second.version), (VERSION, VERSION));
    assert_eq!(second.applied, Vec::<String>::new());
}

#[tokio::test]
async fn the_report_is_what_the_function_answers_with() {
    let database = TestDatabase::empty().await;
    migrate(&database.owner_url()).await;

    let report = serde_json::to_value(migrate(&database.owner_url()).await).unwrap();

    assert_eq!(report, serde_json::json!({ "applied": [], "version": VERSION }));
}

#[tokio::test]
async fn two_at_once_both_succeed_and_apply_each_migration_once() {
    let database = TestDatabase::empty().await;
    let owner = owner(&database.owner_url());
    let _turn = MIGRATION.lock().await;

    let (one, other) = join!(migrations::run(&owner), migrations::run(&owner));

    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!(one.applied.len() + other.applied.len(), usize::try_from(VERSION).unwrap());
    assert_eq!((one.version, other.version), (VERSION, VERSION));
    let sql = "SELECT count(*), count(DISTINCT version) FROM refinery_schema_history";
    let row = database.owner().await.query_one(sql, &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (VERSION.into(), VERSION.into()));
}

#[tokio::test]
async fn an_applied_migration_that_was_changed_is_refused() {
    let database = TestDatabase::new().await;
    let sql = "UPDATE refinery_schema_history SET checksum = '1' WHERE version = 1";
    database.owner().await.execute(sql, &[]).await.unwrap();

    let refused = migrations::run(&owner(&database.owner_url())).await;

    assert!(matches!(refused, Err(MigrationError::Migration(_))), "{refused:?}");
}

#[tokio::test]
async fn a_database_that_cannot_be_reached_is_an_error_and_no_panic() {
    let unreachable = "postgres://postgres@127.0.0.1:1/postgres";

    let refused = migrations::run(&owner(unreachable)).await;

    assert!(matches!(refused, Err(MigrationError::Connection(_))), "{refused:?}");
}

#[tokio::test]
async fn after_a_rollback_an_older_version_leaves_the_newer_schema_as_it_is() {
    let database = TestDatabase::new().await;
    let sql = "INSERT INTO refinery_schema_history (version, name, applied_on, checksum)
               SELECT 99, 'from_the_future', applied_on, '1' FROM refinery_schema_history WHERE version = 1";
    database.owner().await.execute(sql, &[]).await.unwrap();

    let migrated = migrate(&database.owner_url()).await;

    assert_eq!((migrated.applied, migrated.version), (Vec::new(), 99));
}

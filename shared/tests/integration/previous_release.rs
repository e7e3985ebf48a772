//! The release before the balance slots, beside this one: expand, then contract.

use futures_util::future::join_all;
use payments::config::MigrationConfig;
use payments::domain::{IdempotencyKey, TenantId};
use payments::repositories::migrations;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error};

use crate::support::api::RECIPIENT;
use crate::support::database::{MIGRATION, connect, owner};
use crate::support::{Api, Ledger, Pay, TestDatabase};

/// The statement of that release, as it was.
const STATEMENT: &str = include_str!("previous_release/create_payment.sql");
/// The migration that lets both releases work.
const EXPANDED: i32 = 5;

async fn expanded() -> TestDatabase {
    let database = TestDatabase::empty().await;
    let _turn = MIGRATION.lock().await;
    let config = MigrationConfig { up_to: EXPANDED, ..owner(&database.owner_url()) };
    assert_eq!(migrations::run(&config).await.unwrap().version, EXPANDED);
    database
}

/// Pays from T1's default account as that release did. The row's first word, or none for a lost race.
async fn pay_as_before(app: &Client, ledger: &Ledger, key: &str, amount: i64) -> Result<Option<String>, Error> {
    let stored = IdempotencyKey::parse(key.as_bytes()).unwrap().stored(TenantId(ledger.t1));
    let (none, no_version, no_currency) = (None::<uuid::Uuid>, None::<i64>, None::<String>);
    let (payment, call) = (stored.payment_id().0, uuid::Uuid::new_v4());
    let parameters: [(&(dyn ToSql + Sync), Type); 10] = [
        (&stored.0, Type::UUID),
        (&payment, Type::UUID),
        (&ledger.t1, Type::UUID),
        (&none, Type::UUID),
        (&RECIPIENT, Type::UUID),
        (&amount, Type::INT8),
        (&no_currency, Type::TEXT),
        (&no_version, Type::INT8),
        (&none, Type::UUID),
        (&call, Type::UUID),
    ];
    Ok(app.query_typed(STATEMENT, &parameters).await?.first().map(|row| row.get(0)))
}

#[tokio::test]
async fn between_the_two_steps_both_releases_pay_from_one_account_and_each_key_once() {
    let database = expanded().await;
    let ledger = Ledger::new(database.owner().await).await;
    let api = Api::new(&database.ledger(10));
    let sessions = join_all((0..10).map(|_| async { connect(&database.app_url()).await })).await;

    // Keys 0 to 49 through this release, 25 to 74 through the one before, all at once; 40 of 75 are covered.
    let now = join_all((0..50).map(|i| api.pay(Pay::new(ledger.t1, &format!("k{i}")).amount(250))));
    let ledger = &ledger;
    let before = join_all(sessions.iter().enumerate().map(|(session, app)| async move {
        let mut results = Vec::new();
        for i in (25..75).filter(|i| i % 10 == session) {
            results.push(pay_as_before(app, ledger, &format!("k{i}"), 250).await.unwrap());
        }
        results
    }));
    let (now, before) = futures_util::join!(now, before);

    assert!(now.iter().all(|answer| [200, 402].contains(&answer.status.as_u16())), "{now:?}");
    let words: Vec<_> = before.into_iter().flatten().flatten().collect();
    assert!(words.iter().all(|word| word == "created" || word == "found"), "{words:?}");
    ledger.assert_t1(0, 75).await;
    let succeeded = "SELECT count(*) FROM payments WHERE status = 'succeeded'";
    assert_eq!(ledger.owner.query_one(succeeded, &[]).await.unwrap().get::<_, i64>(0), 40);
    // What one release settled, the other replays.
    let first = pay_as_before(&sessions[0], ledger, "k0", 250).await.unwrap();
    assert_eq!(first.as_deref(), Some("found"));
    assert!(api.pay(Pay::new(ledger.t1, "k74").amount(250)).await.is_replay());
}

#[tokio::test]
async fn between_the_two_steps_no_account_can_be_split() {
    let database = expanded().await;
    let ledger = Ledger::new(database.owner().await).await;

    let refused = ledger.owner.execute("UPDATE accounts SET slots = 2 WHERE id = $1", &[&ledger.a]).await.unwrap_err();

    assert_eq!(refused.as_db_error().unwrap().constraint(), Some("account_slots_one_until_contracted"));
}

#[tokio::test]
async fn after_the_second_step_the_release_before_is_refused_and_changes_nothing() {
    let (_, ledger, database) = Api::with_database().await;
    let app = connect(&database.app_url()).await;

    let refused = pay_as_before(&app, &ledger, "k", 250).await.unwrap_err();

    assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
    ledger.assert_noop().await;
}

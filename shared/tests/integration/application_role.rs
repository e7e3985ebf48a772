//! The role of the functions: the least that they need, and the bounds of every wait.

use tokio_postgres::error::SqlState;

use crate::support::{Api, Pay, database};

#[tokio::test]
async fn the_application_can_neither_rewrite_history_nor_the_schema() {
    let (api, ledger, test_database) = Api::with_database().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();
    let app = database::connect(&test_database.app_url()).await;

    for forbidden in [
        "DELETE FROM payments",
        "UPDATE payments SET amount = 1",
        "UPDATE payments SET status = 'declined'",
        "TRUNCATE payments",
        "UPDATE accounts SET tenant_id = gen_random_uuid()",
        "UPDATE accounts SET currency = 'USD'",
        "UPDATE accounts SET id = gen_random_uuid()",
        "INSERT INTO accounts (id, tenant_id, currency, balance) SELECT gen_random_uuid(), tenant_id, currency, 1 FROM accounts",
        "DELETE FROM accounts",
        "SELECT * FROM accounts",
        "UPDATE accounts SET balance = 1",
        "UPDATE account_slots SET slots = 2",
        "UPDATE account_slots SET tenant_id = gen_random_uuid()",
        "INSERT INTO account_slots (account_id, tenant_id, currency, balance) SELECT gen_random_uuid(), tenant_id, currency, 1 FROM account_slots",
        "DELETE FROM account_slots",
        "INSERT INTO tenants (id, name) VALUES (gen_random_uuid(), 'x')",
        "UPDATE tenants SET default_account_id = NULL",
        "DELETE FROM tenants",
        "UPDATE idempotency_keys SET payment_id = gen_random_uuid()",
        "UPDATE idempotency_keys SET status = 'declined'",
        "TRUNCATE idempotency_keys",
        "SELECT * FROM refinery_schema_history",
        "CREATE TABLE x (id integer)",
        "CREATE INDEX ON payments (amount)",
        "ALTER TABLE payments DROP CONSTRAINT payments_amount_in_range",
        "DROP TABLE payments CASCADE",
        "CREATE SCHEMA x",
        "CREATE ROLE x",
        "ALTER TABLE payments DISABLE TRIGGER ALL",
    ] {
        let refused = app.batch_execute(forbidden).await.expect_err(forbidden);
        assert_eq!(refused.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE), "{forbidden}: {refused:?}");
    }
    ledger.assert_t1(7_500, 1).await;
}

#[tokio::test]
async fn every_session_of_the_application_is_bounded_and_durable() {
    let (_, _, test_database) = Api::with_database().await;
    let app = database::connect(&test_database.app_url()).await;

    for (setting, value) in [
        ("statement_timeout", "5s"),
        ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "5s"),
        ("default_transaction_isolation", "read committed"),
        ("synchronous_commit", "on"),
    ] {
        let row = app.query_one(&format!("SHOW {setting}"), &[]).await.unwrap();
        assert_eq!(row.get::<_, &str>(0), value, "{setting}");
    }
    let role = "SELECT rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls FROM pg_roles WHERE rolname = current_user";
    let mighty: bool = app.query_one(role, &[]).await.unwrap().get(0);
    assert!(!mighty);
}

#[tokio::test]
async fn the_schema_itself_refuses_what_no_payment_may_be() {
    let (api, ledger) = Api::with_ledger().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_executed();

    for (broken, constraint) in [
        ("UPDATE accounts SET balance = -1", "accounts_balance_not_negative"),
        ("UPDATE accounts SET currency = 'eur'", "accounts_currency_is_iso_4217"),
        ("UPDATE payments SET amount = 0", "payments_amount_in_range"),
        ("UPDATE payments SET amount = 1000000000000001", "payments_amount_in_range"),
        ("UPDATE payments SET status = 'pending'", "payments_status_is_known"),
        ("UPDATE idempotency_keys SET status = 'pending'", "idempotency_keys_status_is_known"),
        ("DELETE FROM payments", "idempotency_keys_payment_id_fkey"),
        ("INSERT INTO idempotency_keys SELECT * FROM idempotency_keys", "idempotency_keys_pkey"),
        ("INSERT INTO payments SELECT * FROM payments", "payments_pkey"),
    ] {
        let refused = ledger.owner.batch_execute(broken).await.expect_err(broken);
        assert_eq!(refused.as_db_error().unwrap().constraint(), Some(constraint), "{broken}");
    }
}

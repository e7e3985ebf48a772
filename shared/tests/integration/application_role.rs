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
        "UPDATE payments SET recipient_id = gen_random_uuid()",
        "UPDATE payments SET tenant_id = gen_random_uuid()",
        "UPDATE payments SET id = gen_random_uuid()",
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
        "INSERT INTO signing_keys (tenant_id, version) SELECT tenant_id, 99 FROM accounts",
        "UPDATE signing_keys SET retired_at = NULL",
        "DELETE FROM signing_keys",
        "UPDATE nonces SET nonce = gen_random_uuid()",
        "TRUNCATE nonces",
        "SELECT * FROM refinery_schema_history",
        "CREATE TABLE x (id integer)",
        "CREATE INDEX ON payments (amount)",
        "ALTER TABLE payments DROP CONSTRAINT payments_amount_in_range",
        "DROP TABLE payments CASCADE",
        "CREATE SCHEMA x",
        "CREATE ROLE x",
        "ALTER ROLE payments_app SUPERUSER",
        "CREATE FUNCTION public.x() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
        "COPY payments TO PROGRAM 'cat'",
        "SELECT pg_read_file('/etc/passwd')",
        "SELECT rolpassword FROM pg_authid",
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

/// What a role may do in the schema, as `table privilege` or `table.column privilege`, from PostgreSQL's own catalogue.
async fn grants(owner: &tokio_postgres::Client, role: &str) -> Vec<String> {
    let sql = "SELECT name || ' ' || (aclexplode(acl)).privilege_type AS granted,
                      pg_get_userbyid((aclexplode(acl)).grantee) AS grantee
                 FROM (SELECT c.relname AS name, c.relacl AS acl
                         FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
                       UNION ALL
                       SELECT c.relname || '.' || a.attname, a.attacl
                         FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                        WHERE c.relnamespace = 'public'::regnamespace) AS objects";
    let rows = owner.query(sql, &[]).await.unwrap();
    let mut grants: Vec<String> =
        rows.iter().filter(|row| row.get::<_, &str>(1) == role).map(|row| row.get(0)).collect();
    grants.sort();
    grants
}

#[tokio::test]
async fn the_application_has_exactly_these_rights_and_nobody_else_has_any() {
    let (_, ledger, _) = Api::with_database().await;

    assert_eq!(
        grants(&ledger.owner, "payments_app").await,
        [
            "account_slots SELECT",
            "account_slots.balance UPDATE",
            "idempotency_keys DELETE",
            "idempotency_keys INSERT",
            "idempotency_keys SELECT",
            "idempotency_keys.created_at UPDATE",
            "nonces DELETE",
            "nonces INSERT",
            "nonces SELECT",
            "nonces.call_id UPDATE",
            "payments INSERT",
            "payments SELECT",
            "signing_keys SELECT",
            "tenants SELECT",
        ]
    );
    // Grantee 0 is everybody.
    assert_eq!(grants(&ledger.owner, "unknown (OID=0)").await, [] as [&str; 0]);
}

#[tokio::test]
async fn the_purge_can_forget_keys_and_nonces_and_the_ledger_stays_what_it_was() {
    let (api, ledger, test_database) = Api::with_database().await;
    let first = api.pay(Pay::new(ledger.t1, "k")).await;
    first.assert_executed();
    let app = database::connect(&test_database.app_url()).await;

    // The most that the purge's rights allow, at once and whatever the age.
    app.batch_execute("DELETE FROM idempotency_keys; DELETE FROM nonces").await.unwrap();

    api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&first);
    api.pay(Pay::new(ledger.t1, "k").amount(1)).await.assert_problem(422, "idempotency_key_reused");
    assert_eq!((ledger.balance(ledger.a).await, ledger.payments(ledger.t1).await), (7_500, 1));
}

#[tokio::test]
async fn the_role_of_migrations_owns_the_schema_and_the_application_is_no_member_of_it() {
    let (_, ledger, _) = Api::with_database().await;

    let sql = "SELECT count(*) FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND pg_get_userbyid(relowner) <> current_user";
    assert_eq!(ledger.owner.query_one(sql, &[]).await.unwrap().get::<_, i64>(0), 0, "one owner");
    let sql = "SELECT pg_has_role('payments_app', current_user, 'MEMBER')";
    assert!(!ledger.owner.query_one(sql, &[]).await.unwrap().get::<_, bool>(0));
}

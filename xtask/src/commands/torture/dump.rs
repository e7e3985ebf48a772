//! The harness's own notes in the database, and the dump that the checker gets.
//!
//! Notes are written in the transaction that they are about: a crash leaves both or neither.

use std::collections::HashMap;

use anyhow::Result;
use tokio_postgres::{Client, Transaction};
use uuid::Uuid;

use super::checker::{Dump, PaymentRow};

/// Beside the product's tables, out of its role's reach.
const SCHEMA: &str = "
    CREATE SCHEMA torture
        CREATE TABLE top_ups (account uuid NOT NULL, amount bigint NOT NULL)
        CREATE TABLE purgeable (payment_id uuid NOT NULL)
        CREATE TABLE filling (content text NOT NULL)";
const TOP_UP: &str = "UPDATE accounts SET balance = balance + $2 WHERE id = $1";
const NOTE_TOP_UP: &str = "INSERT INTO torture.top_ups (account, amount) VALUES ($1, $2)";
/// The youngest keys: those that are still asked for.
const MAKE_OLD: &str = "
    WITH old AS (
        UPDATE idempotency_keys SET created_at = now() - interval '31 days'
         WHERE key IN (SELECT key FROM idempotency_keys
                        WHERE created_at > now() - interval '1 day' ORDER BY created_at DESC LIMIT $1)
        RETURNING payment_id)
    INSERT INTO torture.purgeable (payment_id) SELECT payment_id FROM old";
const PAYMENTS: &str = "
    SELECT id, account_id, recipient_id, amount, currency, status,
           to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') AS created_at
      FROM payments";

/// Creates the notes' tables.
pub(super) async fn create_notes(ledger: &Client) -> Result<()> {
    Ok(ledger.batch_execute(SCHEMA).await?)
}

/// Tops an account up, with a note; the caller commits.
pub(super) async fn top_up(transaction: &Transaction<'_>, account: Uuid, amount: i64) -> Result<()> {
    transaction.execute(TOP_UP, &[&account, &amount]).await?;
    transaction.execute(NOTE_TOP_UP, &[&account, &amount]).await?;
    Ok(())
}

/// Lets that many keys of these minutes look as if they were of last month, with a note.
pub(super) async fn make_keys_old(ledger: &Client, keys: i64) -> Result<u64> {
    Ok(ledger.execute(MAKE_OLD, &[&keys]).await?)
}

/// Reads everything in one snapshot.
pub(super) async fn read(ledger: &mut Client, openings: &HashMap<Uuid, i64>) -> Result<Dump> {
    let snapshot = ledger.build_transaction().isolation_level(tokio_postgres::IsolationLevel::RepeatableRead);
    let snapshot = snapshot.read_only(true).start().await?;
    let mut dump = Dump { paid_in: openings.clone(), ..Dump::default() };
    for row in snapshot.query("SELECT id, balance FROM accounts", &[]).await? {
        dump.balances.insert(row.try_get(0)?, row.try_get(1)?);
    }
    for row in snapshot.query("SELECT account, sum(amount)::bigint FROM torture.top_ups GROUP BY account", &[]).await? {
        *dump.paid_in.entry(row.try_get(0)?).or_default() += row.try_get::<_, i64>(1)?;
    }
    for row in snapshot.query(PAYMENTS, &[]).await? {
        dump.payments.push(PaymentRow {
            id: row.try_get("id")?,
            account: row.try_get("account_id")?,
            recipient: row.try_get("recipient_id")?,
            amount: row.try_get("amount")?,
            currency: row.try_get("currency")?,
            status: row.try_get("status")?,
            created_at: row.try_get("created_at")?,
        });
    }
    for row in snapshot.query("SELECT payment_id, status FROM idempotency_keys", &[]).await? {
        dump.keys.push((row.try_get(0)?, row.try_get(1)?));
    }
    for row in snapshot.query("SELECT payment_id FROM torture.purgeable", &[]).await? {
        dump.purgeable.insert(row.try_get(0)?);
    }
    Ok(dump)
}

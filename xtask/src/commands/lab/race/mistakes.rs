//! What goes wrong with the usual shortcuts, each on a real PostgreSQL.

use anyhow::Result;
use uuid::Uuid;

use super::scene::Scene;
use super::scratch::{AMOUNT, Scratch};
use super::ways::WAITS;
use crate::commands::lab::stage::Pace;

/// What a worker answers that takes the error for the proof: it does not ask whether there is a payment.
fn blind_answer(found: &str) -> String {
    format!("\"done\", {}", if found == "0 rows" { "no payment" } else { found })
}

/// "An error means that the key is taken": the account was short of money, and the client hears of a payment.
pub(super) async fn any_error_is_a_duplicate(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene = Scene::open("mistake: any error is a duplicate", "23514, no duplicate", "\"done\": a lie", pace);
    let (_, b) = scratch.set_up().await?;
    let too_little = AMOUNT - 1;
    scratch.leave(too_little).await?;
    let (key, p) = (Uuid::new_v4(), Uuid::new_v4());
    scene.step("B", "BEGIN", "ok", b.says("BEGIN").await).await;
    scene.step("B", "INSERT key K", "1 row", b.claim(key, p, "").await).await;
    scene.step("B", "UPDATE balance", "23514 on accounts_balance_not_negative", b.debit().await).await;
    scene.step("B", "catches any error, ROLLBACK", "ok", b.says("ROLLBACK").await).await;
    let found = b.look_up(key, p).await;
    let told = blind_answer(&found);
    scene.step("B", "SELECT by key", "0 rows", found).await;
    scene.step("B", "answers its client", "\"done\", no payment", told).await;
    Ok(scene.close(0, scratch.debits_from(too_little).await?).await)
}

/// "23505 means that the key is taken": another unique index was violated, by another key.
pub(super) async fn code_without_constraint(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene =
        Scene::open("mistake: the code without the constraint", "23505, of another index", "\"done\": a lie", pace);
    let (a, b) = scratch.set_up().await?;
    let (key, other, p, q) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    a.says("BEGIN").await;
    a.claim(other, p, "").await;
    a.debit().await;
    scene.step("A", "pays invoice 7 with key L", "1 row", a.insert_payment(p, "7").await).await;
    scene.step("A", "COMMIT", "ok", a.says("COMMIT").await).await;
    scene.step("B", "BEGIN", "ok", b.says("BEGIN").await).await;
    scene.step("B", "INSERT key K", "1 row", b.claim(key, q, "").await).await;
    scene
        .step("B", "INSERT payment of invoice 7", "23505 on payments_invoice_key", b.insert_payment(q, "7").await)
        .await;
    scene.step("B", "catches 23505, ROLLBACK", "ok", b.says("ROLLBACK").await).await;
    let found = b.look_up(key, q).await;
    let told = blind_answer(&found);
    scene.step("B", "SELECT by key K", "0 rows", found).await;
    scene.step("B", "answers its client", "\"done\", no payment", told).await;
    Ok(scene.close(1, scratch.debits().await?).await)
}

/// The look-up inside the transaction that 23505 has aborted; its COMMIT then reports success and keeps nothing.
pub(super) async fn select_in_the_aborted_transaction(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene = Scene::open("mistake: SELECT in the aborted transaction", "25P02", "500, although paid", pace);
    let (a, b) = scratch.set_up().await?;
    let (key, other, p, q) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    scene.step("A", "BEGIN", "ok", a.says("BEGIN").await).await;
    scene.step("A", "INSERT key K", "1 row", a.claim(key, p, "").await).await;
    scene.step("B", "BEGIN", "ok", b.says("BEGIN").await).await;
    scene.step("B", "INSERT something of its own", "1 row", b.claim(other, q, "").await).await;
    let waiting = b.claim_later(key, q, "");
    scene.step("B", "INSERT key K", WAITS, scratch.until_blocked(b.pid, a.pid).await?).await;
    scene.step("A", "UPDATE balance", "1 row", a.debit().await).await;
    scene.step("A", "COMMIT", "ok", a.says("COMMIT").await).await;
    scene.step("B", "INSERT key K ends", "23505 on keys_pkey", waiting.await?).await;
    scene.step("B", "SELECT by key, no ROLLBACK", "25P02", b.look_up(key, p).await).await;
    scene.step("B", "COMMIT reports success", "ok", b.says("COMMIT").await).await;
    scene.step("B", "SELECT what it inserted", "0 rows", b.look_up(other, q).await).await;
    Ok(scene.close(1, scratch.debits().await?).await)
}

/// ON CONFLICT in REPEATABLE READ: the winner's row is outside the snapshot, so the lost race is an error again.
pub(super) async fn repeatable_read(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene = Scene::open("mistake: REPEATABLE READ", "40001", "500, or the whole transaction again", pace);
    let (a, b) = scratch.set_up().await?;
    let (key, p, q) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ";
    let tail = "ON CONFLICT (key) DO NOTHING";
    scene.step("A", "BEGIN, REPEATABLE READ", "ok", a.says(begin).await).await;
    scene.step("B", "BEGIN, REPEATABLE READ", "ok", b.says(begin).await).await;
    scene.step("A", "INSERT key K … DO NOTHING", "1 row", a.claim(key, p, tail).await).await;
    let waiting = b.claim_later(key, q, tail);
    scene.step("B", "INSERT key K … DO NOTHING", WAITS, scratch.until_blocked(b.pid, a.pid).await?).await;
    scene.step("A", "UPDATE balance", "1 row", a.debit().await).await;
    scene.step("A", "COMMIT", "ok", a.says("COMMIT").await).await;
    scene.step("B", "INSERT key K ends", "40001", waiting.await?).await;
    scene.step("B", "ROLLBACK", "ok", b.says("ROLLBACK").await).await;
    Ok(scene.close(1, scratch.debits().await?).await)
}

//! The two ways to lose a race and still answer rightly, step by step.

use anyhow::Result;
use uuid::Uuid;

use super::scene::Scene;
use super::scratch::Scratch;
use crate::commands::lab::stage::Pace;

/// The wait at the unique index: for the transaction that inserted the same key.
pub(super) const WAITS: &str = "waits for A (transactionid)";

/// What a worker may answer, by what its look-up found.
fn answer(found: &str) -> &'static str {
    if found == "payment P" { "200 P" } else { "500" }
}

/// A plain INSERT: the loser's error is caught by code and constraint, and the look-up is a new transaction.
pub(super) async fn plain_insert(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene = Scene::open("plain INSERT", "23505 on keys_pkey", "200 P, after ROLLBACK and a new SELECT", pace);
    let (a, b) = scratch.set_up().await?;
    let (key, p, q) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    scene.step("A", "BEGIN", "ok", a.says("BEGIN").await).await;
    scene.step("B", "BEGIN", "ok", b.says("BEGIN").await).await;
    scene.step("A", "INSERT key K", "1 row", a.claim(key, p, "").await).await;
    let waiting = b.claim_later(key, q, "");
    scene.step("B", "INSERT key K", WAITS, scratch.until_blocked(b.pid, a.pid).await?).await;
    scene.step("A", "UPDATE balance", "1 row", a.debit().await).await;
    scene.step("A", "INSERT payment P", "1 row", a.insert_payment(p, "invoice").await).await;
    let committed = a.says("COMMIT").await;
    let told_by_a = if committed == "ok" { "200 P" } else { "500" };
    scene.step("A", "COMMIT", "ok", committed).await;
    let lost = waiting.await?;
    let caught = lost == "23505 on keys_pkey";
    scene.step("B", "INSERT key K ends", "23505 on keys_pkey", lost).await;
    scene.step("B", "ROLLBACK", "ok", b.says("ROLLBACK").await).await;
    // Only this code and this constraint lead to the look-up.
    let found = if caught { b.look_up(key, p).await } else { "not looked up".to_owned() };
    let told_by_b = answer(&found);
    scene.step("B", "SELECT by key, a new transaction", "payment P", found).await;
    scene.step("A", "answers its client", "200 P", told_by_a).await;
    scene.step("B", "answers its client", "200 P", told_by_b).await;
    Ok(scene.close(1, scratch.debits().await?).await)
}

/// ON CONFLICT DO NOTHING: no error, no row; the next statement of the same transaction sees the winner.
pub(super) async fn on_conflict(scratch: &Scratch, pace: Pace) -> Result<Scene> {
    let mut scene = Scene::open("ON CONFLICT DO NOTHING", "0 rows", "200 P, after a fresh SELECT", pace);
    let (a, b) = scratch.set_up().await?;
    let (key, p, q) = (Uuid::new_v4(), Uuid::new_v4(), Uuid::new_v4());
    let tail = "ON CONFLICT (key) DO NOTHING";
    scene.step("A", "BEGIN", "ok", a.says("BEGIN").await).await;
    scene.step("B", "BEGIN", "ok", b.says("BEGIN").await).await;
    scene.step("A", "INSERT key K … DO NOTHING", "1 row", a.claim(key, p, tail).await).await;
    let waiting = b.claim_later(key, q, tail);
    scene.step("B", "INSERT key K … DO NOTHING", WAITS, scratch.until_blocked(b.pid, a.pid).await?).await;
    scene.step("A", "UPDATE balance", "1 row", a.debit().await).await;
    scene.step("A", "INSERT payment P", "1 row", a.insert_payment(p, "invoice").await).await;
    let committed = a.says("COMMIT").await;
    let told_by_a = if committed == "ok" { "200 P" } else { "500" };
    scene.step("A", "COMMIT", "ok", committed).await;
    scene.step("B", "INSERT key K ends", "0 rows", waiting.await?).await;
    let found = b.look_up(key, p).await;
    let told_by_b = answer(&found);
    scene.step("B", "SELECT by key, same transaction", "payment P", found).await;
    scene.step("B", "COMMIT", "ok", b.says("COMMIT").await).await;
    scene.step("A", "answers its client", "200 P", told_by_a).await;
    scene.step("B", "answers its client", "200 P", told_by_b).await;
    Ok(scene.close(1, scratch.debits().await?).await)
}

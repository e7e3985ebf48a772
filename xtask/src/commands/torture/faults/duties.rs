//! What operators do while others pay: purge, rotation, migration, slots, top-ups.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::time::sleep;

use super::Scene;
use crate::commands::torture::dump;
use crate::fixtures;
use crate::signing::Credentials;
use crate::stack::{lambda_apis, postgres};

/// Keys that are made old each time.
const KEYS: i64 = 40;

/// Makes keys old that clients may still ask for, and lets the scheduled function purge.
pub(super) async fn purge(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let ledger = postgres::connect(&scene.owner_url).await?;
    dump::make_keys_old(&ledger, rng.i64(1..=KEYS)).await?;
    let purged = lambda_apis::invoke(scene.target.port, "purge_expired_keys").await?;
    let keys = purged.get("keys").and_then(Value::as_u64).with_context(|| format!("the purge says {purged}"))?;
    scene.counts.add("purge_run", 1);
    scene.counts.add("key_purged", keys);
    Ok(())
}

/// Issues the next version of a tenant's signing key, hands it out, and retires all before it while tries signed with
/// them are still on their way.
pub(super) async fn rotate_secret(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let ledger = postgres::connect(&scene.owner_url).await?;
    let tenant = rng.usize(0..scene.world.tenants());
    let id = scene.world.tenant(tenant);
    let mut versions = scene.versions.lock().await;
    let version = versions.get_mut(tenant).context("no such tenant")?;
    let next = *version + 1;
    // The same version again after a failure: whether it was registered then makes no difference.
    let credentials = Credentials::issue(&scene.target.masters.setting(), id, u32::try_from(next)?)?;
    fixtures::ensure_signing_key(&ledger, id, next).await?;
    scene.world.hand_out(tenant, credentials);
    *version = next;
    sleep(Duration::from_millis(rng.u64(50..500))).await;
    let retire =
        "UPDATE signing_keys SET retired_at = now() WHERE tenant_id = $1 AND version < $2 AND retired_at IS NULL";
    ensure!(ledger.execute(retire, &[&id, &next]).await? > 0, "nothing to retire");
    scene.counts.add("secret_rotated", 1);
    Ok(())
}

/// Puts the other master secret first, and starts every process that serves anew, one after the other.
pub(super) async fn rotate_master(scene: &Scene) -> Result<()> {
    scene.target.masters.rotate();
    for program in scene.target.serving {
        for place in 0..scene.target.fleet.count(program) {
            scene.target.fleet.kill(program, place);
            sleep(Duration::from_millis(100)).await;
        }
    }
    scene.counts.add("master_secret_rotated", 1);
    Ok(())
}

/// Invokes the function `migrate`, as a deployment does.
pub(super) async fn migrate(scene: &Scene) -> Result<()> {
    let migrated = lambda_apis::invoke(scene.target.port, "migrate").await?;
    ensure!(migrated.get("version").is_some(), "migrate says {migrated}");
    scene.counts.add("migrated", 1);
    Ok(())
}

/// Changes the number of slots that an account's balance lies in, of rich and of poor ones.
pub(super) async fn split(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let ledger = postgres::connect(&scene.owner_url).await?;
    let poor = rng.bool();
    let account = rng.choice(scene.world.accounts(poor)).context("no account")?;
    let slots = rng.i16(1..=16);
    let changed = "UPDATE accounts SET slots = $2 WHERE id = $1 AND slots <> $2";
    ensure!(ledger.execute(changed, &[&account, &slots]).await? == 1, "it had as many");
    scene.counts.add("slots_changed", 1);
    Ok(())
}

/// Pays in to an account that runs out of money.
pub(super) async fn top_up(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let mut ledger = postgres::connect(&scene.owner_url).await?;
    let account = rng.choice(scene.world.accounts(true)).context("no account")?;
    let transaction = ledger.transaction().await?;
    dump::top_up(&transaction, account, rng.i64(1..10_000)).await?;
    transaction.commit().await?;
    Ok(())
}

//! The database that loses sessions, crashes, locks, has no session or no byte left.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::time::{Instant, sleep};
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::Scene;
use crate::commands::torture::dump;
use crate::stack::postgres;

/// In the report.
pub(super) const DISK_FULL: &str = "disk_full";
const TERMINATE: &str = "
    SELECT count(*) FILTER (WHERE pg_terminate_backend(pid))
      FROM (SELECT pid FROM pg_stat_activity WHERE usename = 'payments_app' ORDER BY random() LIMIT $1) s";
/// More than the server takes.
const SESSIONS: usize = 100;
const FILLING: &str = "INSERT INTO torture.filling (content) SELECT repeat('x', 1000) FROM generate_series(1, 100)";
/// How long a full disk may go unnoticed.
const NOTICE: Duration = Duration::from_secs(3);

/// Ends sessions of the functions, in the middle of whatever they do.
pub(super) async fn terminate(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let ledger = postgres::connect(&scene.owner_url).await?;
    let ended = terminate_some(&ledger, rng.i64(1..=4)).await?;
    scene.counts.add("backend_terminated", ended);
    Ok(())
}

async fn terminate_some(ledger: &Client, sessions: i64) -> Result<u64> {
    let ended: i64 = ledger.query_one(TERMINATE, &[&sessions]).await?.try_get(0)?;
    Ok(u64::try_from(ended)?)
}

/// Ends the server at once and lets it recover. One that does not come back leaves everybody without an answer, which
/// the verdict tells.
pub(super) async fn crash(scene: &Scene) -> Result<()> {
    let mut server = scene.postgres.lock().await;
    server.crash_and_restart().await.inspect_err(|error| eprintln!("  PostgreSQL did not recover: {error:#}"))?;
    scene.counts.add("database_crashed", 1);
    Ok(())
}

/// Holds an account's lock for longer than the role's `lock_timeout`, with a top-up that is committed or taken back.
pub(super) async fn hold_lock(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let mut ledger = postgres::connect(&scene.owner_url).await?;
    let account = rng.choice(scene.world.accounts(false)).context("no account")?;
    let transaction = ledger.transaction().await?;
    dump::top_up(&transaction, account, rng.i64(1..1_000)).await?;
    sleep(Duration::from_millis(rng.u64(2_200..3_200))).await;
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let waiting: i64 = transaction.query_one(waiting, &[]).await?.try_get(0)?;
    if rng.bool() {
        transaction.commit().await?;
    } else {
        transaction.rollback().await?;
    }
    ensure!(waiting > 0, "nobody waited");
    scene.counts.add("lock_held", 1);
    Ok(())
}

/// Takes every session that the server has to give, and ends those of the functions.
pub(super) async fn crowd(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let ledger = postgres::connect(&scene.owner_url).await?;
    let end = Instant::now() + Duration::from_millis(rng.u64(700..2_000));
    let mut taken = Vec::new();
    let mut refused = false;
    while Instant::now() < end {
        match tokio_postgres::connect(&scene.app_url, tokio_postgres::NoTls).await {
            Ok((client, connection)) if taken.len() < SESSIONS => {
                tokio::spawn(connection);
                taken.push(client);
            }
            Err(error) if error.code() == Some(&SqlState::TOO_MANY_CONNECTIONS) => {
                if !refused {
                    end_others(&ledger, &taken).await?;
                }
                refused = true;
                sleep(Duration::from_millis(20)).await;
            }
            Ok(_) => anyhow::bail!("there is room for more than {SESSIONS} sessions"),
            Err(error) => return Err(error.into()),
        }
    }
    ensure!(refused, "there was room to the end");
    scene.counts.add("connection_limit_reached", 1);
    Ok(())
}

/// Those of the functions are known by their name.
async fn end_others(ledger: &Client, taken: &[Client]) -> Result<()> {
    ensure!(!taken.is_empty(), "no session was free");
    let others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'payments'";
    ledger.execute(others, &[]).await?;
    Ok(())
}

/// Leaves no byte on the file system of the ledger, until somebody has noticed and a while longer.
pub(super) async fn fill_disk(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let disk = scene.disk.as_ref().context("no small file system")?;
    let _server = scene.postgres.lock().await;
    let ledger = postgres::connect(&scene.owner_url).await?;
    let ballast = tokio::task::block_in_place(|| disk.fill())?;
    let noticed = wait_for_full_disk(&ledger).await;
    if noticed.is_ok() {
        sleep(Duration::from_millis(rng.u64(200..1_000))).await;
        scene.counts.add(DISK_FULL, 1);
    }
    drop(ballast);
    ledger.batch_execute("TRUNCATE torture.filling").await?;
    noticed
}

async fn wait_for_full_disk(ledger: &Client) -> Result<()> {
    let deadline = Instant::now() + NOTICE;
    loop {
        match ledger.execute(FILLING, &[]).await {
            Err(error) if error.code() == Some(&SqlState::DISK_FULL) => return Ok(()),
            Err(error) => return Err(error.into()),
            Ok(_) => ensure!(Instant::now() < deadline, "there was room to the end"),
        }
    }
}

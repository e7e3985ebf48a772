//! `cargo xtask lab trade-offs`: what one call of each guard costs on this machine, one after the other on one connection.
//!
//! Figures for `docs/trade-offs.md`. They compare guards; they say nothing of a network or of load.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, anyhow, ensure};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use http::request::Parts;
use payments::auth::Authenticator;
use payments::auth::http_signature::Nonce;
use payments::config::{DatabaseConfig, MigrationConfig};
use payments::domain::{
    Caller, Idempotency, IdempotencyKey, Invocation, MinorUnits, RecipientId, TenantId, Withdrawal,
};
use payments::ports::{CreatePayment as _, GetPayment as _, LedgerAnswer, LookUp};
use payments::repositories::{Database, PostgresLedger, migrations};
use redis::aio::MultiplexedConnection;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::fixtures::{self, Tenant};
use crate::signing::Credentials;
use crate::stack::functions::LOCAL_MASTER_SECRETS;
use crate::stack::ports;
use crate::stack::postgres::{self, Cluster, Postgres};
use crate::stack::redis::Redis;
use crate::tools;
use crate::{report, workspace};

const BODY: &[u8] = br#"{"amount":1,"recipient_id":"00000000-0000-0000-0000-000000000000"}"#;
/// Releases a lock only if it is still one's own: the documented way, in one step.
const RELEASE: &str =
    "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) else return 0 end";

/// What a call of one guard took.
#[derive(Serialize)]
struct Measured {
    guard: &'static str,
    calls: usize,
    /// Network round trips of one call.
    round_trips: u32,
    p50_us: f64,
    p99_us: f64,
}

/// Measures each guard and prints the table.
pub(super) async fn run(quick: bool) -> Result<()> {
    println!("tools");
    let binaries = tools::postgres::provide()?;
    let redis = tools::redis::provide()?;
    println!("stack\n  {}", binaries.origin);
    let port = ports::free()?;
    let cluster = Cluster { name: "trade-offs-postgres", stack: "lab-trade-offs", port, durable: true, keep: false };
    let server = Postgres::start(&binaries, &cluster).await?;
    let redis = Redis::start(&redis, "lab-trade-offs").await?;
    let calls = if quick { 200 } else { 5_000 };
    let mut measured = vec![in_memory(calls).await?, signature(calls).await?];
    measured.extend(through_redis(&redis, calls).await?);
    measured.extend(through_postgres(&server, calls).await?);
    println!("\n{}", table(&measured));
    let build = if cfg!(debug_assertions) { "debug" } else { "release" };
    println!("{calls} calls each, one after the other, loopback, {build} build");
    let figures = json!({ "build": build, "guards": measured });
    println!("report: {}", workspace::shown(&report::write("lab-trade-offs", &figures)?));
    Ok(())
}

async fn measure<F: Future<Output = Result<()>> + Send>(
    guard: &'static str,
    round_trips: u32,
    calls: usize,
    call: impl Fn() -> F + Send,
) -> Result<Measured> {
    for _ in 0..calls / 10 {
        call().await.context(guard)?;
    }
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let started = Instant::now();
        call().await.context(guard)?;
        times.push(started.elapsed());
    }
    times.sort_unstable();
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default().as_secs_f64() * 1e6;
    Ok(Measured { guard, calls, round_trips, p50_us: at(50), p99_us: at(99) })
}

async fn in_memory(calls: usize) -> Result<Measured> {
    let seen: Mutex<HashMap<Uuid, Uuid>> = Mutex::default();
    measure("memory of one process: claim", 0, calls, || async {
        let mut seen = seen.lock().map_err(|_| anyhow!("the map is poisoned"))?;
        ensure!(seen.insert(Uuid::new_v4(), Uuid::nil()).is_none());
        Ok(())
    })
    .await
}

async fn signature(calls: usize) -> Result<Measured> {
    let authenticator = Authenticator::hmac(LOCAL_MASTER_SECRETS.parse()?);
    let request = signed_request()?;
    measure("HMAC signature: verify", 0, calls, || async {
        authenticator.authenticate(&request, BODY)?;
        Ok(())
    })
    .await
}

fn signed_request() -> Result<Parts> {
    let request = http::Request::post("/api/v1/payments")
        .header("content-type", "application/json")
        .header("idempotency-key", Uuid::new_v4().to_string())
        .body(())?;
    let (mut parts, ()) = request.into_parts();
    let created = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())?;
    Credentials::local(Uuid::new_v4())?.into_signer().sign(&mut parts, BODY, created, &Nonce::random())?;
    Ok(parts)
}

async fn through_redis(server: &Redis, calls: usize) -> Result<[Measured; 3]> {
    let client = redis::Client::open(server.url())?;
    let connection = client.get_multiplexed_async_connection().await?;
    ask(&connection, redis::cmd("SET").arg("known").arg(Uuid::nil().to_string())).await?;
    let look = measure("Redis: GET of a known key", 1, calls, || async {
        ensure!(ask(&connection, redis::cmd("GET").arg("known")).await? != redis::Value::Nil);
        Ok(())
    })
    .await?;
    let claim = measure("Redis: SET NX EX, claim", 1, calls, || async {
        let key = Uuid::new_v4().to_string();
        let answer = ask(&connection, redis::cmd("SET").arg(key).arg("1").arg("NX").arg("EX").arg(86_400)).await?;
        ensure!(answer != redis::Value::Nil);
        Ok(())
    })
    .await?;
    let held = measure("Redis: lock and release", 2, calls, || async {
        let owner = Uuid::new_v4().to_string();
        ask(&connection, redis::cmd("SET").arg("lock").arg(&owner).arg("NX").arg("PX").arg(10_000)).await?;
        let released = ask(&connection, redis::cmd("EVAL").arg(RELEASE).arg(1).arg("lock").arg(&owner)).await?;
        ensure!(released == redis::Value::Int(1));
        Ok(())
    })
    .await?;
    Ok([look, claim, held])
}

async fn ask(connection: &MultiplexedConnection, command: &redis::Cmd) -> Result<redis::Value> {
    Ok(command.query_async(&mut connection.clone()).await?)
}

async fn through_postgres(server: &Postgres, calls: usize) -> Result<[Measured; 3]> {
    let (ledger, caller) = prepare(server).await?;
    let known = IdempotencyKey::parse(b"known").context("the key")?;
    let payment = known.stored(caller.tenant).payment_id();
    let withdrawal =
        Withdrawal { account: None, recipient: RecipientId(Uuid::nil()), amount: MinorUnits::new(1)?, currency: None };
    let settled = Idempotency::Keyed(known);
    ledger.create_payment(&caller, &withdrawal, &settled, &invocation()).await?;
    let look = measure("PostgreSQL: look-up of a payment", 1, calls, || async {
        let found = ledger.get_payment(&caller, payment, &invocation()).await?;
        ensure!(matches!(found, LookUp::Found(_)));
        Ok(())
    })
    .await?;
    let replay = measure("PostgreSQL: replay of a payment", 1, calls, || async {
        let invocation = invocation();
        ensure!(matches!(
            ledger.create_payment(&caller, &withdrawal, &settled, &invocation).await?,
            LedgerAnswer::Found(_)
        ));
        ensure!(invocation.round_trips() == 1);
        Ok(())
    })
    .await?;
    let new = measure("PostgreSQL: new payment, claim, debit and durable commit", 1, calls, || async {
        let (key, invocation) = (IdempotencyKey::parse(Uuid::new_v4().to_string().as_bytes())?, invocation());
        let key = Idempotency::Keyed(key);
        ensure!(matches!(
            ledger.create_payment(&caller, &withdrawal, &key, &invocation).await?,
            LedgerAnswer::Created(_)
        ));
        ensure!(invocation.round_trips() == 1);
        Ok(())
    })
    .await?;
    Ok([look, replay, new])
}

/// A ledger on one connection, and a tenant who can pay for all calls.
async fn prepare(server: &Postgres) -> Result<(PostgresLedger, Caller)> {
    server.ensure_database("payments").await?;
    let owner_url = server.url("payments");
    migrations::run(&MigrationConfig::with_url(owner_url.clone())).await?;
    let owner = postgres::connect(&owner_url).await?;
    let tenant = Tenant { id: Uuid::new_v4(), name: "lab", account: Uuid::new_v4() };
    tenant.ensure(&owner, 1_000_000).await?;
    let url = fixtures::app_url(&owner, &owner_url, fixtures::APP_PASSWORD).await?;
    let config = DatabaseConfig::with_url(url, 1);
    Ok((PostgresLedger::new(Database::new(&config)?), Caller::internal(TenantId(tenant.id))))
}

fn invocation() -> Invocation {
    Invocation::new("lab".to_owned(), Duration::from_secs(20))
}

fn table(measured: &[Measured]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["guard", "round trips", "p50 µs", "p99 µs"]);
    for row in measured {
        let figures = [row.round_trips.to_string(), format!("{:.1}", row.p50_us), format!("{:.1}", row.p99_us)];
        table.add_row(std::iter::once(row.guard.to_owned()).chain(figures));
    }
    for index in 1..4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

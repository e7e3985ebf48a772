//! The function's first answer beside a hello world's: from the start of the process, through a stand-in for Lambda's
//! runtime API.
//!
//! The function starts as it is deployed: encrypted, with tokens, towards a pgbouncer that stands in for RDS Proxy, whose
//! session with PostgreSQL is warm. Judged is the first 200 without the wait for a connection. Told with it: an answer that
//! needs no database, and a 200 over a new session of PostgreSQL, whose first statement reads the catalogue.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Found;
use super::driver::{Subject, in_turn};
use super::row::{Row, Target};
use super::samples::Samples;
use super::stage::{DATABASE, STACK, Stage};
use crate::fixtures::{APP_PASSWORD, APP_ROLE};
use crate::stack::pgbouncer::{PgBouncer, Server};
use crate::tools;

/// Times are in milliseconds, as the driver tells them.
#[derive(Clone, Deserialize)]
struct Started {
    status: u16,
    total_ms: f64,
    handling_ms: f64,
    connect_ms: f64,
}

/// What is started, and with which event.
#[derive(Clone, Copy)]
enum Program {
    /// A payment through the proxy.
    Payment,
    /// A payment over a new session of PostgreSQL, plainly.
    NewSession,
    /// A request without a key, which is refused before the database is asked.
    Refusal,
    /// The reference.
    HelloWorld,
}

const PROGRAMS: [Program; 4] = [Program::Payment, Program::NewSession, Program::Refusal, Program::HelloWorld];

/// Starts each again and again.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let server = Server { port: stage.port, database: DATABASE, user: APP_ROLE, password: APP_PASSWORD };
    let proxy = PgBouncer::start(&tools::pgbouncer::provide()?, STACK, &server).await?;
    let deployed = deploy(&stage.release)?;
    let starts = PROGRAMS.map(|program| Start { stage, deployed: &deployed, proxy: &proxy, program });
    // The proxy's session is new at first, and no program is in memory.
    in_turn("cold start, not counted", 2, &starts).await?;
    let what = "cold start (payment, payment over a new session, refusal, hello world)";
    let started = in_turn(what, stage.pace.starts, &starts).await?;
    let mut found = Found { rows: rows(&started)?, ..Found::default() };
    let parts: Vec<Value> = started.iter().map(|starts| parts(starts)).collect();
    let [payment, new_session, refusal, hello_world] = &parts[..] else { bail!("a start was not measured") };
    println!("  a payment's parts: {payment}\n  over a new session: {new_session}");
    let parts =
        json!({ "payment": payment, "new_session": new_session, "refusal": refusal, "hello_world": hello_world });
    found.figures.insert("cold_start".to_owned(), parts);
    let sizes = sizes(&stage.release)?;
    println!("  binaries in bytes: {sizes}");
    found.figures.insert("binary_bytes".to_owned(), sizes);
    Ok(found)
}

fn rows(started: &[Vec<Started>]) -> Result<Vec<Row>> {
    let [payment, new_session, refusal, hello] = started else { bail!("a start was not measured") };
    let hello = samples(hello, |start| start.total_ms);
    let row = |name, starts: &[Started], time: fn(&Started) -> f64, target| {
        Row::new(name, "ms", &samples(starts, time), &hello, target)
    };
    let without_connecting = |start: &Started| start.total_ms - start.connect_ms;
    let total = |start: &Started| start.total_ms;
    Ok(vec![
        row(
            "cold start to the first 200, connecting taken off, beside hello world",
            payment,
            without_connecting,
            Target::AtMost(1.5),
        ),
        row("cold start to the first 200, connecting included, beside hello world", payment, total, Target::None),
        row(
            "cold start to the first answer, without the database, beside hello world",
            refusal,
            total,
            Target::AtMost(1.5),
        ),
        row(
            "cold start to the first 200 over a new session of PostgreSQL, connecting taken off, beside hello world",
            new_session,
            without_connecting,
            Target::None,
        ),
    ])
}

fn samples(starts: &[Started], time: fn(&Started) -> f64) -> Samples {
    starts.iter().map(time).collect()
}

/// What a start consists of: up to the event, the wait for a connection, and the rest of the request.
fn parts(starts: &[Started]) -> Value {
    let median = |time| samples(starts, time).summary();
    json!({
        "to_the_event_ms": median(|start| start.total_ms - start.handling_ms),
        "connecting_ms": median(|start| start.connect_ms),
        "request_ms": median(|start| start.handling_ms - start.connect_ms),
    })
}

/// Copies of the binaries, written from beginning to end as an unpacked package is. What a linker has written in pieces
/// starts slower, the more so the larger it is.
fn deploy(release: &Path) -> Result<PathBuf> {
    let deployed = release.join("deployed");
    fs::create_dir_all(&deployed)?;
    for name in ["create_payment", "hello_world"] {
        fs::copy(release.join(name), deployed.join(name)).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(deployed)
}

/// A start of one of them.
struct Start<'a> {
    stage: &'a Stage,
    deployed: &'a Path,
    proxy: &'a PgBouncer,
    program: Program,
}

impl Subject for Start<'_> {
    type Seen = Started;

    fn measure(&self) -> BoxFuture<'_, Result<Started>> {
        Box::pin(self.start())
    }

    fn shown(seen: &Started) -> String {
        format!("{:.1} ms", seen.total_ms)
    }
}

impl Start<'_> {
    async fn start(&self) -> Result<Started> {
        let (program, status) = match self.program {
            Program::Payment | Program::NewSession => ("create_payment", 200),
            Program::Refusal => ("create_payment", 400),
            Program::HelloWorld => ("hello_world", 200),
        };
        let mut arguments = vec!["cold-start".to_owned(), "--function".to_owned()];
        arguments.push(self.deployed.join(program).display().to_string());
        arguments.extend((status == 400).then(|| "--without-database".to_owned()));
        let started: Started = self.stage.driver.call(&arguments, &self.variables()).await?;
        ensure!(started.status == status, "{program} answered {} instead of {status}", started.status);
        Ok(started)
    }

    /// What `template.yaml` sets, with a key that opens nothing.
    fn variables(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("AUTH_MODE", "internal".to_owned()),
            ("SSL_CERT_FILE", "/dev/null".to_owned()),
            ("SSL_CERT_DIR", "/nonexistent".to_owned()),
        ];
        if matches!(self.program, Program::NewSession) {
            variables.push(("DATABASE_URL", self.stage.app_url.clone()));
            return variables;
        }
        if matches!(self.program, Program::Payment) {
            // The one setting that a deployed function does without: RDS Proxy's root is embedded.
            variables.push(("DATABASE_CA_FILE", self.proxy.ca_file().display().to_string()));
        }
        variables.extend([
            ("DATABASE_URL", self.proxy.url().to_owned()),
            ("DATABASE_IAM_AUTH", "true".to_owned()),
            ("AWS_REGION", "eu-central-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "of-no-account".to_owned()),
            ("AWS_SESSION_TOKEN", "of-no-session".to_owned()),
        ]);
        variables
    }
}

fn sizes(release: &Path) -> Result<Value> {
    let size = |name: &str| -> Result<u64> {
        Ok(fs::metadata(release.join(name)).with_context(|| format!("{name} is not built"))?.len())
    };
    Ok(json!({
        "create_payment": size("create_payment")?, "hello_world": size("hello_world")?, "server": size("server")?,
    }))
}

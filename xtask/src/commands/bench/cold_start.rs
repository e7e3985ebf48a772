//! The function's first answer beside a hello world's: from the start of the process, through a stand-in for Lambda's
//! runtime API. Judged is an answer that needs no database, a 400, which has started everything but a connection. The first
//! 200 is told with it, with what connecting took and without: the rest is PostgreSQL's first statement on that connection.

use std::fs;
use std::path::Path;

use anyhow::{Result, bail, ensure};
use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::Found;
use super::driver::{Subject, in_turn};
use super::row::{Row, Target};
use super::samples::Samples;
use super::stage::Stage;

#[derive(Clone, Deserialize)]
struct Started {
    status: u16,
    total_ms: f64,
    connect_ms: f64,
}

/// What is started, and with which event.
#[derive(Clone, Copy)]
enum Program {
    /// A payment, which connects.
    Payment,
    /// A request without a key, which is refused before the database is asked.
    Refusal,
    /// The reference.
    HelloWorld,
}

/// Starts each again and again.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let starts = [Program::Payment, Program::Refusal, Program::HelloWorld].map(|program| Start { stage, program });
    let what = "cold start (payment, refusal, hello world)";
    let [payment, refusal, hello] = &in_turn(what, stage.pace.starts, &starts).await?[..] else {
        bail!("a start was not measured");
    };
    let total = |starts: &[Started]| starts.iter().map(|start| start.total_ms).collect::<Samples>();
    let connect: Samples = payment.iter().map(|start| start.connect_ms).collect();
    let without_connect: Samples = payment.iter().map(|start| start.total_ms - start.connect_ms).collect();
    let hello = total(hello);
    let row = |name, ours: &Samples, target| Row::new(name, "ms", ours, &hello, target);
    let mut found = Found::default();
    found.rows.extend([
        row("cold start to the first 200, connecting taken off, beside hello world", &without_connect, Target::None),
        row("cold start to the first 200, connecting included, beside hello world", &total(payment), Target::None),
        row(
            "cold start to the first answer, without the database, beside hello world",
            &total(refusal),
            Target::AtMost(1.5),
        ),
        row("connecting to the database, beside hello world's start", &connect, Target::None),
    ]);
    let size = |name: &str| size(&stage.release.join(name));
    let sizes = json!({
        "create_payment": size("create_payment")?, "hello_world": size("hello_world")?, "server": size("server")?,
    });
    println!("  binaries in bytes: {sizes}");
    found.figures.insert("binary_bytes".to_owned(), sizes);
    Ok(found)
}

/// A start of one of them.
struct Start<'a> {
    stage: &'a Stage,
    program: Program,
}

impl Subject for Start<'_> {
    type Seen = Started;

    fn measure(&self) -> BoxFuture<'_, Result<Started>> {
        Box::pin(start(self.stage, self.program))
    }

    fn shown(seen: &Started) -> String {
        format!("{:.1} ms", seen.total_ms)
    }
}

async fn start(stage: &Stage, program: Program) -> Result<Started> {
    let (program, refused, status) = match program {
        Program::Payment => ("create_payment", false, 200),
        Program::Refusal => ("create_payment", true, 400),
        Program::HelloWorld => ("hello_world", false, 200),
    };
    let mut arguments = vec!["cold-start".to_owned(), "--function".to_owned()];
    arguments.push(stage.release.join(program).display().to_string());
    arguments.extend(refused.then(|| "--without-database".to_owned()));
    let variables = [("DATABASE_URL", stage.app_url.clone()), ("AUTH_MODE", "internal".to_owned())];
    let started: Started = stage.driver.call(&arguments, &variables).await?;
    ensure!(started.status == status, "{program} answered {} instead of {status}", started.status);
    Ok(started)
}

fn size(program: &Path) -> Result<u64> {
    Ok(fs::metadata(program)?.len())
}

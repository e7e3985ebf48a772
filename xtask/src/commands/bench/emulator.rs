//! The emulator's ceiling: a function that does nothing and one that pays, both behind `cargo lambda watch`. Where the two
//! are close, what is measured behind the emulator is the emulator. Reported, never judged.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use anyhow::{Result, bail};
use futures_util::future::BoxFuture;
use serde_json::json;

use super::Found;
use super::driver::{Driver, Kind, Load, PAYMENTS, Subject, in_turn};
use super::row::{Row, Target};
use super::servers::silent;
use super::stage::{CONNECTIONS, STACK, Stage};
use crate::stack::fleet::{Fleet, Program, Recipe};
use crate::stack::functions::AuthMode;
use crate::stack::lambda_apis::LambdaApis;
use crate::tools::pypi;
use crate::workspace;

/// Processes of each function: one for each connection, as Lambda would have, with one connection to the database each.
const PROCESSES: usize = CONNECTIONS as usize;
const PAYING: &str = "create_payment";
const HELLO: &str = "hello_world";

/// Measures.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let apis = LambdaApis::start(&pypi::CARGO_LAMBDA.provide()?, STACK).await?;
    let programs = [PAYING, HELLO].map(|name| function(stage, &apis, name));
    let _fleet = Fleet::start(&programs, &workspace::logs(STACK).join("emulator-functions.log"))?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, apis.port()));
    // The router knows the payments' route; any function answers under its own name.
    let loads = [PAYMENTS.to_owned(), format!("/lambda-url/{HELLO}/")];
    let loads = loads.map(|path| Behind { driver: &stage.driver, address, path });
    let what = "behind the emulator (create_payment, hello world)";
    let [paying, hello] = &in_turn(what, stage.pace.rounds, &loads).await?[..] else {
        bail!("a function was not measured");
    };
    let name = "create_payment behind the emulator, beside hello world there";
    let mut found = Found::default();
    let (ours, theirs) = (Load::throughputs(paying), Load::throughputs(hello));
    found.rows.push(Row::new(name, "answers/s", &ours, &theirs, Target::None));
    let loads = json!({ "processes": PROCESSES, "create_payment": paying, "hello_world": hello });
    found.figures.insert("behind_the_emulator".to_owned(), loads);
    Ok(found)
}

/// New payments from many accounts, sent to a path of the emulator; hello world reads none of them.
struct Behind<'a> {
    driver: &'a Driver,
    address: SocketAddr,
    path: String,
}

impl Subject for Behind<'_> {
    type Seen = Load;

    fn measure(&self) -> BoxFuture<'_, Result<Load>> {
        Box::pin(self.driver.http_at(self.address, &self.path, Kind::Spread, false, CONNECTIONS))
    }

    fn shown(seen: &Load) -> String {
        seen.shown()
    }
}

fn function(stage: &Stage, apis: &LambdaApis, name: &'static str) -> Program {
    let recipe = recipe(&stage.release.join(name), apis.environment(name), stage.app_url.clone());
    Program { name, processes: PROCESSES, recipe }
}

/// As Lambda starts it: one request at a time, statements unnamed.
fn recipe(program: &Path, environment: [(&'static str, String); 4], database_url: String) -> Recipe {
    let program = program.to_path_buf();
    Arc::new(move || -> Command {
        let mut command = silent(&program);
        command
            .envs(environment.iter().map(|(variable, value)| (variable, value)))
            .env("AUTH_MODE", AuthMode::Internal.as_str())
            .env("DATABASE_URL", &database_url);
        command
    })
}

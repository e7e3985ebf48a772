//! The parts that the labs play on: the product's stack, a broken network, Redis, the counter-example.

use std::path::PathBuf;

use anyhow::Result;

use crate::commands::slo;
use crate::fixtures;
use crate::stack::dual_write;
use crate::stack::functions::{self, AuthMode};
use crate::stack::payments::{Database, PaymentStack, Serving};
use crate::stack::ports;
use crate::stack::postgres::Cluster;
use crate::stack::toxiproxy::Toxiproxy;
use crate::tools::{self, pypi};

/// The stack whose logs folder is used.
pub(super) const STACK: &str = "lab";
/// Clients of the load, as many as the SLO's.
pub(super) const CLIENTS: u16 = 10;

/// Tools that labs need beside those of the stack.
pub(crate) struct Tools {
    /// For the load: the same as the SLO's.
    pub(super) slo: slo::Tools,
    /// The emulator, for functions that a lab starts and kills.
    pub(super) cargo_lambda: PathBuf,
    /// The memory of the counter-example.
    pub(super) redis: PathBuf,
}

impl Tools {
    /// Finds or provisions them.
    pub(crate) fn provide() -> Result<Self> {
        Ok(Self {
            slo: slo::Tools::provide()?,
            cargo_lambda: pypi::CARGO_LAMBDA.provide()?,
            redis: tools::redis::provide()?,
        })
    }
}

/// How long a lab may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As a person wants to see it.
    Full,
    /// As a test.
    Quick,
}

/// A database of the labs' own.
pub(super) async fn database() -> Result<Database> {
    let binaries = tools::postgres::provide()?;
    println!("stack\n  {}", binaries.origin);
    let cluster = Cluster { name: "lab-postgres", stack: STACK, port: ports::free()?, durable: true, keep: false };
    Database::start(&binaries, &cluster).await
}

/// Everything that a lab needs, running.
pub(super) struct Stage {
    stack: PaymentStack,
    toxiproxy: Toxiproxy,
    tools: Tools,
}

impl Stage {
    /// Starts the product and the broken network.
    pub(super) async fn start() -> Result<Self> {
        println!("tools");
        let tools = Tools::provide()?;
        let database = database().await?;
        functions::build()?;
        dual_write::build()?;
        let serving = Serving { stack: STACK, port: ports::free()?, concurrency: CLIENTS, auth_mode: AuthMode::Hmac };
        let stack = PaymentStack::start(&tools.cargo_lambda, database, &serving).await?;
        let toxiproxy = Toxiproxy::start(&tools.slo.toxiproxy, STACK).await?;
        Ok(Self { stack, toxiproxy, tools })
    }

    pub(super) fn view(&self) -> View<'_> {
        View { stack: &self.stack, toxiproxy: &self.toxiproxy, tools: &self.tools }
    }
}

/// What a lab sees of the stage.
pub(super) struct View<'a> {
    pub(super) stack: &'a PaymentStack,
    pub(super) toxiproxy: &'a Toxiproxy,
    pub(super) tools: &'a Tools,
}

impl View<'_> {
    /// The URL that the functions log in with. The server is the labs' own or the tests', with the local password.
    pub(super) async fn app_url(&self) -> Result<String> {
        fixtures::app_url(&self.stack.ledger, &self.stack.parts.database.owner_url(), fixtures::APP_PASSWORD).await
    }

    /// The same for the counter-example. Its role waits for a row as long as PostgreSQL does by default, longer than
    /// the product's: a payment that gives up by itself would hide what a slow one does.
    pub(super) async fn counter_example_url(&self) -> Result<String> {
        Ok(format!("{}?options=-c%20lock_timeout%3D20s%20-c%20statement_timeout%3D30s", self.app_url().await?))
    }
}

//! The whole payments stack: a migrated database and the functions before it.
//!
//! Composes the parts for every command that needs a stack; knows no command.

use std::path::Path;

use anyhow::{Context, Result};
use payments::config::MigrationConfig;
use payments::repositories::migrations;
use tokio_postgres::Client;

use super::functions::{AuthMode, Functions, Options};
use super::postgres::{self, Cluster, Postgres};
use crate::fixtures;
use crate::tools::postgres::Binaries;

/// The database's name on clusters of our own.
pub(crate) const DATABASE: &str = "payments";

/// Where the ledger lives.
pub(crate) enum Database {
    /// A server that somebody else runs, by its owner's URL.
    Given(String),
    /// A cluster of our own.
    Own(Box<Postgres>),
}

impl Database {
    /// Starts a cluster of our own with an empty or kept database.
    pub(crate) async fn start(binaries: &Binaries, cluster: &Cluster) -> Result<Self> {
        let server = Postgres::start(binaries, cluster).await?;
        server.ensure_database(DATABASE).await?;
        Ok(Self::Own(Box::new(server)))
    }

    /// The owner's URL.
    pub(crate) fn owner_url(&self) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Own(server) => server.url(DATABASE),
        }
    }

    /// The owner's URL for a person's eyes: a given one may carry a password.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Given(_) => "the one in DATABASE_URL".to_owned(),
            Self::Own(_) => self.owner_url(),
        }
    }

    /// A server of our own is reachable from this machine only, so its password is no secret; another's is.
    fn app_password(&self) -> String {
        match self {
            Self::Given(_) => uuid::Uuid::new_v4().simple().to_string(),
            Self::Own(_) => fixtures::APP_PASSWORD.to_owned(),
        }
    }
}

/// A running stack.
pub(crate) struct PaymentStack {
    /// What runs.
    pub(crate) parts: Parts,
    /// A connection of the ledger's owner, to look and to prepare.
    pub(crate) ledger: Client,
}

/// The parts that run. The functions end before the database does.
pub(crate) struct Parts {
    /// The functions behind the API.
    pub(crate) functions: Functions,
    /// The database.
    pub(crate) database: Database,
}

/// How to serve the functions.
pub(crate) struct Serving {
    /// The stack whose logs folder is used.
    pub(crate) stack: &'static str,
    /// The API's port.
    pub(crate) port: u16,
    /// Processes per function at most.
    pub(crate) concurrency: u16,
    /// How callers prove who they are.
    pub(crate) auth_mode: AuthMode,
}

impl PaymentStack {
    /// Migrates the database and serves the functions, which must be built.
    pub(crate) async fn start(cargo_lambda: &Path, database: Database, serving: &Serving) -> Result<Self> {
        let owner_url = database.owner_url();
        let migrated = migrations::run(&MigrationConfig::with_url(owner_url.clone()))
            .await
            .context("cannot migrate the database")?;
        println!("  schema version {} ({} migrations applied now)", migrated.version, migrated.applied.len());
        let ledger = postgres::connect(&owner_url).await?;
        let database_url = fixtures::app_url(&ledger, &owner_url, &database.app_password()).await?;
        let options = Options {
            stack: serving.stack,
            port: serving.port,
            concurrency: serving.concurrency,
            database_url,
            owner_url,
            auth_mode: serving.auth_mode,
        };
        let functions = Functions::start(cargo_lambda, &options).await?;
        Ok(Self { parts: Parts { functions, database }, ledger })
    }
}

impl Parts {
    /// Resolves with an error when a part has ended by itself.
    pub(crate) async fn broken(&mut self) -> anyhow::Error {
        let functions = self.functions.process();
        match &mut self.database {
            Database::Given(_) => functions.broken().await,
            Database::Own(server) => tokio::select! {
                error = functions.broken() => error,
                error = server.process().broken() => error,
            },
        }
    }
}

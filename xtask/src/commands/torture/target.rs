//! What is tortured: processes under a supervisor that serve the API on one port.
//!
//! The product on Lambda's runtime API here, a counter-example there; another host is one more function of this kind.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;

use super::STACK;
use crate::stack::broken;
use crate::stack::fleet::{Fleet, Program, Recipe};
use crate::stack::functions::LOCAL_MASTER_SECRETS;
use crate::stack::lambda_apis::LambdaApis;
use crate::workspace;

/// NOT A SECRET: it is published here, for local runs only.
const OTHER_MASTER_SECRET: &str = "YW5vdGhlciBsb2NhbCBtYXN0ZXI6IG5vdCBhIHNlY3JldCE=";
/// Processes that pay at once.
const PAYING: usize = 6;
/// Processes that look payments up.
const LOOKING: usize = 2;

/// The master secrets that processes are started with; the first one is what new client secrets come from.
#[derive(Clone)]
pub(super) struct Masters(Arc<Mutex<[&'static str; 2]>>);

impl Masters {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new([LOCAL_MASTER_SECRETS, OTHER_MASTER_SECRET])))
    }

    /// As the setting has them.
    pub(super) fn setting(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).join(",")
    }

    /// The second becomes the first.
    pub(super) fn rotate(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).reverse();
    }
}

/// The running target.
pub(super) struct Target {
    /// Its processes.
    pub(super) fleet: Fleet,
    /// Where it serves, on 127.0.0.1.
    pub(super) port: u16,
    /// The programs that serve the API; the first one pays.
    pub(super) serving: &'static [&'static str],
    /// The master secrets of its processes.
    pub(super) masters: Masters,
    /// What functions are invoked through that serve no route.
    _apis: Option<LambdaApis>,
}

impl Target {
    /// The product as functions. Their processes take turns among the ways to the database.
    pub(super) fn functions(apis: LambdaApis, ways: &[String], owner_url: &str, release: bool) -> Result<Self> {
        let masters = Masters::new();
        let programs =
            [("create_payment", PAYING), ("find_payment", LOOKING), ("purge_expired_keys", 1), ("migrate", 1)];
        let programs = programs.into_iter().map(|(name, processes)| {
            let binary = workspace::built(name, release)?;
            let recipe = function(name, binary, &apis, ways, owner_url, masters.clone());
            Ok(Program { name, processes, recipe })
        });
        let programs = programs.collect::<Result<Vec<_>>>()?;
        let fleet = Fleet::start(&programs, &workspace::logs(STACK).join("functions.log"))?;
        let serving = &["create_payment", "find_payment"];
        Ok(Self { fleet, port: apis.port(), serving, masters, _apis: Some(apis) })
    }

    /// A counter-example.
    pub(super) fn variant(variant: &'static str, port: u16, database_url: String) -> Result<Self> {
        let log = workspace::logs(STACK).join(format!("{variant}.log"));
        let fleet = Fleet::start(&[broken::program(variant, port, database_url)?], &log)?;
        Ok(Self { fleet, port, serving: &[broken::NAME], masters: Masters::new(), _apis: None })
    }

    /// The program that pays.
    pub(super) fn paying(&self) -> &'static str {
        self.serving.first().copied().unwrap_or_default()
    }
}

fn function(
    name: &'static str,
    binary: PathBuf,
    apis: &LambdaApis,
    ways: &[String],
    owner_url: &str,
    masters: Masters,
) -> Recipe {
    let (environment, ways, owner_url) = (apis.environment(name), ways.to_vec(), owner_url.to_owned());
    let turn = AtomicUsize::new(0);
    Arc::new(move || {
        let way = turn.fetch_add(1, Ordering::Relaxed) % ways.len().max(1);
        let mut command = Command::new(&binary);
        command
            .envs(environment.iter().map(|(variable, value)| (variable, value)))
            .env("AUTH_MODE", "hmac")
            .env("MASTER_SECRETS", masters.setting())
            .env("DATABASE_URL", ways.get(way).map(String::as_str).unwrap_or_default())
            .env("OWNER_DATABASE_URL", &owner_url);
        command
    })
}

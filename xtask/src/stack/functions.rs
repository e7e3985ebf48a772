//! The functions, built and served by `cargo lambda watch` with real parallel processes.
//!
//! Knows the emulator and the functions' environment; not the API they speak, except that any answer means "ready".

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reqwest::{Client, Request, Response};
use tokio::time::sleep;

use super::build_lock::Patience;
use super::http;
use super::process::{Process, Stop};
use crate::workspace;

/// The master secret of stacks on this machine. NOT A SECRET: it is published here, for local development only.
pub(crate) const LOCAL_MASTER_SECRETS: &str = "bG9jYWwgZGV2ZWxvcG1lbnQgb25seTogbm90IGEgc2VjcmV0IQ==";

/// The packages and binaries under functions/.
const FUNCTIONS: [&str; 5] = ["create_payment", "find_payment", "get_payment", "migrate", "purge_expired_keys"];

/// Time for the first process to start and answer.
const START_LIMIT: Duration = Duration::from_mins(2);
const POLL: Duration = Duration::from_millis(100);

/// How callers prove who they are.
#[derive(Clone, Copy, clap::ValueEnum)]
pub(crate) enum AuthMode {
    /// Requests are signed.
    Hmac,
    /// Callers are trusted and name their tenant in `Tenant-Id`.
    Internal,
}

impl AuthMode {
    /// The value of `AUTH_MODE`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Hmac => "hmac",
            Self::Internal => "internal",
        }
    }
}

/// What the functions are started with.
pub(crate) struct Options {
    /// The stack whose logs folder is used.
    pub(crate) stack: &'static str,
    /// The API's port on 127.0.0.1.
    pub(crate) port: u16,
    /// Processes per function at most.
    pub(crate) concurrency: u16,
    /// The application role's URL.
    pub(crate) database_url: String,
    /// The owner's URL, for `migrate` alone.
    pub(crate) owner_url: String,
    /// How callers prove who they are.
    pub(crate) auth_mode: AuthMode,
}

/// The running emulator and its functions.
pub(crate) struct Functions {
    process: Process,
    port: u16,
    base_url: String,
}

/// Compiles the functions, in the way that the emulator will ask for them, so that the first request need not wait.
pub(crate) fn build() -> Result<()> {
    // The emulator runs `cargo run --bin <function>`. Named as there, and without the tools beside them: with those in
    // the build, some dependencies get another profile, and the first request would compile everything again.
    workspace::build(bins())
}

/// Compiles them as a release has them.
pub(crate) fn build_release() -> Result<()> {
    workspace::build(bins().chain(["--release"]))
}

fn bins() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().flat_map(|function| ["--bin", function])
}

impl Functions {
    /// Starts the emulator and waits until each HTTP function has answered once.
    pub(crate) async fn start(cargo_lambda: &Path, options: &Options) -> Result<Self> {
        let log = workspace::logs(options.stack).join("functions.log");
        let process = Process::start("cargo lambda watch", watch_command(cargo_lambda, options), Stop::Group, log)?;
        let mut functions =
            Self { process, port: options.port, base_url: format!("http://127.0.0.1:{}", options.port) };
        functions.wait_until_ready().await?;
        Ok(functions)
    }

    /// Where the API answers, without a trailing slash.
    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The port where the API answers.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The file with everything that the functions and the emulator print.
    pub(crate) fn log(&self) -> PathBuf {
        self.process.log().to_path_buf()
    }

    /// Ends emulator and functions at once, in the middle of whatever they do.
    pub(crate) fn crash(mut self) {
        self.process.crash();
    }

    /// The emulator's process, to be watched.
    pub(crate) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let client = http::client(Duration::from_mins(1))?;
        let payments = format!("{}/api/v1/payments", self.base_url);
        // Requests that no function accepts: an answer of the function's own, whatever it says, means that it is up.
        let probes = [
            client.post(&payments),
            client.get(format!("{payments}?idempotency_key=ready")),
            client.get(format!("{payments}/00000000-0000-0000-0000-000000000000")),
        ];
        let mut patience = Patience::new(START_LIMIT, workspace::target()?);
        for probe in probes {
            self.wait_for_answer(&client, &probe.build()?, &mut patience).await?;
        }
        Ok(())
    }

    async fn wait_for_answer(&mut self, client: &Client, probe: &Request, patience: &mut Patience) -> Result<()> {
        loop {
            self.process.require_running()?;
            let again = probe.try_clone().context("a probe cannot be repeated")?;
            match answer(client, again, patience).await {
                Ok(answer) if !answer.status().is_server_error() => return Ok(()),
                _ if patience.is_over() => bail!(
                    "{} {} gives no answer; the end of {}:\n{}",
                    probe.method(),
                    probe.url().path(),
                    workspace::shown(self.process.log()),
                    super::log::tail(self.process.log(), 20)
                ),
                _ => sleep(POLL).await,
            }
        }
    }
}

/// The emulator starts each function with a `cargo run` of its own: while another cargo builds, it waits.
async fn answer(client: &Client, probe: Request, patience: &mut Patience) -> reqwest::Result<Response> {
    let answer = client.execute(probe);
    tokio::pin!(answer);
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            () = sleep(POLL) => patience.look(),
        }
    }
}

fn watch_command(cargo_lambda: &Path, options: &Options) -> Command {
    let mut command = Command::new(cargo_lambda);
    workspace::without_own_cargo_variables(&mut command);
    command
        .current_dir(workspace::root())
        .args(["lambda", "watch", "--invoke-address", "127.0.0.1", "--invoke-port", &options.port.to_string()])
        .args(["--concurrency", &options.concurrency.to_string()])
        .args(["--disable-cors", "--ignore-changes", "--locked", "--color", "never"])
        .env("DATABASE_URL", &options.database_url)
        .env("OWNER_DATABASE_URL", &options.owner_url)
        .env("AUTH_MODE", options.auth_mode.as_str())
        .env("MASTER_SECRETS", LOCAL_MASTER_SECRETS);
    command
}

//! The labs' counter-example: the payments server of `labs/dual_write`, which trusts Redis.
//!
//! Knows its settings; not what they show.

use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::ports;
use super::process::{Process, Stop};
use crate::workspace;

/// The binary's name, and the name of its sessions in the database.
pub(crate) const NAME: &str = "dual_write";
const START_LIMIT: Duration = Duration::from_secs(20);

/// What the server is started with. Times are in milliseconds.
#[derive(Clone)]
pub(crate) struct Options {
    /// The stack whose logs folder is used.
    pub(crate) stack: &'static str,
    /// The order of steps.
    pub(crate) flow: &'static str,
    /// The application role's URL.
    pub(crate) database_url: String,
    /// Where Redis listens.
    pub(crate) redis_url: String,
    /// How long a key is remembered.
    pub(crate) key_ttl_ms: u64,
    /// How long a lock lives whose holder does not release it.
    pub(crate) lock_ttl_ms: u64,
}

/// The running server.
pub(crate) struct DualWrite {
    process: Process,
    options: Options,
    port: u16,
}

impl DualWrite {
    /// Starts the server, which must be built with the functions, and waits until it listens.
    pub(crate) async fn start(options: Options) -> Result<Self> {
        let port = ports::free()?;
        let mut server = Self { process: serve(&options, port)?, options, port };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// The port where the API answers.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where the API answers, without a trailing slash.
    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Ends the server at once, in the middle of whatever it does.
    pub(crate) fn crash(&mut self) {
        self.process.crash();
    }

    /// Starts it again on the same port.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.process.stop();
        self.process = serve(&self.options, self.port)?;
        self.wait_until_ready().await
    }

    /// Starts it again with keys that are remembered for another time.
    pub(crate) async fn restart_with_key_ttl(&mut self, key_ttl_ms: u64) -> Result<()> {
        self.options.key_ttl_ms = key_ttl_ms;
        self.restart().await
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        self.process.until_listening(self.port, START_LIMIT).await
    }
}

/// Compiles the server.
pub(crate) fn build() -> Result<()> {
    workspace::build(["--package", NAME])
}

fn serve(options: &Options, port: u16) -> Result<Process> {
    let mut command = Command::new(workspace::built(NAME, false)?);
    command
        .env("FLOW", options.flow)
        .env("PORT", port.to_string())
        .env("DATABASE_URL", &options.database_url)
        .env("REDIS_URL", &options.redis_url)
        .env("KEY_TTL_MS", options.key_ttl_ms.to_string())
        .env("LOCK_TTL_MS", options.lock_ttl_ms.to_string());
    Process::start(NAME, command, Stop::Group, workspace::logs(options.stack).join("dual_write.log"))
}

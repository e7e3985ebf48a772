//! A Redis server of our own, without persistence: what the labs' counter-examples remember their keys in.
//!
//! Knows Redis' commands; not what is stored. Nothing of the product speaks to it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redis::aio::MultiplexedConnection;

use super::ports;
use super::process::{Process, Stop};
use crate::workspace;

/// Longer than any lab pauses writes; a pause that is forgotten ends by itself.
const PAUSE_MS: u64 = 60_000;

/// A running server.
pub(crate) struct Redis {
    process: Process,
    binary: PathBuf,
    stack: &'static str,
    port: u16,
}

impl Redis {
    /// Starts a server on a free port and waits until it answers.
    pub(crate) async fn start(binary: &Path, stack: &'static str) -> Result<Self> {
        let port = ports::free()?;
        let process = serve(binary, stack, port)?;
        let mut server = Self { process, binary: binary.to_path_buf(), stack, port };
        server.wait_until_ready().await?;
        Ok(server)
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Ends the server at once and starts it again. It keeps nothing on disk, so what it knew is lost.
    pub(crate) async fn crash_and_restart(&mut self) -> Result<()> {
        self.process.crash();
        self.process = serve(&self.binary, self.stack, self.port)?;
        self.wait_until_ready().await
    }

    /// Lets writing commands wait, reading ones pass.
    pub(crate) async fn pause_writes(&self) -> Result<()> {
        let mut pause = redis::cmd("CLIENT");
        pause.arg("PAUSE").arg(PAUSE_MS).arg("WRITE");
        Ok(pause.query_async(&mut self.connect().await?).await?)
    }

    /// Lets the waiting commands go on.
    pub(crate) async fn resume(&self) -> Result<()> {
        Ok(redis::cmd("CLIENT").arg("UNPAUSE").query_async(&mut self.connect().await?).await?)
    }

    /// Whether the key is there.
    pub(crate) async fn knows(&self, key: &str) -> Result<bool> {
        Ok(redis::cmd("EXISTS").arg(key).query_async(&mut self.connect().await?).await?)
    }

    async fn connect(&self) -> Result<MultiplexedConnection> {
        let client = redis::Client::open(self.url())?;
        client.get_multiplexed_async_connection().await.context("cannot connect to Redis")
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            self.process.require_running()?;
            match self.connect().await {
                Ok(_) => return Ok(()),
                Err(error) if Instant::now() > deadline => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
    }
}

fn serve(binary: &Path, stack: &str, port: u16) -> Result<Process> {
    let mut command = Command::new(binary);
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1"]);
    command.args(["--save", "", "--appendonly", "no", "--daemonize", "no"]);
    Process::start("Redis", command, Stop::Group, workspace::logs(stack).join("redis.log"))
}

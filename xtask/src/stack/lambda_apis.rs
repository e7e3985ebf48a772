//! The emulator of Lambda's runtime API alone: functions come to it from outside, as often as somebody starts them.
//!
//! Knows `cargo lambda watch`; starts no function and replaces none.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::process::{Process, Stop};
use super::{http, log, ports};
use crate::workspace;

const START_LIMIT: Duration = Duration::from_secs(30);
/// Above what a task takes, which is bounded by the functions' own time.
const INVOKE_LIMIT: Duration = Duration::from_secs(12);

/// The running emulator.
pub(crate) struct LambdaApis {
    process: Process,
    port: u16,
}

impl LambdaApis {
    /// Starts it on a free port and waits until it listens.
    pub(crate) async fn start(cargo_lambda: &Path, stack: &'static str) -> Result<Self> {
        let port = ports::free()?;
        let mut command = Command::new(cargo_lambda);
        workspace::without_own_cargo_variables(&mut command);
        command
            .current_dir(workspace::root())
            .args(["lambda", "watch", "--only-lambda-apis", "--disable-cors", "--ignore-changes", "--color", "never"])
            .args(["--invoke-address", "127.0.0.1", "--invoke-port", &port.to_string()]);
        let log = workspace::logs(stack).join("lambda-apis.log");
        let process = Process::start("cargo lambda watch", command, Stop::Group, log)?;
        let mut apis = Self { process, port };
        let deadline = Instant::now() + START_LIMIT;
        while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            apis.process.require_running()?;
            ensure!(Instant::now() < deadline, "the emulator does not listen:\n{}", log::tail(apis.process.log(), 20));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(apis)
    }

    /// The API's port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Where the processes of a function ask for work.
    pub(crate) fn runtime_api(&self, function: &str) -> String {
        format!("http://127.0.0.1:{}/.rt/{function}", self.port)
    }
}

/// Invokes a function that serves no route, and returns what it says.
pub(crate) async fn invoke(port: u16, function: &str) -> Result<Value> {
    let url = format!("http://127.0.0.1:{port}/2015-03-31/functions/{function}/invocations");
    let answer = http::client(INVOKE_LIMIT)?.post(url).json(&serde_json::json!({})).send().await?;
    let text = answer.error_for_status()?.text().await?;
    serde_json::from_str(&text).with_context(|| format!("{function} says {text}"))
}

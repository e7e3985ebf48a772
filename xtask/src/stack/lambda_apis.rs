//! The emulator of Lambda's runtime API alone: functions come to it from outside, as often as somebody starts them.
//!
//! Knows `cargo lambda watch`; starts no function and replaces none.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::process::{Process, Stop};
use super::{http, ports};
use crate::workspace;

const START_LIMIT: Duration = Duration::from_secs(30);
/// Above what a task takes, which is bounded by the functions' own time.
const INVOKE_LIMIT: Duration = Duration::from_secs(12);

/// The running emulator.
pub(crate) struct LambdaApis {
    port: u16,
    _process: Process,
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
        let mut process = Process::start("cargo lambda watch", command, Stop::Group, log)?;
        process.until_listening(port, START_LIMIT).await?;
        Ok(Self { _process: process, port })
    }

    /// The API's port on 127.0.0.1.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// What Lambda tells a function's processes: where they ask for work, and who they are.
    pub(crate) fn environment(&self, function: &str) -> [(&'static str, String); 4] {
        [
            ("AWS_LAMBDA_RUNTIME_API", format!("http://127.0.0.1:{}/.rt/{function}", self.port)),
            ("AWS_LAMBDA_FUNCTION_NAME", function.to_owned()),
            ("AWS_LAMBDA_FUNCTION_VERSION", "1".to_owned()),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256".to_owned()),
        ]
    }
}

/// Invokes a function that serves no route, and returns what it says.
pub(crate) async fn invoke(port: u16, function: &str) -> Result<Value> {
    let url = format!("http://127.0.0.1:{port}/2015-03-31/functions/{function}/invocations");
    let answer = http::client(INVOKE_LIMIT)?.post(url).json(&serde_json::json!({})).send().await?;
    let text = answer.error_for_status()?.text().await?;
    serde_json::from_str(&text).with_context(|| format!("{function} says {text}"))
}

//! An AWS of our own on a loopback port: `MiniStack`, which runs a deployed stack's real binaries.
//!
//! Knows the emulator's settings and how to call an AWS service there; not what is deployed.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::process::{Process, Stop};
use super::{http, log, ports};
use crate::tools::python::Python;
use crate::workspace;

/// Any will do; the stack is checked against this one, too.
const REGION: &str = "eu-central-1";
const START_LIMIT: Duration = Duration::from_mins(1);
const CALL_LIMIT: Duration = Duration::from_mins(2);

/// The running emulator.
pub(crate) struct Emulator {
    process: Process,
    python: Python,
    port: u16,
    home: PathBuf,
}

impl Emulator {
    /// Starts it empty and waits until it answers.
    pub(crate) async fn start(python: Python, stack: &'static str) -> Result<Self> {
        let port = ports::free()?;
        let home = workspace::local().join("emulator");
        if home.exists() {
            fs::remove_dir_all(&home).with_context(|| format!("cannot remove {}", home.display()))?;
        }
        fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
        let log = workspace::logs(stack).join("emulator.log");
        let process = Process::start("MiniStack", server_command(&python, port, &home), Stop::Group, log)?;
        let mut emulator = Self { process, python, port, home };
        emulator.wait_until_ready().await?;
        Ok(emulator)
    }

    /// Lets the command reach this emulator and nothing else: no account, no profile, no other endpoint.
    pub(crate) fn point_here(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
            command.env_remove(name);
        }
        command.envs(credentials()).envs([
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", self.port)),
            ("AWS_CONFIG_FILE", "/dev/null".to_owned()),
            ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null".to_owned()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("HOME", self.home.display().to_string()),
        ]);
    }

    /// Calls an operation of a service by the names that boto3 has for them, and returns its answer.
    pub(crate) async fn call(&self, service: &str, operation: &str, parameters: &Value) -> Result<Value> {
        let mut command = self.python.command();
        command.arg("xtask/emulator/call.py").args([service, operation, &parameters.to_string()]);
        self.point_here(&mut command);
        let mut command = tokio::process::Command::from(command);
        let running = command.stdin(Stdio::null()).kill_on_drop(true).output();
        let output = tokio::time::timeout(CALL_LIMIT, running)
            .await
            .with_context(|| format!("{service} {operation}: no answer"))??;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("{service} {operation}: {}", complaint.lines().last().unwrap_or("failed without a word"));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Where this machine reaches every host name of the emulator.
    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::from((Ipv4Addr::LOCALHOST, self.port))
    }

    /// The emulator's process, to be watched.
    pub(crate) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    async fn wait_until_ready(&mut self) -> Result<()> {
        let client = http::client(Duration::from_secs(5))?;
        let url = format!("http://127.0.0.1:{}/_ministack/ready", self.port);
        let deadline = Instant::now() + START_LIMIT;
        loop {
            self.process.require_running()?;
            match client.get(&url).send().await {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                _ if Instant::now() > deadline => {
                    bail!("the emulator does not answer:\n{}", log::tail(self.process.log(), 20))
                }
                _ => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.process.stop();
        // Left-over state does no harm: the next start removes it.
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// Not a secret: the emulator takes any.
fn credentials() -> [(&'static str, &'static str); 4] {
    [
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_DEFAULT_REGION", REGION),
        ("AWS_REGION", REGION),
    ]
}

fn server_command(python: &Python, port: u16, home: &Path) -> Command {
    let mut command = python.program("ministack");
    // Functions inherit the emulator's environment: nothing but the template may set them up.
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .envs(credentials())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("HOME", home)
        .env("TMPDIR", home)
        .env("BIND_HOST", "127.0.0.1")
        .env("GATEWAY_PORT", port.to_string())
        .env("MINISTACK_REGION", REGION)
        // Listeners on fixed ports that nobody asked for.
        .env("IOT_MTLS_ENABLED", "0")
        .env("SFTP_ENABLED", "0")
        // It would look for containers of its own in the machine's Docker.
        .env("DOCKER_HOST", format!("unix://{}", home.join("no-docker.sock").display()));
    command
}

//! The servers that are compared over HTTP: ours, and the course's flow in Go and in Rust. Each is a process that ends
//! when it is dropped.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::stage::{CONNECTIONS, STACK, Stage};
use crate::stack::functions::{AuthMode, LOCAL_MASTER_SECRETS};
use crate::stack::ports;
use crate::stack::process::{Process, Stop};
use crate::workspace;

const START_LIMIT: Duration = Duration::from_secs(20);

/// A running server.
pub(crate) struct Server {
    /// What it is, for a person.
    pub(crate) name: &'static str,
    /// Where it answers.
    pub(crate) address: SocketAddr,
    /// Whether its clients sign.
    pub(crate) signed: bool,
    _process: Process,
}

/// Ours, on a database at that URL.
pub(crate) async fn ours(stage: &Stage, url: &str, mode: AuthMode) -> Result<Server> {
    let name = match mode {
        AuthMode::Hmac => "ours, signed",
        AuthMode::Internal => "ours",
    };
    start(name, matches!(mode, AuthMode::Hmac), |port| {
        let mut command = silent(&stage.release.join("server"));
        command
            .env("LISTEN_ADDRESS", format!("127.0.0.1:{port}"))
            .env("DATABASE_URL", url)
            .env("AUTH_MODE", mode.as_str())
            .env("MASTER_SECRETS", LOCAL_MASTER_SECRETS)
            .env("PREPARED_STATEMENTS", "true")
            .env("POOL_SIZE", CONNECTIONS.to_string());
        command
    })
    .await
}

/// The course's flow in Go, with so many connections to the database.
pub(crate) async fn go(stage: &Stage, url: &str, pool: u32) -> Result<Server> {
    course("Go", &stage.course_flow_go, url, pool).await
}

/// The course's flow in Rust.
pub(crate) async fn rust(stage: &Stage, url: &str) -> Result<Server> {
    course("Rust", &stage.release.join("course_flow"), url, CONNECTIONS).await
}

async fn course(name: &'static str, program: &Path, url: &str, pool: u32) -> Result<Server> {
    start(name, false, |port| {
        let mut command = silent(program);
        command.env("PORT", port.to_string()).env("DATABASE_URL", url).env("POOL_SIZE", pool.to_string());
        command
    })
    .await
}

/// What it logs is written and thrown away: a disk that fills with it would be measured, too.
pub(crate) fn silent(program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" >/dev/null"]).arg(program);
    command
}

async fn start(name: &'static str, signed: bool, command: impl Fn(u16) -> Command) -> Result<Server> {
    let port = ports::free()?;
    let log = workspace::logs(STACK).join(format!("{}.log", name.replace(", ", "-")));
    let mut process = Process::start(name, command(port), Stop::Group, log)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    process.until_listening(port, START_LIMIT).await?;
    Ok(Server { name, address, signed, _process: process })
}

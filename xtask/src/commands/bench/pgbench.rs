//! `pgbench`, PostgreSQL's own load generator: the product's very statement, and the course's flow.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};

use super::stage::{ACCOUNTS, CONNECTIONS, STACK, Stage, account, recipient, tenant};
use crate::workspace;

/// Keys that are replayed.
const SETTLED_KEYS: u32 = 1_000;
const STATEMENT: &str = include_str!("../../../../shared/src/repositories/sql/create_payment.sql");

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Parsed and planned each time, as `query_typed` does.
    Extended,
    /// Prepared once for each connection.
    Prepared,
}

/// A script and how to run it.
pub(crate) struct Script {
    /// Names its file.
    pub(crate) name: &'static str,
    /// What pgbench reads.
    pub(crate) text: String,
    /// Where.
    pub(crate) url: String,
    /// How statements are sent.
    pub(crate) protocol: Protocol,
    /// Clients.
    pub(crate) clients: u32,
    /// The first and the last account.
    pub(crate) accounts: (u32, u32),
}

/// The product's statement from random accounts, a new payment each.
pub(crate) fn product(stage: &Stage, protocol: Protocol) -> Script {
    let text = format!(
        "\\set key random(1, 9223372036854775807)\n\\set account random(:first, :last)\n{};\n",
        with_values("md5(:key::text || 'k')::uuid", "md5(:key::text || 'p')::uuid", &account(":account"), "1")
    );
    let accounts = (1, ACCOUNTS);
    Script { name: "product", text, url: stage.app_url.clone(), protocol, clients: CONNECTIONS, accounts }
}

/// The product's statement for a few settled keys, again and again: a replay as a process answers it that has not seen the
/// payment before. The first run settles them.
pub(crate) fn replay(stage: &Stage, protocol: Protocol) -> Script {
    let text = format!(
        "\\set key random(:first, :last)\n{};\n",
        with_values("md5(:key::text || 'settled')::uuid", "md5(:key::text || 'paid')::uuid", &account(":key"), "1")
    );
    Script { name: "replay", text, accounts: (1, SETTLED_KEYS), ..product(stage, protocol) }
}

/// The course's flow from accounts of that range.
pub(crate) fn course(stage: &Stage, name: &'static str, clients: u32, accounts: (u32, u32)) -> Result<Script> {
    let text = fs::read_to_string(workspace::root().join("bench/course_flow/payment.pgbench"))?;
    Ok(Script { name, text, url: stage.course_url(), protocol: Protocol::Prepared, clients, accounts })
}

/// The statement with values for its parameters, an internal caller's.
pub(crate) fn with_values(key: &str, payment: &str, account: &str, amount: &str) -> String {
    let values = [
        key.to_owned(),
        payment.to_owned(),
        tenant(),
        account.to_owned(),
        recipient(),
        format!("{amount}::bigint"),
        "NULL::text".to_owned(),
        "NULL::bigint".to_owned(),
        "NULL::uuid".to_owned(),
        recipient(),
        "0".to_owned(),
    ];
    let lines = STATEMENT.lines().filter(|line| !line.trim_start().starts_with("--"));
    let mut statement = lines.collect::<Vec<_>>().join("\n");
    // From the last on, so that `$1` is not found in `$10`.
    for (index, value) in values.iter().enumerate().rev() {
        statement = statement.replace(&format!("${}", index + 1), value);
    }
    statement
}

/// Transactions in a second.
pub(crate) async fn run(stage: &Stage, script: &Script) -> Result<f64> {
    let pace = stage.pace;
    let seconds = (pace.warmup + pace.time).as_secs().max(1);
    let mut command = tokio::process::Command::new(&stage.pgbench);
    command
        .args(["--no-vacuum", "--jobs", "2", "--protocol"])
        .arg(if script.protocol == Protocol::Prepared { "prepared" } else { "extended" })
        .args(["--client", &script.clients.to_string(), "--time", &seconds.to_string()])
        .args(["--define", &format!("first={}", script.accounts.0)])
        .args(["--define", &format!("last={}", script.accounts.1)])
        .arg("--file")
        .arg(write(script)?)
        .arg(&script.url);
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.context("cannot run pgbench")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "pgbench failed: {}", complaint.trim());
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    per_second(&printed).with_context(|| format!("pgbench's figures are not understood:\n{printed}"))
}

fn write(script: &Script) -> Result<PathBuf> {
    let folder = workspace::logs(STACK);
    fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{}.pgbench", script.name));
    fs::write(&path, &script.text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// `tps = 1100.591266 (without initial connection time)`, with no transaction failed.
fn per_second(printed: &str) -> Option<f64> {
    let failed = printed.lines().find_map(|line| line.strip_prefix("number of failed transactions: "));
    if failed.is_some_and(|failed| !failed.starts_with("0 ")) {
        return None;
    }
    let figure = printed.lines().find_map(|line| line.strip_prefix("tps = "))?;
    figure.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_read_unless_a_transaction_failed() {
        let printed = |failed| {
            format!(
                "number of failed transactions: {failed} (0.000%)\nlatency average = 45.430 ms\ntps = 1100.591266 (without initial connection time)\n"
            )
        };
        assert_eq!(per_second(&printed(0)), Some(1_100.591_266));
        assert_eq!(per_second(&printed(3)), None);
        assert_eq!(per_second("pgbench: error"), None);
    }

    #[test]
    fn every_parameter_of_the_statement_gets_its_value() {
        let statement = with_values("KEY", "PAYMENT", "ACCOUNT", "1");
        assert!(!statement.contains('$') && !statement.contains("--"), "{statement}");
        assert!(["KEY", "PAYMENT", "ACCOUNT"].iter().all(|value| statement.contains(value)));
    }
}

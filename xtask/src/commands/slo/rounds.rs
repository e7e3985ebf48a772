//! Drives k6: one run per round, each with a key and a funded account of its own.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde::Deserialize;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixtures::{self, Tenant};
use crate::signing::Credentials;
use crate::workspace;

/// Minor units of each payment.
pub(crate) const AMOUNT: i64 = 2500;
/// Minor units of each round's account: enough for every duplicate to do damage.
pub(crate) const BALANCE: i64 = 1_000_000;

/// What the clients of one round saw.
pub(crate) struct Round {
    /// The round's account.
    pub(crate) account: Uuid,
    /// Attempts of all clients.
    pub(crate) attempts: u64,
    /// Attempts that got no answer.
    pub(crate) attempts_cut: u64,
    /// Clients whose last answer was 200.
    pub(crate) final_200: u64,
    /// Clients that gave up with anything else.
    pub(crate) final_non_200: u64,
    /// The payment ids they were told.
    pub(crate) payment_ids: HashSet<Uuid>,
}

/// The file that the k6 script writes at its end.
#[derive(Deserialize)]
struct Summary {
    attempts: u64,
    attempts_cut: u64,
    final_200: u64,
    final_non_200: u64,
}

/// The line that the k6 script prints for each client.
#[derive(Deserialize)]
struct Client200 {
    payment_id: Option<Uuid>,
}

/// How much to send, and with what.
pub(crate) struct Load<'a> {
    /// The load generator.
    pub(crate) k6: &'a Path,
    /// The stack whose logs folder is used.
    pub(crate) logs: &'static str,
    /// Rounds, each with a key and an account of its own.
    pub(crate) rounds: u16,
    /// Parallel clients per round.
    pub(crate) vus: u16,
}

/// Runs all rounds, one after the other, against the API at `base_url`.
pub(crate) async fn run(ledger: &Client, load: &Load<'_>, base_url: &str) -> Result<Vec<Round>> {
    let tenant = Tenant { id: Uuid::new_v4(), name: "slo", account: Uuid::new_v4() };
    tenant.ensure(ledger, BALANCE).await?;
    let files = Files::create(load.logs)?;
    let mut rounds = Vec::new();
    for number in 1..=load.rounds {
        let account = Uuid::new_v4();
        fixtures::ensure_account(ledger, tenant.id, account, BALANCE).await?;
        let round = one(load, base_url, &tenant, account, &files).await?;
        let debited = BALANCE - fixtures::balance(ledger, account).await?;
        println!(
            "  {number:>3}/{}  {} × 200, {} other, {} payment id, {debited} debited, {} attempts, {} cut",
            load.rounds,
            round.final_200,
            round.final_non_200,
            round.payment_ids.len(),
            round.attempts,
            round.attempts_cut,
        );
        rounds.push(round);
    }
    Ok(rounds)
}

/// Where k6 leaves its results and complaints.
struct Files {
    summary: PathBuf,
    clients: PathBuf,
    log: PathBuf,
}

impl Files {
    fn create(logs: &str) -> Result<Self> {
        let folder = workspace::logs(logs);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(Self {
            summary: folder.join("k6-summary.json"),
            clients: folder.join("k6-clients.jsonl"),
            log: folder.join("k6.log"),
        })
    }

    /// The last round's results must not be taken for this one's.
    fn clear(&self) {
        for file in [&self.summary, &self.clients, &self.log] {
            let _ = fs::remove_file(file);
        }
    }
}

async fn one(load: &Load<'_>, base_url: &str, tenant: &Tenant<'_>, account: Uuid, files: &Files) -> Result<Round> {
    files.clear();
    let credentials = Credentials::local(tenant.id)?;
    let log = fs::File::create(&files.log).with_context(|| format!("cannot write {}", files.log.display()))?;
    let variables = [
        ("BASE_URL", base_url.to_owned()),
        ("KEY_ID", credentials.key_id.to_string()),
        ("SECRET", credentials.secret_base64()),
        ("ACCOUNT_ID", account.to_string()),
        ("IDEMPOTENCY_KEY", format!("slo-{}", Uuid::new_v4())),
        ("AMOUNT", AMOUNT.to_string()),
        ("VUS", load.vus.to_string()),
        ("SUMMARY_FILE", files.summary.display().to_string()),
    ];
    let mut command = tokio::process::Command::new(load.k6);
    command
        .args(["run", "--quiet", "--no-usage-report", "--log-format", "raw", "--console-output"])
        .arg(&files.clients);
    for (name, value) in variables {
        command.arg("--env").arg(format!("{name}={value}"));
    }
    command.arg(workspace::root().join("k6/create_payment.js"));
    // Lines about resets on standard error are the point of the exercise, not news for a person.
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).kill_on_drop(true);
    // The exit status repeats the script's thresholds; the figures below carry more.
    command.status().await.context("cannot run k6")?;

    let summary: Summary = fs::read_to_string(&files.summary)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .with_context(|| format!("k6 wrote no summary:\n{}", crate::stack::log::tail(&files.log, 20)))?;
    let clients = fs::read_to_string(&files.clients).unwrap_or_default();
    Ok(Round {
        account,
        attempts: summary.attempts,
        attempts_cut: summary.attempts_cut,
        final_200: summary.final_200,
        final_non_200: summary.final_non_200,
        payment_ids: payment_ids(&clients),
    })
}

fn payment_ids(clients: &str) -> HashSet<Uuid> {
    clients
        .lines()
        .filter_map(|line| serde_json::from_str::<Client200>(line).ok())
        .filter_map(|client| client.payment_id)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_collected_from_the_clients_that_got_one() {
        let one = Uuid::from_u128(1);
        let lines = format!(
            "{{\"status\":200,\"payment_id\":\"{one}\",\"replayed\":false}}\n\
             {{\"status\":200,\"payment_id\":\"{one}\",\"replayed\":true}}\n\
             {{\"status\":503,\"payment_id\":null,\"replayed\":false}}\nnoise\n"
        );
        assert_eq!(payment_ids(&lines), HashSet::from([one]));
    }
}

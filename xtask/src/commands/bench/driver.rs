//! Calls the release build of `bench/driver` and reads what it saw. Knows its command line.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Pace;
use super::samples::Samples;
use super::servers::Server;
use super::stage::ACCOUNTS;
use crate::stack::functions::LOCAL_MASTER_SECRETS;

/// Where payments are made.
pub(crate) const PAYMENTS: &str = "/api/v1/payments";

/// What a load does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// New payments from many accounts.
    Spread,
    /// New payments from one account.
    Hot,
    /// Settled payments, asked for again.
    Replay,
}

impl Kind {
    /// The driver's word for it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Spread => "spread",
            Self::Hot => "hot",
            Self::Replay => "replay",
        }
    }
}

/// What a load saw. Latencies are in microseconds.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Load {
    /// Answers in a second.
    pub(crate) per_second: f64,
    /// Half of the answers came within.
    pub(crate) p50_us: f64,
    /// 99 of 100 answers came within.
    pub(crate) p99_us: f64,
    /// How many answers of each kind.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Shares of answers and their latencies.
    pub(crate) distribution: Vec<(f64, f64)>,
}

impl Load {
    /// Throughputs of several rounds.
    pub(crate) fn throughputs(loads: &[Self]) -> Samples {
        loads.iter().map(|load| load.per_second).collect()
    }

    /// 99th percentiles of several rounds.
    pub(crate) fn p99s(loads: &[Self]) -> Samples {
        loads.iter().map(|load| load.p99_us).collect()
    }

    /// For the progress line.
    pub(crate) fn shown(&self) -> String {
        format!("{:.0}/s", self.per_second)
    }

    /// A load is worth comparing only if it did what was asked.
    fn require(self, kind: Kind) -> Result<Self> {
        let wanted: &[&str] = if kind == Kind::Replay { &["200 replayed", "replayed"] } else { &["200", "executed"] };
        let other: Vec<_> = self.outcomes.iter().filter(|(outcome, _)| !wanted.contains(&outcome.as_str())).collect();
        ensure!(other.is_empty(), "the load was answered otherwise: {other:?}");
        ensure!(!self.outcomes.is_empty(), "the load was not answered at all");
        Ok(self)
    }
}

/// The driver.
#[derive(Clone)]
pub(crate) struct Driver {
    /// Its binary.
    pub(crate) program: PathBuf,
    /// How long it drives.
    pub(crate) pace: Pace,
}

impl Driver {
    /// Load over HTTP on the API.
    pub(crate) async fn http(&self, address: SocketAddr, kind: Kind, signed: bool, connections: u32) -> Result<Load> {
        self.http_at(address, PAYMENTS, kind, signed, connections).await
    }

    /// The same on another path.
    pub(crate) async fn http_at(
        &self,
        address: SocketAddr,
        path: &str,
        kind: Kind,
        signed: bool,
        connections: u32,
    ) -> Result<Load> {
        let mut arguments = ["http", "--address", &address.to_string(), "--path", path].map(str::to_owned).to_vec();
        if signed {
            arguments.extend(["--master-secret".to_owned(), LOCAL_MASTER_SECRETS.to_owned()]);
        }
        arguments.extend(self.load(kind, connections));
        self.call::<Load>(&arguments, &[]).await?.require(kind)
    }

    /// Load on the ledger itself.
    pub(crate) async fn ledger(&self, url: &str, kind: Kind, prepared: bool, connections: u32) -> Result<Load> {
        let mut arguments = vec!["ledger".to_owned(), "--database-url".to_owned(), url.to_owned()];
        arguments.extend(prepared.then(|| "--prepared".to_owned()));
        arguments.extend(self.load(kind, connections));
        self.call::<Load>(&arguments, &[]).await?.require(kind)
    }

    fn load(&self, kind: Kind, connections: u32) -> Vec<String> {
        [
            ("--kind", kind.as_str().to_owned()),
            ("--connections", connections.to_string()),
            ("--accounts", ACCOUNTS.to_string()),
            ("--warmup-ms", self.pace.warmup.as_millis().to_string()),
            ("--time-ms", self.pace.time.as_millis().to_string()),
        ]
        .into_iter()
        .flat_map(|(name, value)| [name.to_owned(), value])
        .collect()
    }

    /// Runs it to its end with these arguments and variables. Ends with this future.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        arguments: &[String],
        variables: &[(&str, String)],
    ) -> Result<T> {
        let mut command = tokio::process::Command::new(&self.program);
        command.args(arguments).envs(variables.iter().map(|(name, value)| (name, value)));
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await.context("cannot run the driver")?;
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "the driver failed: {}", complaint.trim());
        serde_json::from_slice(&output.stdout).context("the driver's figures are not understood")
    }
}

/// Something that is measured in turn with others.
pub(crate) trait Subject: Sync {
    /// What one turn sees.
    type Seen: Send;

    /// One turn.
    fn measure(&self) -> BoxFuture<'_, Result<Self::Seen>>;

    /// What was seen, for the progress line.
    fn shown(seen: &Self::Seen) -> String;
}

/// Measures the subjects in turn, round after round, and returns the rounds of each.
pub(crate) async fn in_turn<S: Subject>(what: &str, rounds: usize, subjects: &[S]) -> Result<Vec<Vec<S::Seen>>> {
    let mut all: Vec<Vec<S::Seen>> = subjects.iter().map(|_| Vec::new()).collect();
    for round in 1..=rounds {
        let mut line = Vec::new();
        for (subject, measured) in subjects.iter().zip(&mut all) {
            let seen = subject.measure().await.with_context(|| format!("{what}, round {round}"))?;
            line.push(S::shown(&seen));
            measured.push(seen);
        }
        println!("  {round}/{rounds}  {what}: {}", line.join(" · "));
    }
    Ok(all)
}

/// A load on a server.
pub(crate) struct HttpLoad<'a> {
    /// What drives it.
    pub(crate) driver: &'a Driver,
    /// Where.
    pub(crate) server: &'a Server,
    /// What it does.
    pub(crate) kind: Kind,
    /// How wide it is.
    pub(crate) connections: u32,
}

impl Subject for HttpLoad<'_> {
    type Seen = Load;

    fn measure(&self) -> BoxFuture<'_, Result<Load>> {
        Box::pin(self.driver.http(self.server.address, self.kind, self.server.signed, self.connections))
    }

    fn shown(seen: &Load) -> String {
        seen.shown()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn load(outcome: &str) -> Load {
        let outcomes = BTreeMap::from([(outcome.to_owned(), 7)]);
        Load { per_second: 1.0, p50_us: 1.0, p99_us: 1.0, outcomes, distribution: Vec::new() }
    }

    #[test]
    fn a_load_that_was_answered_otherwise_is_not_compared() {
        assert!(load("200").require(Kind::Spread).is_ok() && load("replayed").require(Kind::Replay).is_ok());
        assert!(load("503").require(Kind::Spread).is_err() && load("200").require(Kind::Replay).is_err());
        assert!(Load { outcomes: BTreeMap::new(), ..load("200") }.require(Kind::Hot).is_err());
    }

    struct Noted<'a>(char, &'a Mutex<String>);

    impl Subject for Noted<'_> {
        type Seen = usize;

        fn measure(&self) -> BoxFuture<'_, Result<usize>> {
            let mut order = self.1.lock().unwrap();
            order.push(self.0);
            Box::pin(std::future::ready(Ok(order.len())))
        }

        fn shown(seen: &usize) -> String {
            seen.to_string()
        }
    }

    #[tokio::test]
    async fn subjects_take_turns() {
        let order = Mutex::default();
        let measured = in_turn("x", 2, &[Noted('a', &order), Noted('b', &order)]).await.unwrap();
        assert_eq!((order.into_inner().unwrap().as_str(), measured), ("abab", vec![vec![1, 3], vec![2, 4]]));
    }
}

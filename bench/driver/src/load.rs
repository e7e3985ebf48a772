//! A closed loop: every connection sends its next request when it has heard the answer to the last one.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use hdrhistogram::Histogram;
use serde::Serialize;
use tokio::task::JoinSet;

/// How long and how wide.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Plan {
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 50)]
    pub(crate) connections: u64,
    /// Accounts that a spread load pays from
    #[arg(long, default_value_t = 10_000)]
    pub(crate) accounts: u64,
    /// Milliseconds before anything is counted
    #[arg(long, default_value_t = 1_000)]
    warmup_ms: u64,
    /// Milliseconds that are counted
    #[arg(long, default_value_t = 5_000)]
    time_ms: u64,
}

#[cfg(test)]
impl Plan {
    /// So many connections, for a moment.
    pub(crate) fn few(connections: u64) -> Self {
        Self { connections, accounts: 1, warmup_ms: 10, time_ms: 100 }
    }
}

/// One connection.
pub(crate) trait Connection: Send + 'static {
    /// Sends the next request and says what was answered: a status or an outcome's name.
    fn call(&mut self) -> impl Future<Output = Result<String>> + Send;
}

/// What was seen. Latencies are in microseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Measured {
    pub(crate) answers: u64,
    pub(crate) per_second: f64,
    pub(crate) p50_us: u64,
    pub(crate) p90_us: u64,
    pub(crate) p99_us: u64,
    pub(crate) max_us: u64,
    /// How many answers of each kind.
    pub(crate) outcomes: BTreeMap<String, u64>,
    /// Shares of answers and the latency that so many did not exceed, for a picture.
    pub(crate) distribution: Vec<(f64, u64)>,
}

/// Shares of answers in the picture of latencies.
const SHARES: [f64; 12] = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999, 1.0];

struct Heard {
    latencies: Histogram<u64>,
    outcomes: BTreeMap<String, u64>,
}

impl Heard {
    fn nothing() -> Result<Self> {
        Ok(Self { latencies: Histogram::new(3)?, outcomes: BTreeMap::new() })
    }
}

/// Drives all connections at once.
pub(crate) async fn run<C: Connection>(connections: Vec<C>, plan: &Plan) -> Result<Measured> {
    let from = Instant::now() + Duration::from_millis(plan.warmup_ms);
    let until = from + Duration::from_millis(plan.time_ms);
    let mut tasks = JoinSet::new();
    for connection in connections {
        tasks.spawn(drive(connection, from, until));
    }
    let mut all = Heard::nothing()?;
    while let Some(heard) = tasks.join_next().await {
        let heard = heard.context("a connection's task broke off")??;
        all.latencies.add(&heard.latencies)?;
        for (outcome, count) in heard.outcomes {
            *all.outcomes.entry(outcome).or_default() += count;
        }
    }
    Ok(measured(&all, plan))
}

/// An answer counts in the moment in which it is heard.
async fn drive<C: Connection>(mut connection: C, from: Instant, until: Instant) -> Result<Heard> {
    let mut heard = Heard::nothing()?;
    loop {
        let sent = Instant::now();
        let outcome = connection.call().await?;
        let now = Instant::now();
        if now >= until {
            return Ok(heard);
        }
        if now >= from {
            let latency = u64::try_from((now - sent).as_micros()).unwrap_or(u64::MAX);
            heard.latencies.record(latency.max(1))?;
            *heard.outcomes.entry(outcome).or_default() += 1;
        }
    }
}

fn measured(heard: &Heard, plan: &Plan) -> Measured {
    let latencies = &heard.latencies;
    let seconds = Duration::from_millis(plan.time_ms).as_secs_f64();
    let answers = latencies.len();
    Measured {
        answers,
        #[expect(clippy::cast_precision_loss, reason = "a count of answers is far below 2^52")]
        per_second: answers as f64 / seconds,
        p50_us: latencies.value_at_quantile(0.5),
        p90_us: latencies.value_at_quantile(0.9),
        p99_us: latencies.value_at_quantile(0.99),
        max_us: latencies.max(),
        outcomes: heard.outcomes.clone(),
        distribution: SHARES.iter().map(|share| (*share, latencies.value_at_quantile(*share))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Echo;

    impl Connection for Echo {
        async fn call(&mut self) -> Result<String> {
            tokio::time::sleep(Duration::from_millis(2)).await;
            Ok("200".to_owned())
        }
    }

    struct Broken;

    impl Connection for Broken {
        async fn call(&mut self) -> Result<String> {
            anyhow::bail!("no answer")
        }
    }

    #[tokio::test]
    async fn every_answer_is_counted_once_with_its_latency() {
        let measured = run(vec![Echo, Echo, Echo], &Plan::few(3)).await.unwrap();
        assert_eq!(measured.outcomes.get("200"), Some(&measured.answers));
        assert!(measured.answers > 0 && measured.answers <= 3 * 50, "{measured:?}");
        assert!(measured.p50_us >= 2_000 && measured.p50_us <= measured.p99_us, "{measured:?}");
    }

    #[tokio::test]
    async fn a_connection_that_breaks_fails_the_run() {
        assert!(run(vec![Broken], &Plan::few(1)).await.is_err());
    }
}

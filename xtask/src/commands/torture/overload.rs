//! More than can be served: ten times the sustainable rate, for a while, without any other fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::client::{Manner, ON_THEIR_WAY, Sender};
use super::history::{Journey, Sent};
use super::target::Target;
use super::world::{World, dice};

/// Clients that find out the sustainable rate: more than there are processes.
const CLOSED_LOOP: usize = 16;
const MEASURED: Duration = Duration::from_secs(3);
const FACTOR: f64 = 10.0;
const TICK: Duration = Duration::from_millis(20);
/// Payments in a row that must be fast for the target to count as recovered, and what is fast.
const IN_A_ROW: usize = 20;
const FAST_MS: u64 = 1_000;
const RECOVERY_LIMIT: Duration = Duration::from_mins(1);
/// Wishes of this phase are numbered from here on.
const FIRST: u64 = 1 << 40;
const CALM: Manner = Manner { skew: 0, impatient: false };

/// What was seen.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Overload {
    /// Payments a second that were answered with as many clients as are served at once.
    pub(super) sustainable_per_second: f64,
    /// Payments a second that were asked for.
    pub(super) offered_per_second: f64,
    /// Seconds of that.
    pub(super) seconds: f64,
    /// Requests sent.
    pub(super) sent: usize,
    /// Requests that had to wait for an earlier one to end, and were not sent.
    pub(super) held_back: usize,
    /// Answers other than 200, 402, 409, 503 and the gateway's own.
    pub(super) other_answers: usize,
    /// Bytes of the largest process before and at most.
    pub(super) resident_before: u64,
    pub(super) resident_at_most: u64,
    /// Seconds until payments were fast again.
    pub(super) recovered_after: Option<f64>,
}

/// The phase.
pub(super) struct Phase<'a> {
    pub(super) sender: Arc<Sender>,
    pub(super) world: &'a World,
    pub(super) target: &'a Target,
    pub(super) seed: u64,
    pub(super) duration: Duration,
}

impl Phase<'_> {
    /// Runs it, and adds what clients experienced to the history.
    pub(super) async fn run(&self, history: &mut Vec<Journey>) -> Result<Overload> {
        let before = history.len();
        let sustainable = self.measure(history).await?;
        let resident_before = self.resident();
        let mut seen = Overload {
            sustainable_per_second: sustainable,
            offered_per_second: sustainable * FACTOR,
            seconds: self.duration.as_secs_f64(),
            resident_before,
            resident_at_most: resident_before,
            ..Overload::default()
        };
        let ended = self.flood(&mut seen, history).await?;
        seen.recovered_after = self.recover(ended, history).await?;
        let answers = history.iter().skip(before).flat_map(|journey| &journey.attempts);
        let allowed = |status| matches!(status, 200 | 402 | 409 | 429 | 502 | 503 | 504);
        seen.other_answers = answers.filter_map(super::history::Attempt::status).filter(|it| !allowed(*it)).count();
        Ok(seen)
    }

    async fn measure(&self, history: &mut Vec<Journey>) -> Result<f64> {
        let started = Instant::now();
        let until_ms = self.sender.now_ms() + u64::try_from(MEASURED.as_millis())?;
        let number = AtomicUsize::new(0);
        let clients = (0..CLOSED_LOOP).map(|_| async {
            let mut journeys = Vec::new();
            while started.elapsed() < MEASURED {
                let number = number.fetch_add(1, Ordering::Relaxed);
                journeys.push(self.once(FIRST + u64::try_from(number)?)?.await?);
            }
            anyhow::Ok(journeys)
        });
        let journeys = futures_util::future::try_join_all(clients).await?;
        // A request that a dying process took with it holds its client up for long: it does not count, nor does its wait.
        let in_time = |journey: &&Journey| journey.settled_ms().is_some_and(|settled| settled <= until_ms);
        let answered = journeys.iter().flatten().filter(in_time).count();
        history.extend(journeys.into_iter().flatten());
        Ok(rate(answered, MEASURED))
    }

    /// Says when it ended.
    async fn flood(&self, seen: &mut Overload, history: &mut Vec<Journey>) -> Result<Instant> {
        let started = Instant::now();
        let mut running: JoinSet<Result<Journey>> = JoinSet::new();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        while started.elapsed() < self.duration {
            ticks.tick().await;
            while let Some(journey) = running.try_join_next() {
                history.push(journey??);
            }
            let due = count(seen.offered_per_second * started.elapsed().as_secs_f64());
            while seen.sent + seen.held_back < due {
                if running.len() >= ON_THEIR_WAY {
                    seen.held_back = due - seen.sent;
                    break;
                }
                seen.sent += 1;
                running.spawn(self.once(2 * FIRST + u64::try_from(seen.sent)?)?);
            }
            seen.resident_at_most = seen.resident_at_most.max(self.resident());
        }
        let ended = Instant::now();
        // Nobody sends any more; those on their way get their answers.
        for journey in running.join_all().await {
            history.push(journey?);
        }
        Ok(ended)
    }

    async fn recover(&self, started: Instant, history: &mut Vec<Journey>) -> Result<Option<f64>> {
        let mut number = 3 * FIRST;
        let mut in_a_row = 0;
        while started.elapsed() < RECOVERY_LIMIT {
            let journey = self.once(number)?.await?;
            number += 1;
            let fast = journey.attempts.iter().all(|it| it.is_final() && it.heard_ms - it.sent_ms < FAST_MS);
            in_a_row = if fast { in_a_row + 1 } else { 0 };
            history.push(journey);
            if in_a_row == IN_A_ROW {
                return Ok(Some(started.elapsed().as_secs_f64()));
            }
        }
        Ok(None)
    }

    /// One try of the wish of that number.
    fn once(&self, number: u64) -> Result<impl Future<Output = Result<Journey>> + Send + use<>> {
        let mut rng = dice(self.seed, number);
        let wish = self.world.wish(&mut rng)?;
        let sender = self.sender.clone();
        Ok(async move {
            let attempt = sender.send(&wish, Sent::Payment, CALM, &mut rng).await?;
            Ok(Journey { wish, attempts: vec![attempt], wants_answer: false })
        })
    }

    fn resident(&self) -> u64 {
        self.target.serving.iter().map(|program| self.target.fleet.largest_resident(program)).max().unwrap_or_default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of a run are far below 2^52")]
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number far below 2^52")]
fn count(number: f64) -> usize {
    number as usize
}

/// Waits until nothing happens in the ledger any more: requests whose clients have gone may still be executed.
pub(super) async fn wait_until_quiet(ledger: &tokio_postgres::Client) -> Result<()> {
    let quiet = async {
        let mut seen: i64 = -1;
        loop {
            let now: i64 = ledger.query_one("SELECT count(*) FROM nonces", &[]).await?.try_get(0)?;
            if now == seen {
                return anyhow::Ok(());
            }
            seen = now;
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    timeout(RECOVERY_LIMIT, quiet).await?
}

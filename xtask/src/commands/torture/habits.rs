//! How clients go about a payment: most as docs/client.md asks for, some worse.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::client::{Manner, Sender};
use super::history::{Attempt, Journey, Sent, Wish};

/// docs/client.md: a random wait between 0 and min(10 s, 0.1 s × 2^try).
const FIRST_PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 10_000;
/// What 409 and 503 say in `Retry-After`.
const RETRY_AFTER: Duration = Duration::from_secs(1);
/// Whoever goes away does so while the answer is still on its way.
const GONE_MS: u64 = 400;

/// What a client does beside paying.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Habit {
    /// Retries until it knows.
    Steady,
    /// Sends duplicates at the same time, each of which retries until it knows.
    Parallel(u8),
    /// Goes away during its first try and never comes back.
    Abandons,
    /// Goes away during its first try, and comes back much later.
    ComesBack,
    /// Asks again after it knows, by replay and by look-up.
    Doubts,
    /// Uses the key for another amount, too.
    Reuses,
    /// Its library sends the same bytes twice.
    Repeats,
}

impl Habit {
    fn draw(rng: &mut fastrand::Rng) -> Self {
        match rng.u8(0..100) {
            0..20 => Self::Parallel(rng.u8(2..=5)),
            20..26 => Self::Abandons,
            26..30 => Self::ComesBack,
            30..40 => Self::Doubts,
            40..45 => Self::Reuses,
            45..50 => Self::Repeats,
            _ => Self::Steady,
        }
    }
}

/// How a client's visit ended.
pub(super) enum Visit {
    /// It is over.
    Over(Journey),
    /// It wants to come back.
    Unfinished(Journey),
}

/// All clients of a run.
#[derive(Clone)]
pub(super) struct Clients {
    /// How they send.
    pub(super) sender: Arc<Sender>,
    /// When everybody must have been answered; none while the faults go on.
    pub(super) deadline: watch::Receiver<Option<Instant>>,
}

impl Clients {
    /// Goes for a wish.
    pub(super) async fn visit(&self, wish: Wish, mut rng: fastrand::Rng) -> Result<Visit> {
        let habit = Habit::draw(&mut rng);
        let manner = Manner::draw(&mut rng);
        let mut journey = Journey { wish, attempts: Vec::new(), wants_answer: habit != Habit::Abandons };
        match habit {
            Habit::Abandons | Habit::ComesBack => {
                self.go_away(&mut journey, manner, &mut rng).await?;
                if habit == Habit::ComesBack {
                    return Ok(Visit::Unfinished(journey));
                }
            }
            Habit::Parallel(duplicates) => self.race(&mut journey, duplicates, &mut rng).await?,
            Habit::Repeats => {
                journey.attempts.extend(self.sender.send_twice(&journey.wish, manner, &mut rng).await?);
                self.ask(&mut journey, manner, &mut rng).await?;
            }
            Habit::Steady | Habit::Doubts | Habit::Reuses => self.ask(&mut journey, manner, &mut rng).await?,
        }
        let further: &[Sent] = match habit {
            Habit::Doubts => &[Sent::Payment, Sent::LookUp],
            Habit::Reuses => &[Sent::OtherAmount, Sent::Payment],
            _ => &[],
        };
        if journey.settled_ms().is_some() {
            for sent in further {
                let attempt = self.sender.send(&journey.wish, *sent, manner, &mut rng).await?;
                journey.attempts.push(attempt);
            }
        }
        Ok(Visit::Over(journey))
    }

    /// Comes back for the outcome of an earlier try.
    pub(super) async fn come_back(&self, mut journey: Journey, mut rng: fastrand::Rng) -> Result<Journey> {
        let manner = Manner::draw(&mut rng);
        if rng.bool() {
            let attempt = self.sender.send(&journey.wish, Sent::LookUp, manner, &mut rng).await?;
            journey.attempts.push(attempt);
        }
        self.ask(&mut journey, manner, &mut rng).await?;
        Ok(journey)
    }

    /// Tries with the same key until the outcome is known, or the run's patience ends.
    async fn ask(&self, journey: &mut Journey, manner: Manner, rng: &mut fastrand::Rng) -> Result<()> {
        let attempts = self.until_known(&journey.wish, manner, rng).await?;
        journey.attempts.extend(attempts);
        Ok(())
    }

    async fn until_known(&self, wish: &Wish, manner: Manner, rng: &mut fastrand::Rng) -> Result<Vec<Attempt>> {
        let mut attempts = Vec::new();
        loop {
            let attempt = self.sender.send(wish, Sent::Payment, manner, rng).await?;
            let known = attempt.is_final();
            let pause = pause_after(&attempt, attempts.len(), rng);
            attempts.push(attempt);
            if known || !self.wait(pause).await {
                return Ok(attempts);
            }
        }
    }

    /// Waits before the next try; false when the run's patience has ended.
    async fn wait(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        let mut deadline = self.deadline.clone();
        let limit = async {
            // Without a deadline there is no limit, and without the run there is nobody to wait for.
            match deadline.wait_for(Option::is_some).await.map(|end| *end) {
                Ok(Some(end)) => sleep_until(end).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sleep_until(until) => true,
            () = limit => false,
        }
    }

    /// Sends, and hangs up while the answer is on its way: the server does not hear of it.
    async fn go_away(&self, journey: &mut Journey, manner: Manner, rng: &mut fastrand::Rng) -> Result<()> {
        let patience = Duration::from_millis(rng.u64(1..GONE_MS));
        let sent_ms = self.sender.now_ms();
        let sending = self.sender.send(&journey.wish, Sent::Payment, manner, rng);
        let attempt = match timeout(patience, sending).await {
            Ok(attempt) => attempt?,
            Err(_) => Attempt { sent: Sent::Payment, sent_ms, heard_ms: self.sender.now_ms(), answer: None },
        };
        journey.attempts.push(attempt);
        Ok(())
    }

    async fn race(&self, journey: &mut Journey, duplicates: u8, rng: &mut fastrand::Rng) -> Result<()> {
        let wish = &journey.wish;
        let racers = (0..duplicates).map(|_| {
            let (manner, mut rng) = (Manner::draw(rng), rng.fork());
            async move { self.until_known(wish, manner, &mut rng).await }
        });
        let tries = futures_util::future::try_join_all(racers).await?;
        let mut attempts: Vec<Attempt> = tries.into_iter().flatten().collect();
        attempts.sort_by_key(|attempt| attempt.sent_ms);
        journey.attempts.extend(attempts);
        Ok(())
    }
}

/// Full jitter, and no sooner than the server asked for.
fn pause_after(attempt: &Attempt, earlier: usize, rng: &mut fastrand::Rng) -> Duration {
    let doubled = FIRST_PAUSE_MS << earlier.min(10);
    let jitter = Duration::from_millis(rng.u64(0..=doubled.min(LONGEST_PAUSE_MS)));
    let asked = attempt.answer.as_ref().is_some_and(|answer| answer.retry_after);
    if asked { jitter.max(RETRY_AFTER) } else { jitter }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::torture::history::Answer;

    fn attempt(answer: Option<Answer>) -> Attempt {
        Attempt { sent: Sent::Payment, sent_ms: 0, heard_ms: 0, answer }
    }

    #[test]
    fn pauses_grow_to_ten_seconds_and_never_fall_below_what_the_server_asks_for() {
        let mut rng = fastrand::Rng::with_seed(1);
        let mut longest = |earlier| (0..500).map(|_| pause_after(&attempt(None), earlier, &mut rng)).max().unwrap();
        assert!(longest(0) <= Duration::from_millis(100));
        assert!(longest(50) > Duration::from_secs(9) && longest(50) <= Duration::from_secs(10));
        let busy = Answer { status: 503, replayed: false, retry_after: true, request_id: true, body: String::new() };
        assert!(pause_after(&attempt(Some(busy)), 0, &mut rng) >= RETRY_AFTER);
    }

    #[test]
    fn every_habit_occurs() {
        let mut rng = fastrand::Rng::with_seed(1);
        let habits: Vec<Habit> = (0..1000).map(|_| Habit::draw(&mut rng)).collect();
        for habit in [Habit::Steady, Habit::Abandons, Habit::ComesBack, Habit::Doubts, Habit::Reuses, Habit::Repeats] {
            assert!(habits.contains(&habit), "{habit:?}");
        }
        assert!(habits.iter().any(|habit| matches!(habit, Habit::Parallel(_))));
    }
}

//! One try of one client: signs it, sends it, notes what is heard.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::sync::Semaphore;
use uuid::Uuid;

use super::history::{Answer, Attempt, Sent, Wish};
use super::world::World;
use crate::signing;
use crate::stack::http;

/// What docs/client.md asks for.
const PATIENCE: Duration = Duration::from_secs(10);
/// Some clients do not listen.
const IMPATIENCE: Duration = Duration::from_secs(3);
/// The window is 300 s; a second or two pass on the way.
const SKEW: i64 = 290;
/// Requests on their way at most. The local emulator comes to a standstill for good when about 100 are queued and their
/// clients leave: these and as many that were given up stay below that.
pub(super) const ON_THEIR_WAY: usize = 45;
/// A skew from here on counts as one.
pub(super) const NOTICEABLE_SKEW: i64 = 60;

/// How a client's tries look.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// Seconds by which its clock is ahead.
    pub(super) skew: i64,
    /// Whether it gives up early.
    pub(super) impatient: bool,
}

impl Manner {
    /// Half of the clients have a clock that is wrong, within the window.
    pub(super) fn draw(rng: &mut fastrand::Rng) -> Self {
        Self { skew: if rng.bool() { rng.i64(-SKEW..=SKEW) } else { 0 }, impatient: rng.u8(..) < 32 }
    }
}

/// Sends requests to the API.
pub(super) struct Sender {
    patient: reqwest::Client,
    impatient: reqwest::Client,
    /// Where the API answers; each try takes one of them.
    urls: Vec<String>,
    world: Arc<World>,
    started: Instant,
    skewed: AtomicU64,
    room: Semaphore,
}

impl Sender {
    /// A sender whose clock starts now.
    pub(super) fn new(world: Arc<World>, urls: Vec<String>) -> Result<Self> {
        Ok(Self {
            patient: http::without_reuse(PATIENCE)?,
            impatient: http::without_reuse(IMPATIENCE)?,
            urls,
            world,
            started: Instant::now(),
            skewed: AtomicU64::new(0),
            room: Semaphore::new(ON_THEIR_WAY),
        })
    }

    /// Milliseconds since the start of the run.
    pub(super) fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Signed requests whose clock was wrong by a minute or more.
    pub(super) fn skewed(&self) -> u64 {
        self.skewed.load(Ordering::Relaxed)
    }

    /// Sends once.
    pub(super) async fn send(
        &self,
        wish: &Wish,
        sent: Sent,
        manner: Manner,
        rng: &mut fastrand::Rng,
    ) -> Result<Attempt> {
        // Before the request is signed: what waits here must not age.
        let _room = self.room.acquire().await?;
        let request = self.request(wish, sent, manner, rng)?;
        self.exchange(request, sent, manner).await
    }

    /// Sends the same bytes twice, one after the other, as some HTTP libraries do.
    pub(super) async fn send_twice(
        &self,
        wish: &Wish,
        manner: Manner,
        rng: &mut fastrand::Rng,
    ) -> Result<[Attempt; 2]> {
        let _room = self.room.acquire().await?;
        let request = self.request(wish, Sent::Payment, manner, rng)?;
        let again = request.try_clone().ok_or_else(|| anyhow::anyhow!("a request that cannot be repeated"))?;
        Ok([self.exchange(request, Sent::Payment, manner).await?, self.exchange(again, Sent::Payment, manner).await?])
    }

    fn request(&self, wish: &Wish, sent: Sent, manner: Manner, rng: &mut fastrand::Rng) -> Result<reqwest::Request> {
        let base = rng.choice(&self.urls).map(String::as_str).unwrap_or_default();
        let payments = format!("{base}/api/v1/payments");
        let request = match sent {
            Sent::LookUp => self.patient.get(format!("{payments}?idempotency_key={}", wish.key)).build()?,
            Sent::Payment | Sent::OtherAmount => {
                let amount = if sent == Sent::Payment { wish.amount } else { wish.amount + 1 };
                let request = self.patient.post(payments).header("Idempotency-Key", spelled(&wish.key, rng));
                request.json(&wish.body(amount)).build()?
            }
        };
        if manner.skew.abs() >= NOTICEABLE_SKEW {
            self.skewed.fetch_add(1, Ordering::Relaxed);
        }
        signing::sign(&*self.world.signer(wish.tenant)?, request, manner.skew)
    }

    async fn exchange(&self, request: reqwest::Request, sent: Sent, manner: Manner) -> Result<Attempt> {
        let client = if manner.impatient { &self.impatient } else { &self.patient };
        let sent_ms = self.now_ms();
        let answer = listen(client.execute(request).await).await;
        Ok(Attempt { sent, sent_ms, heard_ms: self.now_ms(), answer })
    }
}

/// A broken connection is no answer, and neither is half of one.
async fn listen(response: reqwest::Result<reqwest::Response>) -> Option<Answer> {
    let response = response.ok()?;
    let status = response.status().as_u16();
    let headers = response.headers();
    let replayed = headers.get("Idempotent-Replayed").is_some_and(|value| value == "true");
    let retry_after = headers.contains_key("Retry-After");
    let request_id = headers.contains_key("X-Request-Id");
    let body = response.text().await.ok()?;
    Some(Answer { status, replayed, retry_after, request_id, body })
}

/// One key may be written in several ways.
fn spelled(key: &str, rng: &mut fastrand::Rng) -> String {
    let key = if Uuid::try_parse(key).is_ok() && rng.bool() { key.to_uppercase() } else { key.to_owned() };
    if rng.u8(..) < 64 { format!("\"{key}\"") } else { key }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_letters_is_never_written_in_other_letters() {
        let mut rng = fastrand::Rng::with_seed(1);
        let ways: std::collections::HashSet<String> = (0..100).map(|_| spelled("order-a", &mut rng)).collect();
        assert_eq!(ways, ["order-a".to_owned(), "\"order-a\"".to_owned()].into());
        let ways: std::collections::HashSet<String> =
            (0..100).map(|_| spelled("f5f5f5f5-0000-4000-8000-00000000000a", &mut rng)).collect();
        assert_eq!(ways.len(), 4);
    }
}

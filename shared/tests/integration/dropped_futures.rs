//! C17: the payment's future is polled n times, for n = 1, 2, 3, …, and then dropped, as a host does when its client or its
//! time is gone. Whatever point that is: the payment is done or absent, the pool works, and the key gets its answer.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use payments::config::DatabaseConfig;

use crate::support::database::{config, ledger_with};
use crate::support::{Api, Ledger, Pay, TestDatabase, Wire};

/// More points than a payment has; reaching it means that it never ends.
const MOST_POLLS: u32 = 500;

/// Polls a future so many times, each time when it has been woken, and drops it. `Some` if it was done by then.
async fn polled<F: Future>(future: F, times: u32) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polls = 0;
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => {
            polls += 1;
            if polls >= times { Poll::Ready(None) } else { Poll::Pending }
        }
    })
    .await
}

/// A database behind a wire that cuts replies into small pieces, so that there are many points within them.
struct Scene {
    ledger: Ledger,
    wire: Wire,
}

impl Scene {
    async fn new() -> Self {
        let database = TestDatabase::new().await;
        let ledger = Ledger::new(database.owner().await).await;
        ledger.top_up(ledger.a, 10_000_000).await;
        let wire = Wire::to(&database.app_url()).await;
        wire.slice_replies();
        Self { ledger, wire }
    }

    /// An API on a pool of one, so that what a dropped future leaves behind meets the next request.
    fn api(&self) -> Api {
        Api::new(&ledger_with(&DatabaseConfig { statement_timeout_ms: 5_000, ..config(self.wire.url(), 1) }))
    }

    /// At any moment: as much money is gone as there are payments, and each payment has its key.
    async fn assert_whole(&self) {
        let sql = "SELECT (SELECT balance FROM accounts WHERE id = $1)
                          + (SELECT coalesce(sum(amount), 0)::bigint FROM payments),
                          (SELECT count(*) FROM payments), (SELECT count(*) FROM idempotency_keys)";
        let row = self.ledger.owner.query_one(sql, &[&self.ledger.a]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 10_010_000, "the money adds up");
        assert_eq!(row.get::<_, i64>(1), row.get::<_, i64>(2), "payments and keys");
    }

    /// Drops a payment after so many polls; whether it was not done by then. Each has an amount of its own, so that an answer
    /// to one of them cannot pass for another's.
    async fn drop_after(&self, api: &Api, polls: u32) -> bool {
        let pay = Pay::new(self.ledger.t1, &format!("k{polls}")).amount(i64::from(polls));

        let sent_before = self.wire.round_trips();
        let dropped = polled(api.pay(pay.clone()), polls).await.is_none();
        // A loss that was still ahead is not meant for the requests below.
        self.wire.lose_replies(0);
        let was_sent = self.wire.round_trips() > sent_before;
        let connections = self.wire.connections();
        self.assert_whole().await;

        let other = api.get(self.ledger.t1, "/api/v1/payments?idempotency_key=never-used").await;
        other.assert_problem(404, "payment_not_found");
        assert_eq!(other.round_trips, 1, "the pool lends a connection that works");
        if dropped && was_sent {
            assert!(self.wire.connections() > connections, "a connection on which an answer was due is not lent again");
        }
        let answer = api.pay(pay.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.json()["amount"].as_i64()), (200, Some(pay.amount)), "{answer:?}");
        api.pay(pay).await.assert_replays(&answer);
        self.assert_whole().await;
        let payments = self.ledger.payments(self.ledger.t1).await;
        assert_eq!(payments, i64::from(polls), "one payment for each key so far");
        dropped
    }
}

/// Drops a payment after 1, 2, 3, … polls until it is done before it is dropped, and returns at how many points that was.
async fn drop_everywhere(scene: &Scene, api: impl AsyncFn() -> Api) -> u32 {
    for polls in 1..MOST_POLLS {
        if !scene.drop_after(&api().await, polls).await {
            return polls - 1;
        }
    }
    panic!("not done after {MOST_POLLS} polls");
}

#[tokio::test]
async fn c17_a_payment_dropped_at_every_point_from_the_connection_on_is_done_or_absent() {
    let scene = Scene::new().await;

    let points = drop_everywhere(&scene, async || scene.api()).await;

    assert!(points >= 3, "only {points} points: connecting, logging in and asking are at least three");
}

#[tokio::test]
async fn c17_a_payment_dropped_at_every_point_on_an_open_connection_is_done_or_absent() {
    let scene = Scene::new().await;
    let warm = async || {
        let api = scene.api();
        api.get(scene.ledger.t1, "/api/v1/payments?idempotency_key=warm-up").await;
        api
    };

    let points = drop_everywhere(&scene, warm).await;

    assert!(points >= 1, "no point at all");
}

#[tokio::test]
async fn c17_a_payment_dropped_at_every_point_while_it_asks_again_after_a_lost_reply_is_done_or_absent() {
    let scene = Scene::new().await;
    let with_a_loss_ahead = async || {
        let api = scene.api();
        api.get(scene.ledger.t1, "/api/v1/payments?idempotency_key=warm-up").await;
        scene.wire.lose_replies(1);
        api
    };

    let points = drop_everywhere(&scene, with_a_loss_ahead).await;

    assert!(points >= 5, "only {points} points: asking, the pause, connecting, logging in, asking again");
}

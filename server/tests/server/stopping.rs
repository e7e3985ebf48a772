//! The end of the process.

use crate::support::{Answer, Server, until};

#[tokio::test]
async fn a_signal_lets_the_payment_in_flight_finish_and_takes_no_new_one() {
    let mut server = Server::start(&[]).await;
    server.hold_payments().await;
    let in_flight = tokio::spawn(server.payment("k").send());
    server.until_held(1).await;

    server.terminate();
    until("nobody listens", async || server.refuses_connections().await).await;
    server.release_payments().await;
    let answer = Answer::of(in_flight.await.unwrap().unwrap()).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(server.ended_well().await);
    assert_eq!(server.balance().await, 7_500);
}

#[tokio::test]
async fn an_idle_server_ends_at_once() {
    let mut server = Server::start(&[]).await;
    assert_eq!(Answer::to(server.payment("k")).await.status, 200);

    server.terminate();

    assert!(server.ended_well().await);
}

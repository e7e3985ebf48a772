//! A message is delivered once, at one place.

use archetypes::messenger::{Delivery, Message, SCHEMA};
use payments::repositories::Settled;
use uuid::Uuid;

use crate::support::{RIVALS, Stage};

const ANNA: Uuid = Uuid::from_u128(0xa);
const BORIS: Uuid = Uuid::from_u128(0xb);
const CHAT: Uuid = Uuid::from_u128(0xc1);
const OTHER_CHAT: Uuid = Uuid::from_u128(0xc2);
const HOLD_CHAT: &str = "SELECT FROM conversations FOR UPDATE";

async fn stage() -> Stage {
    let stage = Stage::new(SCHEMA).await;
    for chat in [CHAT, OTHER_CHAT] {
        stage.owner.execute("INSERT INTO conversations (id) VALUES ($1)", &[&chat]).await.unwrap();
    }
    stage
}

/// Places taken in the chat, and the number of the last one.
async fn assert_places(stage: &Stage, places: i64) {
    let sql = "SELECT count(*), coalesce(max(sequence), 0), (SELECT last_sequence FROM conversations WHERE id = $1)
                 FROM messages WHERE conversation_id = $1";
    let row = stage.owner.query_one(sql, &[&CHAT]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, i64>(2)), (places, places, places));
}

fn fresh(text: &str) -> Message {
    Message::new(ANNA, Uuid::new_v4(), CHAT, text)
}

#[tokio::test]
async fn twenty_copies_of_one_message_at_once_are_delivered_once() {
    let stage = stage().await;
    let copies = vec![fresh("hello"); 20];

    let executions = stage.race(HOLD_CHAT, &copies).await;

    let (replayed, delivered): (Vec<_>, Vec<_>) =
        executions.iter().partition(|execution| execution.settled == Settled::Done(Delivery::Replayed { sequence: 1 }));
    assert_eq!((delivered.len(), replayed.len()), (1, 19));
    assert!(delivered.iter().all(|one| one.settled == Settled::Done(Delivery::Delivered { sequence: 1 })));
    assert!(delivered.iter().all(|one| one.round_trips == 1), "the winner sends one statement");
    assert!(replayed.iter().all(|one| one.round_trips == 2), "a loser looks once more");
    assert_places(&stage, 1).await;
}

#[tokio::test]
async fn messages_sent_at_once_and_each_sent_twice_take_places_without_gaps() {
    let stage = stage().await;
    let messages: Vec<Message> = (0..10).map(|n| fresh(&format!("message {n}"))).flat_map(|m| [m.clone(), m]).collect();
    assert_eq!(i64::try_from(messages.len()).unwrap(), RIVALS);

    let answers = stage.settle_all(&messages).await;

    let mut places: Vec<i64> = Vec::new();
    for answer in answers {
        match answer {
            Delivery::Delivered { sequence } => places.push(sequence),
            Delivery::Replayed { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    places.sort_unstable();
    assert_eq!(places, (1..=10).collect::<Vec<i64>>());
    assert_places(&stage, 10).await;
}

#[tokio::test]
async fn a_replay_keeps_its_place_though_others_came_after() {
    let stage = stage().await;
    let first = fresh("first");
    assert_eq!(stage.settle(&first).await, Delivery::Delivered { sequence: 1 });
    assert_eq!(stage.settle(&fresh("second")).await, Delivery::Delivered { sequence: 2 });

    let replay = stage.run(&first).await;

    assert_eq!(replay.settled, Settled::Done(Delivery::Replayed { sequence: 1 }));
    assert_eq!(replay.round_trips, 1);
    assert_places(&stage, 2).await;
}

#[tokio::test]
async fn a_key_with_another_text_or_another_conversation_is_refused() {
    let stage = stage().await;
    let key = Uuid::new_v4();
    stage.settle(&Message::new(ANNA, key, CHAT, "hello")).await;

    assert_eq!(stage.settle(&Message::new(ANNA, key, CHAT, "hello!")).await, Delivery::KeyReused);
    assert_eq!(stage.settle(&Message::new(ANNA, key, OTHER_CHAT, "hello")).await, Delivery::KeyReused);
    assert_places(&stage, 1).await;
    assert_eq!(stage.number("SELECT count(*) FROM messages").await, 1);
}

#[tokio::test]
async fn one_key_for_two_conversations_at_once_goes_to_one_of_them() {
    let stage = stage().await;
    let key = Uuid::new_v4();
    let messages: Vec<Message> =
        (0..20).map(|n| Message::new(ANNA, key, if n % 2 == 0 { CHAT } else { OTHER_CHAT }, "hello")).collect();

    let answers = stage.settle_all(&messages).await;

    assert_eq!(answers.iter().filter(|answer| **answer == Delivery::Delivered { sequence: 1 }).count(), 1);
    assert_eq!(answers.iter().filter(|answer| **answer == Delivery::KeyReused).count(), 10);
    assert_eq!(stage.number("SELECT sum(last_sequence)::bigint FROM conversations").await, 1);
}

#[tokio::test]
async fn one_key_of_two_senders_is_two_messages() {
    let stage = stage().await;
    let key = Uuid::new_v4();

    assert_eq!(stage.settle(&Message::new(ANNA, key, CHAT, "hi")).await, Delivery::Delivered { sequence: 1 });
    assert_eq!(stage.settle(&Message::new(BORIS, key, CHAT, "hi")).await, Delivery::Delivered { sequence: 2 });
}

#[tokio::test]
async fn an_unknown_conversation_leaves_the_key_free() {
    let stage = stage().await;
    let later = Uuid::new_v4();
    let message = Message::new(ANNA, Uuid::new_v4(), later, "early");
    assert_eq!(stage.settle(&message).await, Delivery::UnknownConversation);

    stage.owner.execute("INSERT INTO conversations (id) VALUES ($1)", &[&later]).await.unwrap();

    assert_eq!(stage.settle(&message).await, Delivery::Delivered { sequence: 1 });
}

#[tokio::test]
async fn a_message_that_waits_too_long_for_its_conversation_is_busy_and_can_be_sent_again() {
    let stage = stage().await;
    let message = fresh("patience");
    let mut holder = stage.second_session().await;
    let held = holder.transaction().await.unwrap();
    held.batch_execute(HOLD_CHAT).await.unwrap();

    assert_eq!(stage.run(&message).await.settled, Settled::Busy);
    assert_places(&stage, 0).await;

    held.rollback().await.unwrap();
    assert_eq!(stage.settle(&message).await, Delivery::Delivered { sequence: 1 });
}

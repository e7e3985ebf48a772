//! Messenger: copies of a message at once, then other words under its key.

use anyhow::Result;
use archetypes::messenger::{Delivery, Message, SCHEMA};
use uuid::Uuid;

use super::{COPIES, Scene, Stage, count};
use crate::stack::postgres::Postgres;

pub(super) async fn play(server: &Postgres, rounds: usize) -> Result<Scene> {
    let stage = Stage::set(server, "messenger", SCHEMA).await?;
    let (sender, chat) = (Uuid::new_v4(), Uuid::new_v4());
    stage.owner.execute("INSERT INTO conversations (id) VALUES ($1)", &[&chat]).await?;
    let (mut done, mut replayed, mut refused) = (0, 0, 0);
    for round in 1..=rounds {
        let (key, sequence) = (Uuid::new_v4(), i64::try_from(round)?);
        let answers = stage.run_copies(&Message::new(sender, key, chat, "hello")).await?;
        // Each round's message belongs at the next place, and all of its copies are told that place.
        done += count(&answers, |answer| *answer == Delivery::Delivered { sequence });
        replayed += count(&answers, |answer| *answer == Delivery::Replayed { sequence });
        let other = stage.run(&Message::new(sender, key, chat, "hello!")).await?;
        refused += usize::from(other == Delivery::KeyReused);
    }
    Ok(Scene {
        archetype: "messenger",
        key_from: "the client",
        rounds,
        sent: rounds * COPIES,
        done,
        replayed,
        rival: "other text: refused",
        rivals_answered: refused,
        rivals_sent: rounds,
        effect: "messages",
        effects: stage.number("SELECT count(*) FROM messages").await?,
        effects_expected: i64::try_from(rounds)?,
    })
}

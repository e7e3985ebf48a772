//! Feed: copies of a post at once by importers that know nothing of each other, then another post by the same author.

use anyhow::Result;
use archetypes::feed::{Post, Publication, SCHEMA};
use uuid::Uuid;

use super::{COPIES, Scene, Stage, count};
use crate::stack::postgres::Postgres;

const FOLLOWERS: i64 = 100;
const SOURCE: &str = "https://example.com/author";

pub(super) async fn play(server: &Postgres, rounds: usize) -> Result<Scene> {
    let stage = Stage::set(server, "feed", SCHEMA).await?;
    let author = Uuid::new_v4();
    follow(&stage, author).await?;
    let (mut done, mut replayed, mut posted) = (0, 0, 0);
    for round in 0..rounds {
        let answers = stage.run_copies(&Post::new(SOURCE, author, format!("Day {round}"))).await?;
        done += count(&answers, |answer| *answer == Publication::Published { reached: FOLLOWERS });
        replayed += count(&answers, |answer| *answer == Publication::Replayed { reached: FOLLOWERS });
        let other = stage.run(&Post::new(SOURCE, author, format!("Day {round}!"))).await?;
        posted += usize::from(other == Publication::Published { reached: FOLLOWERS });
    }
    Ok(Scene {
        archetype: "feed",
        key_from: "the data",
        rounds,
        sent: rounds * COPIES,
        done,
        replayed,
        rival: "other text: a post of its own",
        rivals_answered: posted,
        rivals_sent: rounds,
        effect: "on 100 bells",
        effects: stage.number("SELECT sum(unread)::bigint FROM feeds").await?,
        // Each round publishes two posts, and each is counted once per follower.
        effects_expected: i64::try_from(rounds * 2)? * FOLLOWERS,
    })
}

async fn follow(stage: &Stage, author: Uuid) -> Result<()> {
    for _ in 0..FOLLOWERS {
        let follower = Uuid::new_v4();
        stage.owner.execute("INSERT INTO feeds (follower_id) VALUES ($1)", &[&follower]).await?;
        let sql = "INSERT INTO follows (author_id, follower_id) VALUES ($1, $2)";
        stage.owner.execute(sql, &[&author, &follower]).await?;
    }
    Ok(())
}

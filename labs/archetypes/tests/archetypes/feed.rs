//! A post is published once, and each follower is told once.

use archetypes::feed::{Post, Publication, SCHEMA};
use payments::repositories::Settled;
use uuid::Uuid;

use crate::support::Stage;

const AUTHOR: Uuid = Uuid::from_u128(0xa1);
const OTHER_AUTHOR: Uuid = Uuid::from_u128(0xa2);
const SOURCE: &str = "https://example.com/anna";

/// Both authors have the same followers, written down in opposite orders: whoever locks them as found meets the other half-way.
async fn stage(followers: u128) -> Stage {
    let stage = Stage::new(SCHEMA).await;
    let followers: Vec<Uuid> = (1..=followers).map(Uuid::from_u128).collect();
    for follower in &followers {
        follow(&stage, AUTHOR, *follower).await;
    }
    for follower in followers.iter().rev() {
        follow(&stage, OTHER_AUTHOR, *follower).await;
    }
    stage
}

async fn follow(stage: &Stage, author: Uuid, follower: Uuid) {
    let sql = "INSERT INTO feeds (follower_id) VALUES ($1) ON CONFLICT DO NOTHING";
    stage.owner.execute(sql, &[&follower]).await.unwrap();
    let sql = "INSERT INTO follows (author_id, follower_id) VALUES ($1, $2)";
    stage.owner.execute(sql, &[&author, &follower]).await.unwrap();
}

async fn assert_each_was_told(stage: &Stage, times: i64) {
    let row = stage.owner.query_one("SELECT min(unread), max(unread) FROM feeds", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (times, times));
}

#[tokio::test]
async fn twenty_imports_of_one_post_at_once_publish_it_once_and_count_each_follower_once() {
    let stage = stage(7).await;
    let imports = vec![Post::new(SOURCE, AUTHOR, "It rains."); 20];

    // The winner waits for the feeds, all others for the winner.
    let executions = stage.race("SELECT FROM feeds FOR UPDATE", &imports).await;

    let count = |answer: Publication, trips: u32| {
        let settled = Settled::Done(answer);
        executions.iter().filter(|one| one.settled == settled && one.round_trips == trips).count()
    };
    assert_eq!(count(Publication::Published { reached: 7 }, 1), 1);
    assert_eq!(count(Publication::Replayed { reached: 7 }, 2), 19);
    assert_eq!(stage.number("SELECT count(*) FROM posts").await, 1);
    assert_each_was_told(&stage, 1).await;
}

#[tokio::test]
async fn posts_of_two_authors_at_once_to_the_same_followers_lose_no_count() {
    let stage = stage(50).await;
    stage.plan_without(&["enable_hashjoin", "enable_mergejoin"]).await;
    let posts: Vec<Post> = (0..20)
        .map(|n| Post::new(SOURCE, if n % 2 == 0 { AUTHOR } else { OTHER_AUTHOR }, format!("post {n}")))
        .collect();

    let executions = stage.race("SELECT FROM feeds FOR UPDATE", &posts).await;

    for one in executions {
        assert_eq!((one.settled, one.round_trips), (Settled::Done(Publication::Published { reached: 50 }), 1));
    }
    assert_each_was_told(&stage, 20).await;
}

#[tokio::test]
async fn a_replay_reaches_nobody_though_new_followers_came() {
    let stage = stage(2).await;
    let post = Post::new(SOURCE, AUTHOR, "It rains.");
    assert_eq!(stage.settle(&post).await, Publication::Published { reached: 2 });
    follow(&stage, AUTHOR, Uuid::new_v4()).await;

    let replay = stage.run(&post).await;

    assert_eq!((replay.settled, replay.round_trips), (Settled::Done(Publication::Replayed { reached: 2 }), 1));
    assert_eq!(stage.number("SELECT sum(unread)::bigint FROM feeds").await, 2);
}

#[tokio::test]
async fn another_source_author_or_content_is_another_post() {
    let stage = stage(1).await;
    let posts = [
        Post::new(SOURCE, AUTHOR, "It rains."),
        Post::new("https://example.com/mirror", AUTHOR, "It rains."),
        Post::new(SOURCE, OTHER_AUTHOR, "It rains."),
        Post::new(SOURCE, AUTHOR, "It rains!"),
    ];

    for post in &posts {
        assert_eq!(stage.settle(post).await, Publication::Published { reached: 1 });
    }
    assert_each_was_told(&stage, 4).await;
}

#[tokio::test]
async fn a_post_without_followers_is_published_and_told_to_nobody() {
    let stage = stage(0).await;
    let post = Post::new(SOURCE, AUTHOR, "Is anybody there?");
    assert_eq!(stage.settle(&post).await, Publication::Published { reached: 0 });
    assert_eq!(stage.settle(&post).await, Publication::Replayed { reached: 0 });
}

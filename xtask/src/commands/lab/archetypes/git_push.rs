//! Git push: copies of a commit at once, then different commits on one parent at once.

use anyhow::{Context, Result};
use archetypes::git_push::{CommitId, Push, Pushed, SCHEMA};
use uuid::Uuid;

use super::{COPIES, Scene, Stage, count};
use crate::stack::postgres::Postgres;

/// People who push different commits on one parent at the same moment.
const RIVALS: usize = 5;

pub(super) async fn play(server: &Postgres, rounds: usize) -> Result<Scene> {
    let stage = Stage::set(server, "git_push", SCHEMA).await?;
    let repository = Uuid::new_v4();
    let mut head = CommitId::of(b"root");
    let sql = "INSERT INTO branches (repository_id, name, head) VALUES ($1, 'main', $2)";
    stage.owner.execute(sql, &[&repository, &head.as_str()]).await?;
    let (mut done, mut replayed, mut rivals_answered) = (0, 0, 0);
    for _ in 0..rounds {
        let push =
            |author: usize, parent: &CommitId| Push::new(repository, "main", commit(author, parent), parent.clone());
        let answers = stage.run_copies(&push(0, &head)).await?;
        done += count(&answers, |answer| *answer == Pushed::Moved);
        replayed += count(&answers, |answer| *answer == Pushed::UpToDate);

        let parent = commit(0, &head);
        let rivals: Vec<Push> = (1..=RIVALS).map(|author| push(author, &parent)).collect();
        let answers = stage.run_all(&rivals).await?;
        let winner = answers.iter().position(|answer| *answer == Pushed::Moved).context("no rival won")?;
        head = commit(winner + 1, &parent);
        // One moved the branch, and each of the others was told where it is now.
        let refused = Pushed::NonFastForward { head: head.clone() };
        rivals_answered += 1 + count(&answers, |answer| *answer == refused);
    }
    Ok(Scene {
        archetype: "Git push",
        key_from: "the commit id",
        rounds,
        sent: rounds * COPIES,
        done,
        replayed,
        rival: "one wins, the others refused",
        rivals_answered,
        rivals_sent: rounds * RIVALS,
        effect: "moves",
        effects: stage.number("SELECT count(*) FROM pushes").await?,
        // One by the copies, one by the rivals.
        effects_expected: i64::try_from(rounds * 2)?,
    })
}

fn commit(author: usize, parent: &CommitId) -> CommitId {
    CommitId::of(format!("parent {}\nauthor {author}\n", parent.as_str()).as_bytes())
}

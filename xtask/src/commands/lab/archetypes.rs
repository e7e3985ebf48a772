//! `cargo xtask lab archetypes`: four operations on one executor, each sent many times at once, then asked of the database.
//!
//! Knows how to run a scene and to judge it; what a scene does is in the modules below.

mod feed;
mod fintech;
mod git_push;
mod messenger;

use std::time::Duration;

use anyhow::{Context, Result, bail};
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use futures_util::future::try_join_all;
use payments::config::DatabaseConfig;
use payments::domain::Invocation;
use payments::repositories::{Database, Executor, IdempotentOperation, Settled};
use serde::Serialize;
use serde_json::json;
use tokio_postgres::Client;

use crate::stack::ports;
use crate::stack::postgres::{self, Cluster, Postgres};
use crate::tools;
use crate::{report, workspace};

/// Copies of one operation that are sent at once, and connections to send them on.
const COPIES: usize = 20;

/// What a scene showed, over all of its rounds.
#[derive(Serialize)]
struct Scene {
    archetype: &'static str,
    key_from: &'static str,
    /// Operations, each sent [`COPIES`] times at once.
    rounds: usize,
    sent: usize,
    /// Answers "done now".
    done: usize,
    /// Answers that repeat the first one.
    replayed: usize,
    /// What was sent against it in each round: another operation with the same key, or in its place.
    rival: &'static str,
    /// Rivals that were answered as they should be.
    rivals_answered: usize,
    rivals_sent: usize,
    /// What the database counts.
    effect: &'static str,
    effects: i64,
    effects_expected: i64,
}

impl Scene {
    fn holds(&self) -> bool {
        self.sent == self.rounds * COPIES
            && self.done == self.rounds
            && self.replayed == self.sent - self.done
            && self.rivals_sent > 0
            && self.rivals_answered == self.rivals_sent
            && self.effects == self.effects_expected
    }
}

/// Plays all scenes; fails if anything happened twice or not at all.
pub(super) async fn run(quick: bool) -> Result<()> {
    let scenes = show(quick).await?;
    let broken: Vec<&str> = scenes.iter().filter(|scene| !scene.holds()).map(|scene| scene.archetype).collect();
    if !broken.is_empty() {
        bail!("not exactly once: {}", broken.join(", "));
    }
    println!("\nFour archetypes, one executor: each operation happened once.");
    Ok(())
}

/// The quick form: scenes that hold, and scenes that do not.
pub(super) async fn run_quick() -> Result<(usize, usize)> {
    let scenes = show(true).await?;
    let held = count(&scenes, Scene::holds);
    Ok((held, scenes.len() - held))
}

/// Plays all scenes on a server of its own, prints the table and writes the report.
async fn show(quick: bool) -> Result<[Scene; 4]> {
    println!("tools");
    let binaries = tools::postgres::provide()?;
    println!("stack\n  {}", binaries.origin);
    let cluster = Cluster {
        name: "archetypes-postgres",
        stack: "lab-archetypes",
        port: ports::free()?,
        durable: true,
        keep: false,
    };
    let server = Postgres::start(&binaries, &cluster).await?;
    let rounds = if quick { 3 } else { 25 };
    println!("scenes\n  {rounds} rounds each, {COPIES} copies at once in each round");
    let scenes = [
        fintech::play(&server, rounds).await.context("fintech")?,
        messenger::play(&server, rounds).await.context("messenger")?,
        git_push::play(&server, rounds).await.context("Git push")?,
        feed::play(&server, rounds).await.context("feed")?,
    ];
    println!("\n{}", table(&scenes));
    let figures = json!({ "copies_at_once": COPIES, "scenes": scenes });
    println!("report: {}", workspace::shown(&report::write("lab-archetypes", &figures)?));
    Ok(scenes)
}

/// A database of its own for one archetype.
struct Stage {
    executor: Executor,
    owner: Client,
}

impl Stage {
    async fn set(server: &Postgres, name: &str, schema: &str) -> Result<Self> {
        server.ensure_database(name).await?;
        let url = server.url(name);
        let owner = postgres::connect(&url).await?;
        owner.batch_execute(schema).await.context("the schema cannot be made")?;
        Ok(Self { executor: Executor::new(database(url)?), owner })
    }

    /// Runs one operation to its end.
    async fn run<O: IdempotentOperation>(&self, operation: &O) -> Result<O::Answer> {
        match self.executor.execute(operation, &invocation()).await? {
            Settled::Done(answer) => Ok(answer),
            Settled::Busy => bail!("a rival held its lock for too long"),
        }
    }

    /// Runs all of them at once.
    async fn run_all<O: IdempotentOperation>(&self, operations: &[O]) -> Result<Vec<O::Answer>> {
        try_join_all(operations.iter().map(|operation| self.run(operation))).await
    }

    /// Runs [`COPIES`] of one operation at once.
    async fn run_copies<O: IdempotentOperation + Clone>(&self, operation: &O) -> Result<Vec<O::Answer>> {
        self.run_all(&vec![operation.clone(); COPIES]).await
    }

    /// The one number that a query gives.
    async fn number(&self, sql: &str) -> Result<i64> {
        Ok(self.owner.query_one(sql, &[]).await?.try_get(0)?)
    }
}

fn database(url: String) -> Result<Database> {
    let config = DatabaseConfig { connect_timeout_ms: 5_000, ..DatabaseConfig::with_url(url, COPIES) };
    Ok(Database::new(&config)?)
}

fn invocation() -> Invocation {
    Invocation::new("lab".to_owned(), Duration::from_secs(20))
}

fn count<A>(answers: &[A], is: impl Fn(&A) -> bool) -> usize {
    answers.iter().filter(|answer| is(answer)).count()
}

fn table(scenes: &[Scene]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["archetype", "key from", "sent", "done", "replayed", "rivals", "in the database", "holds"]);
    for scene in scenes {
        table.add_row([
            scene.archetype.to_owned(),
            scene.key_from.to_owned(),
            scene.sent.to_string(),
            scene.done.to_string(),
            scene.replayed.to_string(),
            format!("{} of {}: {}", scene.rivals_answered, scene.rivals_sent, scene.rival),
            format!("{} of {} {}", scene.effects, scene.effects_expected, scene.effect),
            if scene.holds() { "yes" } else { "NO" }.to_owned(),
        ]);
    }
    for index in 2..5 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine() -> Scene {
        Scene {
            archetype: "fintech",
            key_from: "the client",
            rounds: 3,
            sent: 3 * COPIES,
            done: 3,
            replayed: 3 * COPIES - 3,
            rival: "refused",
            rivals_answered: 3,
            rivals_sent: 3,
            effect: "debits",
            effects: 3,
            effects_expected: 3,
        }
    }

    #[test]
    fn a_scene_in_which_anything_happens_twice_or_never_does_not_hold() {
        assert!(fine().holds());
        let flaws: [fn(&mut Scene); 6] = [
            |scene| scene.done = 4,
            |scene| scene.replayed -= 1,
            |scene| scene.rivals_answered = 2,
            |scene| (scene.rivals_sent, scene.rivals_answered) = (0, 0),
            |scene| scene.effects = 4,
            |scene| scene.effects = 2,
        ];
        for (number, flaw) in flaws.into_iter().enumerate() {
            let mut scene = fine();
            flaw(&mut scene);
            assert!(!scene.holds(), "flaw {number}");
        }
    }
}

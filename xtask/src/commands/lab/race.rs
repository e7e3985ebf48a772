//! `lab race`: two workers, one key, in slow motion on a real PostgreSQL. Each step is printed as it happens, and each is
//! compared with what is told about it.

mod mistakes;
mod panels;
mod product;
mod scene;
mod scratch;
mod ways;

use anyhow::Result;
use serde_json::json;

use self::scene::Scene;
use self::scratch::Scratch;
use super::shown::{self, Condition, Shown};
use super::stage::Pace;

/// Plays every scene in a database of its own on that server.
pub(super) async fn run(owner_url: &str, pace: Pace) -> Result<Shown> {
    let scratch = Scratch::create(owner_url).await?;
    let scenes = play(&scratch, pace).await;
    scratch.drop().await?;
    let scenes = scenes?;
    let mut table = shown::table(&["scene", "what the second worker gets", "what it answers", "debits"]);
    for scene in &scenes {
        table.add_row([scene.title, scene.loser, scene.answer, &scene.debits.to_string()]);
    }
    Ok(Shown {
        lab: "race",
        table,
        conditions: scenes.iter().flat_map(conditions).collect(),
        figures: json!({ "scenes": scenes }),
        picture: panels::draw(&scenes),
    })
}

async fn play(scratch: &Scratch, pace: Pace) -> Result<Vec<Scene>> {
    Ok(vec![
        ways::plain_insert(scratch, pace).await?,
        ways::on_conflict(scratch, pace).await?,
        product::create_payment(scratch, pace).await?,
        mistakes::any_error_is_a_duplicate(scratch, pace).await?,
        mistakes::code_without_constraint(scratch, pace).await?,
        mistakes::select_in_the_aborted_transaction(scratch, pace).await?,
        mistakes::repeatable_read(scratch, pace).await?,
    ])
}

fn conditions(scene: &Scene) -> Vec<Condition> {
    let steps = scene.steps.iter().map(|step| {
        let told = format!("{}: {} {} → {}", scene.title, step.who, step.does, step.told);
        Condition::new(told, step.seen.clone(), step.told == step.seen)
    });
    steps.collect()
}

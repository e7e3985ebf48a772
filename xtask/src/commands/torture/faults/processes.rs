//! Processes that die or stand still.

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::Scene;

/// Kills a process that serves, in the middle of whatever it does.
pub(super) fn kill(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let (program, place) = somebody(scene, rng)?;
    ensure!(scene.target.fleet.kill(program, place), "it is not there");
    scene.counts.add("process_killed", 1);
    Ok(())
}

/// Lets a process stand still, as between two invocations, but in the middle of one.
pub(super) fn freeze(scene: &Scene, rng: &mut fastrand::Rng) -> Result<()> {
    let (program, place) = somebody(scene, rng)?;
    let duration = Duration::from_millis(rng.u64(200..3_000));
    ensure!(scene.target.fleet.freeze(program, place, duration), "it is not there");
    scene.counts.add("process_frozen", 1);
    Ok(())
}

/// Mostly one that pays.
fn somebody(scene: &Scene, rng: &mut fastrand::Rng) -> Result<(&'static str, usize)> {
    let program =
        if rng.u8(..) < 200 { Some(scene.target.paying()) } else { rng.choice(scene.target.serving).copied() };
    let program = program.context("nobody serves")?;
    Ok((program, rng.usize(0..scene.target.fleet.count(program).max(1))))
}

//! The picture of `lab race`: a panel for each scene, a column for each worker, time going down.

use super::scene::Scene;
use crate::picture::{Anchor, Picture, colour};

const COLUMNS: u32 = 2;
const WIDTH: u32 = 700;
const LINE: u32 = 20;
/// Where the second worker's column begins.
const SECOND: u32 = 246;
/// Room for a title above and a space below.
const FRAME: u32 = 54;

/// Draws the scenes.
pub(super) fn draw(scenes: &[Scene]) -> String {
    let columns = usize::try_from(COLUMNS).unwrap_or(1);
    let heights: Vec<u32> = scenes.chunks(columns).map(|pair| pair.iter().map(height).max().unwrap_or(0)).collect();
    let mut picture =
        Picture::new(COLUMNS * WIDTH, heights.iter().sum::<u32>() + 8, "Two workers and one key, step by step");
    let mut top = 8;
    for (pair, height) in scenes.chunks(columns).zip(&heights) {
        for (column, scene) in (0..).zip(pair) {
            panel(&mut picture, column * WIDTH, top, scene);
        }
        top += height;
    }
    picture.finish()
}

fn height(scene: &Scene) -> u32 {
    u32::try_from(scene.steps.len()).unwrap_or_default() * LINE + FRAME
}

fn panel(picture: &mut Picture, left: u32, top: u32, scene: &Scene) {
    let is_mistake = scene.title.starts_with("mistake");
    let ink = if is_mistake { colour::BAD } else { colour::GOOD };
    picture.rectangle(left + 8, top, WIDTH - 16, 26, colour::SOFT);
    picture.text(left + 16, top + 18, Anchor::Start, ink, scene.title);
    for (line, step) in (0..).zip(&scene.steps) {
        let x = left + if step.who == "B" { SECOND } else { 16 };
        let y = top + 46 + line * LINE;
        // What an error's code or a lie says is what the reader is to see first.
        let notable = step.seen.starts_with(|first: char| first.is_ascii_digit()) && step.seen.contains("on ")
            || ["25P02", "40001", "0 rows"].contains(&step.seen.as_str())
            || step.seen.starts_with("\"done\"");
        let ink = if notable { colour::BAD } else { colour::INK };
        picture.text(x, y, Anchor::Start, ink, &format!("{}: {} → {}", step.who, step.does, step.seen));
    }
}

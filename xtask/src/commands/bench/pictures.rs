//! The pictures of the report: throughput over connections, latencies, the hot account.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::Found;
use crate::picture::{Anchor, Picture, colour};
use crate::workspace;

const WIDTH: u32 = 720;
const HEIGHT: u32 = 360;
/// Where the axes begin and end.
const LEFT: u32 = 80;
const RIGHT: u32 = WIDTH - 150;
const TOP: u32 = 50;
const BOTTOM: u32 = HEIGHT - 50;
const SERIES: [&str; 3] = [colour::GOOD, colour::BAD, colour::INK];

/// Writes each picture whose figures were measured, into the documents too if `draw`.
pub(crate) fn publish(found: &Found, draw: bool) -> Result<()> {
    let figures = &found.figures;
    let pictures = [
        ("bench-connections", figures.get("over_connections").and_then(over_connections)),
        ("bench-latency", figures.get("http_spread").and_then(latencies)),
        ("bench-hot-account", figures.get("hot_account").and_then(hot_account)),
    ];
    for (name, svg) in pictures.into_iter().filter_map(|(name, svg)| Some((name, svg?))) {
        let mut folders = vec![workspace::root().join("target/reports")];
        folders.extend(draw.then(|| workspace::root().join("docs/img")));
        for path in folders.into_iter().map(|folder| folder.join(format!("{name}.svg"))) {
            fs::write(&path, &svg).with_context(|| format!("cannot write {}", path.display()))?;
            println!("picture: {}", workspace::shown(&path));
        }
    }
    Ok(())
}

/// A line through points whose coordinates are shares of the axes, 0 to 1.
struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

fn over_connections(figures: &Value) -> Option<String> {
    let names: Vec<&str> = figures.get("servers")?.as_array()?.iter().filter_map(Value::as_str).collect();
    let points = figures.get("points")?.as_array()?;
    let at = |point: &Value, server: usize| point.get("per_second")?.get(server)?.as_f64();
    let most = points.iter().flat_map(|point| (0..names.len()).filter_map(move |server| at(point, server)));
    let most = most.fold(1.0, f64::max);
    let widest = points.iter().filter_map(|point| point.get("connections")?.as_f64()).fold(1.0, f64::max);
    let lines = names.iter().enumerate().map(|(server, name)| Line {
        name: (*name).to_owned(),
        points: points
            .iter()
            .filter_map(|point| Some((point.get("connections")?.as_f64()? / widest, at(point, server)? / most)))
            .collect(),
    });
    let lines: Vec<Line> = lines.collect();
    let mut picture = frame("New payments per second over connections", "connections", "payments/s");
    for share in [0.5, 1.0] {
        mark(&mut picture, (0.0, share), &format!("{:.0}", most * share));
        mark_below(&mut picture, share, &format!("{:.0}", widest * share));
    }
    draw_lines(&mut picture, &lines);
    Some(picture.finish())
}

fn latencies(figures: &Value) -> Option<String> {
    let mut series = Vec::new();
    for name in ["ours", "go", "rust"] {
        // The round in the middle stands for the others.
        let rounds = figures.get(name)?.as_array()?;
        let distribution = rounds.get(rounds.len() / 2)?.get("distribution")?.as_array()?;
        let points: Vec<(f64, f64)> =
            distribution.iter().filter_map(|point| Some((point.get(0)?.as_f64()?, point.get(1)?.as_f64()?))).collect();
        series.push((name, points));
    }
    let all = || series.iter().flat_map(|(_, points)| points.iter().map(|(_, latency)| latency.max(1.0).log10()));
    let (least, most) = (all().fold(f64::MAX, f64::min).floor(), all().fold(0.0, f64::max).ceil());
    let lines: Vec<Line> = series
        .iter()
        .map(|(name, points)| Line {
            name: (*name).to_owned(),
            points: points
                .iter()
                .map(|(share, latency)| (*share, (latency.max(1.0).log10() - least) / (most - least)))
                .collect(),
        })
        .collect();
    let mut picture = frame("Latency of a new payment, 50 connections", "share of answers", "milliseconds");
    let mut decade = least;
    while decade <= most {
        mark(&mut picture, (0.0, (decade - least) / (most - least)), &format!("{}", 10f64.powf(decade) / 1e3));
        decade += 1.0;
    }
    for share in [0.5, 0.9] {
        mark_below(&mut picture, share, &format!("{share}"));
    }
    draw_lines(&mut picture, &lines);
    Some(picture.finish())
}

fn hot_account(figures: &Value) -> Option<String> {
    let bars = figures.as_array()?;
    let value = |bar: &Value, kind: &str| bar.get(kind)?.get("median")?.as_f64();
    let most = bars.iter().filter_map(|bar| value(bar, "spread")).fold(1.0, f64::max);
    let mut picture = frame("Payments per second from many accounts, and from one", "", "payments/s");
    mark(&mut picture, (0.0, 1.0), &format!("{most:.0}"));
    for (number, bar) in (0..).zip(bars) {
        let left = LEFT + 30 + number * 220;
        for (offset, kind, ink) in [(0, "spread", colour::LINE), (70, "hot", colour::GOOD)] {
            let throughput = value(bar, kind)?;
            let top = y(throughput / most);
            picture.rectangle(left + offset, top, 60, BOTTOM - top, ink);
            picture.text(left + offset + 30, top - 6, Anchor::Middle, colour::INK, &format!("{kind} {throughput:.0}"));
        }
        picture.text(left + 65, BOTTOM + 20, Anchor::Middle, colour::INK, bar.get("name")?.as_str()?);
    }
    Some(picture.finish())
}

fn frame(title: &str, below: &str, beside: &str) -> Picture {
    let mut picture = Picture::new(WIDTH, HEIGHT, title);
    picture.text(LEFT, 24, Anchor::Start, colour::INK, title);
    picture.text(12, TOP - 8, Anchor::Start, colour::INK, beside);
    picture.text(u32::midpoint(LEFT, RIGHT), HEIGHT - 10, Anchor::Middle, colour::INK, below);
    picture.stroke((LEFT, BOTTOM), (RIGHT, BOTTOM), colour::LINE);
    picture.stroke((LEFT, TOP), (LEFT, BOTTOM), colour::LINE);
    picture
}

fn mark(picture: &mut Picture, at: (f64, f64), text: &str) {
    picture.text(LEFT - 30, y(at.1) + 4, Anchor::Middle, colour::INK, text);
    picture.stroke((LEFT, y(at.1)), (RIGHT, y(at.1)), colour::SOFT);
}

fn mark_below(picture: &mut Picture, share: f64, text: &str) {
    picture.text(x(share), BOTTOM + 18, Anchor::Middle, colour::INK, text);
}

fn draw_lines(picture: &mut Picture, lines: &[Line]) {
    for (line, ink) in lines.iter().zip(SERIES) {
        for pair in line.points.windows(2) {
            if let [from, to] = pair {
                picture.stroke((x(from.0), y(from.1)), (x(to.0), y(to.1)), ink);
            }
        }
        for point in &line.points {
            picture.disc(x(point.0), y(point.1), 3, ink, true);
        }
    }
    // Named in a column of their own: ends of lines may lie on each other.
    for (row, (line, ink)) in (0..).zip(lines.iter().zip(SERIES)) {
        picture.text(RIGHT + 16, TOP + 16 + row * 20, Anchor::Start, ink, &line.name);
    }
}

fn x(share: f64) -> u32 {
    LEFT + pixels(share, RIGHT - LEFT)
}

fn y(share: f64) -> u32 {
    BOTTOM - pixels(share, BOTTOM - TOP)
}

fn pixels(share: f64, length: u32) -> u32 {
    let pixels = share.clamp(0.0, 1.0) * f64::from(length);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and a picture's width")]
    let whole = pixels.round() as u32;
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_series_is_drawn_and_nothing_lies_outside() {
        let figures = json!({ "servers": ["ours", "Go"], "points": [
            { "connections": 1, "per_second": [100.0, 50.0] }, { "connections": 50, "per_second": [900.0, 400.0] } ] });
        let svg = over_connections(&figures).unwrap();
        assert!(svg.contains(">ours<") && svg.contains(">Go<") && svg.contains(">900<"), "{svg}");
        assert_eq!(svg.matches("<circle").count(), 4);
        assert_eq!((x(-1.0), x(2.0), y(-1.0), y(2.0)), (LEFT, RIGHT, BOTTOM, TOP));
    }

    #[test]
    fn what_was_not_measured_is_not_drawn() {
        assert_eq!(over_connections(&json!({})), None);
        assert_eq!(latencies(&json!({ "ours": [] })), None);
    }
}

//! Servers side by side over HTTP: same load generator, same PostgreSQL, same number of connections.

use anyhow::{Result, bail};
use serde_json::{Value, json};

use super::Found;
use super::driver::{HttpLoad, Kind, Load, in_turn};
use super::row::{Row, Target};
use super::servers::{self, Server};
use super::stage::{CONNECTIONS, PGX_DEFAULT, Stage};
use crate::stack::functions::AuthMode;

const CURVE: [u32; 5] = [1, 5, 10, 25, 50];

/// Measures.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let mut found = beside_the_course(stage).await?;
    found.rows.push(default_pool(stage).await?);
    let of_modes = both_modes(stage).await?;
    found.rows.extend(of_modes.rows);
    found.figures.extend(of_modes.figures);
    Ok(found)
}

/// The course's flow in Go as pgx sets its pool up by itself: fewer payments share a flush, so a hot account looks better.
async fn default_pool(stage: &Stage) -> Result<Row> {
    let server = servers::go(stage, &stage.course_url(), PGX_DEFAULT).await?;
    let what = "Go with pgx's own pool of 4 (hot, spread)";
    let loads = [Kind::Hot, Kind::Spread].map(|kind| load(stage, &server, kind, CONNECTIONS));
    let [hot, spread] = &in_turn(what, stage.pace.rounds, &loads).await?[..] else {
        bail!("a load was not measured");
    };
    let name = "course's flow in Go, pool of 4: hot beside spread";
    Ok(Row::new(name, "answers/s", &Load::throughputs(hot), &Load::throughputs(spread), Target::None))
}

async fn beside_the_course(stage: &Stage) -> Result<Found> {
    let servers = [
        servers::ours(stage, &stage.app_url, AuthMode::Internal).await?,
        servers::go(stage, &stage.course_url(), CONNECTIONS).await?,
        servers::rust(stage, &stage.course_url()).await?,
    ];
    let mut found = Found::default();
    // A p99 is told for each, and judged where it is promised.
    for (kind, what, least, p99) in [
        (Kind::Spread, "spread over HTTP", 1.0, Target::None),
        (Kind::Hot, "one hot account over HTTP", 3.0, Target::None),
        (Kind::Replay, "settled replay over HTTP", 1.0, Target::AtMost(1.0)),
    ] {
        let turns = if p99 == Target::None { stage.pace.rounds } else { stage.pace.rounds_of_a_p99() };
        let [ours, go, rust] = &rounds(stage, what, kind, turns, &servers).await?[..] else {
            bail!("a server was not measured");
        };
        for (name, theirs) in [("Go", go), ("Rust", rust)] {
            let (ours_rate, theirs_rate) = (Load::throughputs(ours), Load::throughputs(theirs));
            let name = format!("{what}, beside the course's flow in {name}");
            found.rows.push(Row::new(&*name, "answers/s", &ours_rate, &theirs_rate, Target::AtLeast(least)));
            found.rows.push(Row::new(format!("{name}: p99"), "µs", &Load::p99s(ours), &Load::p99s(theirs), p99));
        }
        let loads = json!({ "ours": ours, "go": go, "rust": rust });
        found.figures.insert(format!("http_{}", kind.as_str()), loads);
    }
    found.figures.insert("over_connections".to_owned(), curve(stage, &servers).await?);
    Ok(found)
}

async fn rounds(stage: &Stage, what: &str, kind: Kind, turns: usize, servers: &[Server]) -> Result<Vec<Vec<Load>>> {
    let names: Vec<&str> = servers.iter().map(|server| server.name).collect();
    let what = format!("{what} ({})", names.join(", "));
    let loads: Vec<_> = servers.iter().map(|server| load(stage, server, kind, CONNECTIONS)).collect();
    in_turn(&what, turns, &loads).await
}

fn load<'a>(stage: &'a Stage, server: &'a Server, kind: Kind, connections: u32) -> HttpLoad<'a> {
    HttpLoad { driver: &stage.driver, server, kind, connections }
}

/// Throughput of new payments over the number of connections, for the picture.
async fn curve(stage: &Stage, servers: &[Server]) -> Result<Value> {
    let mut points = Vec::new();
    for connections in CURVE {
        let what = format!("spread over HTTP, {connections} connections");
        let loads: Vec<_> = servers.iter().map(|server| load(stage, server, Kind::Spread, connections)).collect();
        let measured = in_turn(&what, 1, &loads).await?;
        let rates: Vec<f64> = measured.iter().flatten().map(|load| load.per_second).collect();
        points.push(json!({ "connections": connections, "per_second": rates }));
    }
    Ok(json!({ "servers": servers.iter().map(|server| server.name).collect::<Vec<_>>(), "points": points }))
}

/// Our own replay beside our own new payment, unsigned and signed. Judged is the ledger alone: here most of a replay is
/// HTTP, on both ends of it.
async fn both_modes(stage: &Stage) -> Result<Found> {
    let mut found = Found::default();
    for (mode, name) in [
        (AuthMode::Internal, "settled replay beside new payment, over HTTP"),
        (AuthMode::Hmac, "settled replay beside new payment, over HTTP and signed"),
    ] {
        let server = servers::ours(stage, &stage.app_url, mode).await?;
        let loads = [Kind::Replay, Kind::Spread].map(|kind| load(stage, &server, kind, CONNECTIONS));
        let [replay, new] = &in_turn(name, stage.pace.rounds, &loads).await?[..] else {
            bail!("a load was not measured");
        };
        found.rows.push(Row::new(name, "answers/s", &Load::throughputs(replay), &Load::throughputs(new), Target::None));
        found.figures.insert(name.to_owned(), json!({ "replay": replay, "new": new }));
    }
    Ok(found)
}

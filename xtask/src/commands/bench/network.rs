//! The same servers with a network between them and the database: Toxiproxy delays each answer of PostgreSQL by 1 ms.

use std::time::Instant;

use anyhow::{Result, bail};
use serde_json::json;

use super::Found;
use super::driver::{HttpLoad, Kind, Load, in_turn};
use super::row::{Row, Target};
use super::samples::Samples;
use super::servers;
use super::stage::{CONNECTIONS, PGX_DEFAULT, STACK, Stage};
use crate::stack::functions::AuthMode;
use crate::stack::postgres;
use crate::stack::toxiproxy::{Stream, Toxic, Toxiproxy};
use crate::tools;

const PROXY: &str = "database";
const PINGS: usize = 200;
/// So few that no processor is busy: what is left is the way to the database.
const FEW_CLIENTS: u32 = 4;

/// Measures.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let toxiproxy = Toxiproxy::start(&tools::go::toxiproxy()?, STACK).await?;
    let port = toxiproxy.proxy(PROXY, stage.port).await?;
    let through = |url: &str| url.replace(&format!("127.0.0.1:{}", stage.port), &format!("127.0.0.1:{port}"));
    toxiproxy
        .add(
            PROXY,
            &Toxic {
                name: "delay",
                kind: "latency",
                stream: Stream::Downstream,
                toxicity: 1.0,
                attributes: json!({ "latency": 1 }),
            },
        )
        .await?;
    let (near, far) = (ping(&stage.app_url).await?, ping(&through(&stage.app_url)).await?);
    println!("  a round trip: {near:.2} ms, through the delay {far:.2} ms");

    let servers = [
        servers::ours(stage, &through(&stage.app_url), AuthMode::Internal).await?,
        servers::go(stage, &through(&stage.course_url()), CONNECTIONS).await?,
        servers::go(stage, &through(&stage.course_url()), PGX_DEFAULT).await?,
    ];
    let mut found = Found::default();
    let one = |value: f64| Samples::from_iter([value]);
    found.rows.push(Row::new("round trip with the delay, beside without", "ms", &one(far), &one(near), Target::None));
    let (driver, kind) = (&stage.driver, Kind::Spread);
    let [ours, go, _] = &servers;
    let loads = [ours, go].map(|server| HttpLoad { driver, server, kind, connections: FEW_CLIENTS });
    let what = format!("spread with +1 ms and {FEW_CLIENTS} clients (ours, Go)");
    let few_clients = in_turn(&what, stage.pace.rounds, &loads).await?;
    let loads = servers.each_ref().map(|server| HttpLoad { driver, server, kind, connections: CONNECTIONS });
    let what = "spread with +1 ms (ours, Go, Go with a pool of 4)";
    let [ours, go, few] = &in_turn(what, stage.pace.rounds, &loads).await?[..] else {
        bail!("a server was not measured");
    };
    let name = "spread over HTTP, +1 ms to the database, beside the course's flow in Go";
    found.rows.push(Row::new(
        name,
        "answers/s",
        &Load::throughputs(ours),
        &Load::throughputs(go),
        Target::AtLeast(3.0),
    ));
    if let [ours, go] = &few_clients[..] {
        let (ours, go) = (Load::throughputs(ours), Load::throughputs(go));
        found.rows.push(Row::new(format!("{name}, {FEW_CLIENTS} clients"), "answers/s", &ours, &go, Target::None));
    }
    let (ours_rate, few_rate) = (Load::throughputs(ours), Load::throughputs(few));
    found.rows.push(Row::new(format!("{name}, pool of 4"), "answers/s", &ours_rate, &few_rate, Target::None));
    found.figures.insert(
        "network".to_owned(),
        json!({ "ours": ours, "go": go, "go_pool_of_4": few, "near_ms": near, "far_ms": far }),
    );
    Ok(found)
}

/// The median time of the least statement, in milliseconds.
async fn ping(url: &str) -> Result<f64> {
    let client = postgres::connect(url).await?;
    let statement = client.prepare("SELECT 1").await?;
    let mut times = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let sent = Instant::now();
        client.query_one(&statement, &[]).await?;
        times.push(sent.elapsed().as_secs_f64() * 1e3);
    }
    Ok(times.into_iter().collect::<Samples>().summary().median)
}

//! The broken network: toxics of Toxiproxy on the ways between clients and API, and between functions and database.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Scene;
use crate::stack::toxiproxy::{Stream, Toxic, Toxiproxy};

/// Which ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands::torture) enum Side {
    /// Between clients and API.
    Client,
    /// Between functions and database.
    Database,
}

impl Side {
    fn proxies(self) -> &'static [&'static str] {
        match self {
            Self::Client => &["client-1", "client-2"],
            Self::Database => &["database-1", "database-2"],
        }
    }
}

/// A way that a connection may end or crawl.
struct Kind {
    /// For the report: between clients and API, between functions and database.
    names: [&'static str; 2],
    toxic: &'static str,
    stream: Stream,
    attributes: fn(&mut fastrand::Rng) -> Value,
}

/// Each step of the protocol is cut: before the request or statement, in it, after it and before the reply, in the reply.
static KINDS: [Kind; 9] = [
    Kind {
        names: ["client_latency", "database_latency"],
        toxic: "latency",
        stream: Stream::Downstream,
        attributes: |rng| json!({ "latency": rng.u32(10..400), "jitter": rng.u32(0..200) }),
    },
    Kind {
        names: ["client_reset", "database_reset"],
        toxic: "reset_peer",
        stream: Stream::Downstream,
        attributes: |rng| json!({ "timeout": rng.u32(0..50) }),
    },
    Kind {
        // Nothing comes any more, and nobody says so.
        names: ["client_half_open", "database_half_open"],
        toxic: "timeout",
        stream: Stream::Downstream,
        attributes: |_| json!({ "timeout": 0 }),
    },
    Kind {
        names: ["client_sliced", "database_sliced"],
        toxic: "slicer",
        stream: Stream::Upstream,
        attributes: |rng| json!({ "average_size": rng.u32(8..64), "size_variation": 4, "delay": rng.u32(100..2_000) }),
    },
    Kind {
        names: ["client_bandwidth", "database_bandwidth"],
        toxic: "bandwidth",
        stream: Stream::Upstream,
        attributes: |rng| json!({ "rate": rng.u32(2..20) }),
    },
    Kind {
        names: ["client_cut_before_request", "database_cut_before_statement"],
        toxic: "limit_data",
        stream: Stream::Upstream,
        attributes: |_| json!({ "bytes": 0 }),
    },
    Kind {
        names: ["client_cut_in_request", "database_cut_in_statement"],
        toxic: "limit_data",
        stream: Stream::Upstream,
        attributes: |rng| json!({ "bytes": rng.u32(1..600) }),
    },
    Kind {
        // What was sent is executed, and the first byte of the reply closes the connection.
        names: ["client_cut_before_reply", "database_cut_before_reply"],
        toxic: "limit_data",
        stream: Stream::Downstream,
        attributes: |_| json!({ "bytes": 0 }),
    },
    Kind {
        names: ["client_cut_in_reply", "database_cut_in_reply"],
        toxic: "limit_data",
        stream: Stream::Downstream,
        attributes: |rng| json!({ "bytes": rng.u32(1..300) }),
    },
];

/// The names of all kinds.
pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.names)
}

/// Kinds are drawn like cards, so that none is long in coming.
#[derive(Default)]
pub(in crate::commands::torture) struct Decks([Mutex<Vec<usize>>; 2]);

impl Decks {
    fn draw(&self, side: Side, rng: &mut fastrand::Rng) -> Option<&'static Kind> {
        let [client, database] = &self.0;
        let deck = if side == Side::Client { client } else { database };
        let mut deck = deck.lock().unwrap_or_else(PoisonError::into_inner);
        if deck.is_empty() {
            deck.extend(0..KINDS.len());
            rng.shuffle(&mut deck);
        }
        KINDS.get(deck.pop()?)
    }
}

/// The ports of the ways through the broken network.
pub(in crate::commands::torture) struct Ways;

impl Ways {
    /// Opens the ways of one side to `upstream`, and returns their ports.
    pub(in crate::commands::torture) async fn open(
        toxiproxy: &Toxiproxy,
        side: Side,
        upstream: u16,
    ) -> Result<Vec<u16>> {
        let mut ports = Vec::new();
        for proxy in side.proxies() {
            ports.push(toxiproxy.proxy(proxy, upstream).await?);
        }
        Ok(ports)
    }
}

/// Puts a toxic on one of the ways for a while. Half of its connections are hit, or all of them.
pub(super) async fn strike(scene: &Scene, side: Side, lane: &'static str, rng: &mut fastrand::Rng) -> Result<()> {
    let proxy = rng.choice(side.proxies()).context("no way")?;
    let kind = scene.decks.draw(side, rng).context("no kind")?;
    let toxic = Toxic {
        name: lane,
        kind: kind.toxic,
        stream: kind.stream,
        toxicity: if rng.bool() { 0.5 } else { 1.0 },
        attributes: (kind.attributes)(rng),
    };
    scene.toxiproxy.add(proxy, &toxic).await?;
    tokio::time::sleep(Duration::from_millis(rng.u64(200..1_500))).await;
    scene.toxiproxy.remove(proxy, lane).await?;
    let [client, database] = kind.names;
    scene.counts.add(if side == Side::Client { client } else { database }, 1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_of_their_own() {
        let names: std::collections::HashSet<&str> = kinds().collect();
        assert_eq!(names.len(), 2 * KINDS.len());
    }

    #[test]
    fn a_deck_deals_every_kind_once_before_any_comes_again() {
        let (decks, mut rng) = (Decks::default(), fastrand::Rng::with_seed(1));
        for _ in 0..2 {
            let dealt: std::collections::HashSet<&str> =
                KINDS.iter().map(|_| decks.draw(Side::Client, &mut rng).unwrap().names[0]).collect();
            assert_eq!(dealt.len(), KINDS.len());
        }
    }
}

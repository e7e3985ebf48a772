//! The broken network of `slo`: which faults, how often, and why these.

use anyhow::Result;
use serde_json::json;

use crate::stack::toxiproxy::{Stream, Toxic, Toxiproxy};

/// The share of connections cut before the request reaches the server.
const CUT_REQUEST: f64 = 0.25;
/// The share of the others cut after the server has answered, by either of two ways to lose an answer.
const CUT_ANSWER: f64 = 1.0 / 3.0;

/// Opens the way to the API on that port through the broken network and returns its base URL.
///
/// (1 − 0.25) × (1 − 1/3) = 1/2: half of the connections carry an answer home.
pub(crate) async fn open(toxiproxy: &Toxiproxy, name: &str, api_port: u16) -> Result<String> {
    let port = toxiproxy.proxy(name, api_port).await?;
    for toxic in toxics() {
        toxiproxy.add(name, &toxic).await?;
    }
    Ok(format!("http://127.0.0.1:{port}"))
}

fn toxics() -> [Toxic; 4] {
    let latency = |name, stream| Toxic {
        name,
        kind: "latency",
        stream,
        toxicity: 1.0,
        attributes: json!({ "latency": 10, "jitter": 8 }),
    };
    [
        latency("slow_request", Stream::Upstream),
        latency("slow_answer", Stream::Downstream),
        // The first byte of the request closes the connection: the server never hears of it.
        Toxic {
            name: "cut_request",
            kind: "limit_data",
            stream: Stream::Upstream,
            toxicity: CUT_REQUEST,
            attributes: json!({ "bytes": 0 }),
        },
        // The first byte of the answer closes the connection: the payment is committed, its 200 is lost.
        Toxic {
            name: "cut_answer",
            kind: "limit_data",
            stream: Stream::Downstream,
            toxicity: CUT_ANSWER,
            attributes: json!({ "bytes": 0 }),
        },
    ]
}

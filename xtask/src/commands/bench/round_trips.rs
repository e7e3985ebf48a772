//! Round trips of one payment, counted on the wire between ledger and database.

use anyhow::Result;
use serde::Deserialize;

use super::Found;
use super::row::{Row, Target};
use super::samples::Samples;
use super::stage::Stage;

#[derive(Deserialize)]
struct RoundTrips {
    new: u32,
    replay: u32,
    lost_race: u32,
}

/// Counts, with statements that are planned each time and with prepared ones.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let address = format!("127.0.0.1:{}", stage.port);
    let url = stage.app_url.replace(&address, "{address}");
    let mut found = Found::default();
    for (mode, flag) in [("", None), (", prepared", Some("--prepared"))] {
        let arguments = ["round-trips", "--database-address", &address, "--database-url", &url];
        let arguments: Vec<String> = arguments.into_iter().chain(flag).map(str::to_owned).collect();
        let counted: RoundTrips = stage.driver.call(&arguments, &[]).await?;
        for (name, count, most) in [
            ("new payment", counted.new, 1),
            ("settled replay", counted.replay, 1),
            ("lost race", counted.lost_race, 2),
        ] {
            let samples = |count: u32| Samples::from_iter([f64::from(count)]);
            let name = format!("round trips of a {name}{mode}");
            found.rows.push(Row::new(name, "Sync messages", &samples(count), &samples(most), Target::AtMost(1.0)));
        }
    }
    Ok(found)
}

//! The ledger itself beside pgbench: the same statement on the same tables, without HTTP. Its replays beside its new
//! payments. And how much of its throughput each flow keeps when all payments come from one account.

use anyhow::Result;
use futures_util::future::BoxFuture;
use serde_json::json;

use super::Found;
use super::driver::{Kind, Subject, in_turn};
use super::pgbench::{self, Protocol};
use super::row::{Row, Target};
use super::samples::Samples;
use super::stage::{ACCOUNTS, CONNECTIONS, PGX_DEFAULT, Stage};

/// What pays.
enum Payer {
    /// The ledger, with prepared statements or without.
    Ours(Kind, bool),
    Pgbench(pgbench::Script),
}

/// One of them at work.
struct Payments<'a> {
    stage: &'a Stage,
    payer: Payer,
}

impl Subject for Payments<'_> {
    type Seen = f64;

    fn measure(&self) -> BoxFuture<'_, Result<f64>> {
        Box::pin(self.pay())
    }

    fn shown(seen: &f64) -> String {
        format!("{seen:.0}/s")
    }
}

impl Payments<'_> {
    async fn pay(&self) -> Result<f64> {
        let stage = self.stage;
        match &self.payer {
            Payer::Ours(kind, prepared) => {
                let load = stage.driver.ledger(&stage.app_url, *kind, *prepared, CONNECTIONS).await?;
                Ok(load.per_second)
            }
            Payer::Pgbench(script) => pgbench::run(stage, script).await,
        }
    }
}

/// Measures.
pub(crate) async fn run(stage: &Stage) -> Result<Found> {
    let mut found = same_statement(stage).await?;
    found.rows.extend(replays(stage).await?);
    let of_flows = hot_accounts(stage).await?;
    found.rows.extend(of_flows.rows);
    found.figures.extend(of_flows.figures);
    Ok(found)
}

async fn same_statement(stage: &Stage) -> Result<Found> {
    let subjects = [
        Payer::Ours(Kind::Spread, false),
        Payer::Pgbench(pgbench::product(stage, Protocol::Extended)),
        Payer::Ours(Kind::Spread, true),
        Payer::Pgbench(pgbench::product(stage, Protocol::Prepared)),
    ];
    let measured = samples(stage, "spread, ours and pgbench, planned each time and prepared", subjects).await?;
    let [unnamed, pgbench_unnamed, prepared, pgbench_prepared] = &measured[..] else {
        anyhow::bail!("a subject was not measured");
    };
    let mut found = Found::default();
    let target = Target::AtLeast(0.9);
    found.rows.push(Row::new(
        "spread, beside pgbench with the same SQL",
        "payments/s",
        unnamed,
        pgbench_unnamed,
        target,
    ));
    found.rows.push(Row::new(
        "spread, beside pgbench with the same SQL, prepared",
        "payments/s",
        prepared,
        pgbench_prepared,
        target,
    ));
    Ok(found)
}

async fn replays(stage: &Stage) -> Result<[Row; 4]> {
    pgbench::run(stage, &pgbench::replay(stage, Protocol::Prepared)).await?;
    let subjects = [
        Payer::Ours(Kind::Replay, true),
        Payer::Ours(Kind::Spread, true),
        Payer::Ours(Kind::Replay, false),
        Payer::Ours(Kind::Spread, false),
        Payer::Pgbench(pgbench::replay(stage, Protocol::Prepared)),
        Payer::Pgbench(pgbench::product(stage, Protocol::Prepared)),
        Payer::Pgbench(pgbench::replay(stage, Protocol::Extended)),
        Payer::Pgbench(pgbench::product(stage, Protocol::Extended)),
    ];
    let what = "settled replays and new payments, prepared and planned each time, ours and pgbench";
    let measured = samples(stage, what, subjects).await?;
    let [replay, new, replay_unnamed, new_unnamed, claim, claim_new, claim_unnamed, claim_new_unnamed] = &measured[..]
    else {
        anyhow::bail!("a subject was not measured");
    };
    let target = Target::AtLeast(3.0);
    let row = |name, replay, new, target| Row::new(name, "answers/s", replay, new, target);
    Ok([
        row("settled replay, beside new payment, prepared", replay, new, target),
        row("settled replay, beside new payment, planned each time", replay_unnamed, new_unnamed, target),
        row("settled replay by the claim, pgbench, prepared", claim, claim_new, Target::None),
        row("settled replay by the claim, pgbench, planned each time", claim_unnamed, claim_new_unnamed, Target::None),
    ])
}

async fn hot_accounts(stage: &Stage) -> Result<Found> {
    let hot = (0, 0);
    let subjects = [
        Payer::Ours(Kind::Hot, true),
        Payer::Ours(Kind::Spread, true),
        Payer::Pgbench(pgbench::course(stage, "course-hot", CONNECTIONS, hot)?),
        Payer::Pgbench(pgbench::course(stage, "course-spread", CONNECTIONS, (1, ACCOUNTS))?),
        Payer::Pgbench(pgbench::course(stage, "course-hot-few", PGX_DEFAULT, hot)?),
        Payer::Pgbench(pgbench::course(stage, "course-spread-few", PGX_DEFAULT, (1, ACCOUNTS))?),
    ];
    let what = "hot and spread: ours, the course's flow in pgbench, the same with 4 clients";
    let measured = samples(stage, what, subjects).await?;
    let [ours_hot, ours_spread, course_hot, course_spread, few_hot, few_spread] = &measured[..] else {
        anyhow::bail!("a subject was not measured");
    };
    let mut found = Found::default();
    let row = |name, hot, spread, target| Row::new(name, "payments/s", hot, spread, target);
    found.rows.extend([
        row("one hot account, beside own spread", ours_hot, ours_spread, Target::AtLeast(0.8)),
        row("course's flow in pgbench: hot beside spread", course_hot, course_spread, Target::None),
        row("course's flow in pgbench, 4 clients: hot beside spread", few_hot, few_spread, Target::None),
    ]);
    let bars = [("ours", ours_hot, ours_spread), ("course's flow, pgbench", course_hot, course_spread)];
    let bars =
        bars.map(|(name, hot, spread)| json!({ "name": name, "hot": hot.summary(), "spread": spread.summary() }));
    found.figures.insert("hot_account".to_owned(), json!(bars));
    Ok(found)
}

async fn samples<const N: usize>(stage: &Stage, what: &str, payers: [Payer; N]) -> Result<Vec<Samples>> {
    let payments = payers.map(|payer| Payments { stage, payer });
    let measured = in_turn(what, stage.pace.rounds, &payments).await?;
    Ok(measured.into_iter().map(Samples::from_iter).collect())
}

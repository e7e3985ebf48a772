//! The orders of steps: an honest one, and three that make one mistake each.

mod check_then_act;
mod commit_not_checked;
mod honest;
mod replay_pays_again;

use anyhow::Result;
use serde::Deserialize;
use tokio_postgres::GenericClient;
use uuid::Uuid;

use crate::ledger::{self, Ledger, Order, Payment};

/// What became of an order.
pub(crate) enum Outcome {
    /// Executed now.
    Executed(Payment),
    /// Executed earlier.
    Replayed(Payment),
}

/// Which mistake is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Variant {
    /// None.
    Honest,
    /// The key is looked up first and written last, in transactions of their own.
    CheckThenAct,
    /// A key that is found is answered by paying once more.
    ReplayPaysAgain,
    /// What fails inside the transaction is passed over, and COMMIT is believed.
    CommitNotChecked,
}

impl Variant {
    /// Pays.
    pub(crate) async fn pay(self, ledger: &Ledger, order: &Order) -> Result<Outcome> {
        let mut client = ledger.client().await?;
        match self {
            Self::Honest => honest::pay(&mut client, order).await,
            Self::CheckThenAct => check_then_act::pay(&client, order).await,
            Self::ReplayPaysAgain => replay_pays_again::pay(&mut client, order).await,
            Self::CommitNotChecked => commit_not_checked::pay(&mut client, order).await,
        }
    }
}

/// Moves the money and records it, as the caller's transaction or as two of their own.
async fn execute(client: &impl GenericClient, order: &Order) -> Result<Payment> {
    let status = if ledger::withdraw(client, order).await? { "succeeded" } else { "declined" };
    ledger::insert_payment(client, Uuid::new_v4(), order, status).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_chosen_by_the_names_that_the_trial_uses() {
        let names = ["honest", "check-then-act", "replay-pays-again", "commit-not-checked"];
        let variants = names.map(|name| serde_json::from_value::<Variant>(name.into()).unwrap());
        let expected = [Variant::Honest, Variant::CheckThenAct, Variant::ReplayPaysAgain, Variant::CommitNotChecked];
        assert_eq!(variants, expected);
    }
}

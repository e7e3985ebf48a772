//! The tenants and accounts of a run, made up from its seed, and what their clients sign with at the moment.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use anyhow::{Context, Result};
use payments::auth::http_signature::Signer;
use tokio_postgres::Client;
use uuid::Uuid;

use super::history::Wish;
use crate::fixtures::Tenant;
use crate::signing::Credentials;

const TENANTS: usize = 2;
/// Of each tenant, its default account included.
const ACCOUNTS: usize = 10;
/// Of these, how many run out of money again and again.
const POOR: usize = 2;
/// Minor units that no run spends.
const PLENTY: i64 = 1_000_000_000_000;
const LITTLE: i64 = 20_000;
/// Minor units of a payment at most.
const AMOUNT: i64 = 5_000;

/// One account.
#[derive(Clone, Copy)]
pub(super) struct Account {
    pub(super) id: Uuid,
    tenant: usize,
    opening: i64,
}

/// A tenant with what its clients sign with now.
struct Party {
    id: Uuid,
    default_account: Uuid,
    signer: RwLock<Arc<Signer>>,
}

/// Everybody.
pub(super) struct World {
    parties: Vec<Party>,
    accounts: Vec<Account>,
}

impl World {
    /// Makes up tenants and accounts; the database does not know them yet.
    pub(super) fn from_seed(seed: u64, master_secrets: &str) -> Result<Self> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let mut world = Self { parties: Vec::new(), accounts: Vec::new() };
        for tenant in 0..TENANTS {
            let id = uuid(&mut rng);
            let accounts: Vec<Account> = (0..ACCOUNTS)
                .map(|number| Account {
                    id: uuid(&mut rng),
                    tenant,
                    opening: if number < ACCOUNTS - POOR { PLENTY } else { LITTLE },
                })
                .collect();
            let default_account = accounts.first().context("a tenant without an account")?.id;
            let signer = RwLock::new(Arc::new(Credentials::issue(master_secrets, id, 1)?.into_signer()));
            world.parties.push(Party { id, default_account, signer });
            world.accounts.extend(accounts);
        }
        Ok(world)
    }

    /// Writes everybody into the ledger.
    pub(super) async fn settle_in(&self, ledger: &Client) -> Result<()> {
        for party in &self.parties {
            Tenant { id: party.id, name: "torture", account: party.default_account }.ensure(ledger, PLENTY).await?;
        }
        let insert = "INSERT INTO accounts (id, tenant_id, currency, balance) VALUES ($1, $2, 'EUR', $3)";
        for account in self.accounts.iter().filter(|account| !self.is_default(account.id)) {
            let tenant = self.tenant(account.tenant);
            ledger
                .execute(insert, &[&account.id, &tenant, &account.opening])
                .await
                .context("cannot fund an account")?;
        }
        Ok(())
    }

    /// What each account began with, in minor units.
    pub(super) fn openings(&self) -> HashMap<Uuid, i64> {
        self.accounts.iter().map(|account| (account.id, account.opening)).collect()
    }

    /// Accounts that run out of money, or the others.
    pub(super) fn accounts(&self, poor: bool) -> Vec<Uuid> {
        self.accounts.iter().filter(|account| (account.opening == LITTLE) == poor).map(|account| account.id).collect()
    }

    /// How many tenants there are.
    pub(super) fn tenants(&self) -> usize {
        self.parties.len()
    }

    /// The id of a tenant.
    pub(super) fn tenant(&self, tenant: usize) -> Uuid {
        self.parties.get(tenant).map(|party| party.id).unwrap_or_default()
    }

    /// What the tenant's clients sign with at the moment.
    pub(super) fn signer(&self, tenant: usize) -> Result<Arc<Signer>> {
        let party = self.parties.get(tenant).context("no such tenant")?;
        Ok(party.signer.read().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// Hands new credentials to the tenant's clients.
    pub(super) fn hand_out(&self, tenant: usize, credentials: Credentials) {
        if let Some(party) = self.parties.get(tenant) {
            *party.signer.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(credentials.into_signer());
        }
    }

    /// The wish of that number: the same in each run with this seed.
    pub(super) fn wish(&self, rng: &mut fastrand::Rng) -> Result<Wish> {
        let account = rng.choice(&self.accounts).context("no account")?;
        let is_default = self.is_default(account.id);
        let key = uuid(rng);
        Ok(Wish {
            key: if rng.bool() { key.to_string() } else { format!("order-{}", key.simple()) },
            tenant: account.tenant,
            account: account.id,
            names_account: !is_default || rng.bool(),
            recipient: uuid(rng),
            amount: rng.i64(1..=AMOUNT),
        })
    }

    fn is_default(&self, account: Uuid) -> bool {
        self.parties.iter().any(|party| party.default_account == account)
    }
}

/// A random UUID that the seed decides.
fn uuid(rng: &mut fastrand::Rng) -> Uuid {
    uuid::Builder::from_random_bytes(rng.u128(..).to_be_bytes()).into_uuid()
}

/// A generator of its own for one part of a run: what it draws does not depend on how fast the others are.
pub(super) fn dice(seed: u64, part: u64) -> fastrand::Rng {
    fastrand::Rng::with_seed(seed ^ part.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stack::functions::LOCAL_MASTER_SECRETS;

    #[test]
    fn the_seed_decides_every_wish() {
        let wish = |seed, number| {
            let world = World::from_seed(seed, LOCAL_MASTER_SECRETS).unwrap();
            serde_json::to_string(&world.wish(&mut dice(seed, number)).unwrap()).unwrap()
        };
        assert_eq!(wish(1, 7), wish(1, 7));
        assert_ne!(wish(1, 7), wish(1, 8));
        assert_ne!(wish(1, 7), wish(2, 7));
    }
}

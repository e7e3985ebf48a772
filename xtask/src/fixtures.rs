//! Tenants and accounts for people and test loads to pay with.
//!
//! Writes to the ledger as its owner: no route of the API creates a tenant.

use anyhow::{Context, Result};
use tokio_postgres::Client;
use uuid::Uuid;

/// The password that the functions' role gets on a cluster of our own, which only this machine can reach.
pub(crate) const APP_PASSWORD: &str = "local-development-only";
/// The functions' role.
pub(crate) const APP_ROLE: &str = "payments_app";

/// A tenant and its default account.
pub(crate) struct Tenant<'a> {
    /// The tenant's id.
    pub(crate) id: Uuid,
    /// A name for people.
    pub(crate) name: &'a str,
    /// The account that pays when a request names none.
    pub(crate) account: Uuid,
}

impl Tenant<'_> {
    /// Creates the tenant with a signing key and an account of at least `floor` minor units; what is already there is kept.
    pub(crate) async fn ensure(&self, ledger: &Client, floor: i64) -> Result<()> {
        let insert_tenant = "INSERT INTO tenants (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING";
        ledger.execute(insert_tenant, &[&self.id, &self.name]).await.context("cannot create a tenant")?;
        ensure_account(ledger, self.id, self.account, floor).await?;
        let set_default = "UPDATE tenants SET default_account_id = $2 WHERE id = $1";
        ledger.execute(set_default, &[&self.id, &self.account]).await.context("cannot set a default account")?;
        ensure_signing_key(ledger, self.id, 1).await?;
        Ok(())
    }
}

/// Makes a version of a tenant's signing key known; says whether it was new.
pub(crate) async fn ensure_signing_key(ledger: &Client, tenant: Uuid, version: i32) -> Result<bool> {
    let statement = "INSERT INTO signing_keys (tenant_id, version) VALUES ($1, $2) ON CONFLICT DO NOTHING";
    let added = ledger.execute(statement, &[&tenant, &version]).await.context("cannot register a signing key")?;
    Ok(added == 1)
}

/// Creates an account in EUR with `floor` minor units, or tops an existing one up to that.
pub(crate) async fn ensure_account(ledger: &Client, tenant: Uuid, account: Uuid, floor: i64) -> Result<()> {
    let top_up = "UPDATE accounts SET balance = greatest(balance, $2) WHERE id = $1";
    let is_there = ledger.execute(top_up, &[&account, &floor]).await.context("cannot fund an account")? == 1;
    if !is_there {
        let open = "INSERT INTO accounts (id, tenant_id, currency, balance) VALUES ($1, $2, 'EUR', $3)";
        ledger.execute(open, &[&account, &tenant, &floor]).await.context("cannot open an account")?;
    }
    Ok(())
}

/// The account's balance in minor units.
pub(crate) async fn balance(ledger: &Client, account: Uuid) -> Result<i64> {
    let row = ledger.query_one("SELECT balance FROM accounts WHERE id = $1", &[&account]).await?;
    Ok(row.try_get(0)?)
}

/// Gives the functions' role a password and returns the URL that it logs in with.
pub(crate) async fn app_url(ledger: &Client, owner_url: &str, password: &str) -> Result<String> {
    // Utility statements take no parameters; the password is one of ours, without quotes.
    let statement = format!("ALTER ROLE {APP_ROLE} PASSWORD '{password}'");
    ledger.batch_execute(&statement).await.context("cannot give the functions' role a password")?;
    with_login(owner_url, APP_ROLE, password)
}

/// The same URL with another login.
fn with_login(url: &str, user: &str, password: &str) -> Result<String> {
    let (scheme, rest) = url.split_once("://").context("DATABASE_URL is no URL: expected postgres://…")?;
    let authority_end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(authority_end);
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    Ok(format!("{scheme}://{user}:{password}@{host}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_login_is_replaced_and_the_rest_of_the_url_kept() {
        let with = |url| with_login(url, "app", "secret").unwrap();
        assert_eq!(
            with("postgres://postgres@127.0.0.1:5433/payments"),
            "postgres://app:secret@127.0.0.1:5433/payments"
        );
        assert_eq!(
            with("postgresql://a:b%40c@db/x?connect_timeout=3"),
            "postgresql://app:secret@db/x?connect_timeout=3"
        );
        assert_eq!(with("postgres://localhost?dbname=x"), "postgres://app:secret@localhost?dbname=x");
    }

    #[test]
    fn a_text_that_is_no_url_is_refused() {
        assert!(with_login("host=localhost", "app", "secret").is_err());
    }
}

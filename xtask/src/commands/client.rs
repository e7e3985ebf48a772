//! `cargo xtask client`: creates tenants and rotates their signing keys. Writes to the ledger as its owner.
//!
//! A secret is derived, printed once and stored nowhere.

use anyhow::{Context, Result, ensure};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use tokio_postgres::Client;
use uuid::Uuid;

use crate::fixtures::{self, Tenant};
use crate::signing::Credentials;
use crate::stack::postgres;

/// Options of `client`.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The ledger's owner's connection URL
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database_url: String,
    /// The master secrets in base64, separated by commas; new secrets come from the first
    #[arg(long, env = "MASTER_SECRETS", hide_env_values = true)]
    master_secrets: String,
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Create a tenant with a default account and the first version of its signing key
    Create {
        /// A name for people
        #[arg(long)]
        name: String,
        /// Minor units of EUR that its account starts with
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
        balance: i64,
    },
    /// Issue the next version of a tenant's signing key; the versions before it stay valid
    Rotate {
        /// The tenant
        #[arg(long)]
        tenant: Uuid,
    },
    /// Retire one version of a tenant's signing key; effective with the next request
    Retire {
        /// The tenant
        #[arg(long)]
        tenant: Uuid,
        /// The version
        #[arg(long, value_parser = clap::value_parser!(i32).range(1..))]
        version: i32,
    },
}

/// Does what was asked and prints it.
pub(crate) async fn run(arguments: &Arguments) -> Result<()> {
    let ledger = postgres::connect(&arguments.database_url).await?;
    let masters = &arguments.master_secrets;
    match &arguments.action {
        Action::Create { name, balance } => {
            let tenant = Tenant { id: Uuid::new_v4(), name, account: Uuid::new_v4() };
            // Before anything is written: a master secret that is not usable must not leave a tenant without a key.
            let credentials = Credentials::issue(masters, tenant.id, 1)?;
            tenant.ensure(&ledger, *balance).await?;
            print(&credentials, Some(&tenant));
        }
        Action::Rotate { tenant } => {
            let version = next_version(&ledger, *tenant).await?;
            let credentials = Credentials::issue(masters, *tenant, u32::try_from(version)?)?;
            let issued = fixtures::ensure_signing_key(&ledger, *tenant, version).await?;
            ensure!(issued, "another rotation issued version {version} at the same moment: try again");
            print(&credentials, None);
        }
        Action::Retire { tenant, version } => {
            retire(&ledger, *tenant, *version).await?;
            println!("{tenant}.{version} is retired");
        }
    }
    Ok(())
}

async fn next_version(ledger: &Client, tenant: Uuid) -> Result<i32> {
    let sql = "SELECT max(s.version) FROM tenants t LEFT JOIN signing_keys s ON s.tenant_id = t.id \
               WHERE t.id = $1 GROUP BY t.id";
    let row = ledger.query_opt(sql, &[&tenant]).await?.with_context(|| format!("there is no tenant {tenant}"))?;
    Ok(row.try_get::<_, Option<i32>>(0)?.unwrap_or(0) + 1)
}

async fn retire(ledger: &Client, tenant: Uuid, version: i32) -> Result<()> {
    let sql = "UPDATE signing_keys SET retired_at = coalesce(retired_at, now()) WHERE tenant_id = $1 AND version = $2";
    let retired = ledger.execute(sql, &[&tenant, &version]).await?;
    ensure!(retired == 1, "tenant {tenant} has no signing key of version {version}");
    Ok(())
}

fn print(credentials: &Credentials, created: Option<&Tenant<'_>>) {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    if let Some(tenant) = created {
        table.add_row(["tenant", &tenant.id.to_string()]);
        table.add_row(["account", &tenant.account.to_string()]);
    }
    table.add_row(["key id", &credentials.key_id.to_string()]);
    table.add_row(["secret (base64)", &credentials.secret_base64()]);
    println!("{table}\nHand the secret over now: it is not stored and not shown again.");
}

//! A pgbouncer in transaction mode in front of one database: what RDS Proxy is to the functions. It has a name of RDS
//! with a certificate for it, asks for no password, and logs in to the server by itself.
//!
//! Knows logins and certificates; not what is sent through it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::ports;
use super::process::{Process, Stop};
use super::server_user::ServerUser;
use crate::workspace;

const HOST: &str = "payments.proxy-local.eu-central-1.rds.amazonaws.com";
const START_LIMIT: Duration = Duration::from_secs(10);

/// Where it logs in.
pub(crate) struct Server<'a> {
    /// The port on this machine.
    pub(crate) port: u16,
    /// The database.
    pub(crate) database: &'a str,
    /// The role.
    pub(crate) user: &'a str,
    /// Its password, without spaces and quotes.
    pub(crate) password: &'a str,
}

/// A running pgbouncer.
pub(crate) struct PgBouncer {
    process: Process,
    home: PathBuf,
    url: String,
}

impl PgBouncer {
    /// Starts it with one connection to the server, and waits until it listens.
    pub(crate) async fn start(binary: &Path, stack: &'static str, server: &Server<'_>) -> Result<Self> {
        let user = ServerUser::choose()?;
        let home = user.home(&format!("{stack}-pgbouncer"))?;
        let port = ports::free()?;
        certify(&home).context("cannot make a certificate")?;
        let ini = home.join("pgbouncer.ini");
        fs::write(&ini, settings(server, port, &home))?;
        let mut command = user.command(binary);
        command.arg(&ini);
        let log = workspace::logs(stack).join("pgbouncer.log");
        let process = Process::start("pgbouncer", command, Stop::Group, log)?;
        let url =
            format!("postgres://{}@{HOST}:{port}/{}?hostaddr=127.0.0.1&sslmode=require", server.user, server.database);
        let mut started = Self { process, home, url };
        started.process.until_listening(port, START_LIMIT).await?;
        Ok(started)
    }

    /// The role's URL of the database through it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The root to trust.
    pub(crate) fn ca_file(&self) -> PathBuf {
        self.home.join("ca.pem")
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        self.process.stop();
        // What is left does no harm: the next start writes it anew.
        let _ = fs::remove_dir_all(&self.home);
    }
}

/// Writes a root, a certificate from it for the host's name and its key. Readable by all: they are worth nothing, and the
/// server may run as another user.
fn certify(home: &Path) -> Result<()> {
    let root_key = KeyPair::generate()?;
    let mut root = CertificateParams::default();
    // Two names: whoever is called like its issuer is taken for a root.
    root.distinguished_name.push(DnType::CommonName, "a local root");
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    fs::write(home.join("ca.pem"), root.self_signed(&root_key)?.pem())?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new([HOST.to_owned()])?.signed_by(&key, &Issuer::new(root, root_key))?;
    fs::write(home.join("server.crt"), certificate.pem())?;
    Ok(fs::write(home.join("server.key"), key.serialize_pem())?)
}

fn settings(server: &Server<'_>, port: u16, home: &Path) -> String {
    let Server { port: server_port, database, user, password } = server;
    let home = home.display();
    format!(
        "[databases]\n\
         {database} = host=127.0.0.1 port={server_port} user={user} password={password}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         pool_mode = transaction\n\
         default_pool_size = 1\n\
         auth_type = any\n\
         client_tls_sslmode = require\n\
         client_tls_cert_file = {home}/server.crt\n\
         client_tls_key_file = {home}/server.key\n"
    )
}

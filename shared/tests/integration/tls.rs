//! Encrypted connections with a fresh password each, through a real pgbouncer as through RDS Proxy. Whoever cannot prove
//! to be the server gets no password and no statement, and the log says why.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use payments::config::{DatabaseConfig, MigrationConfig};
use payments::repositories::{Database, PasswordSource, PostgresLedger, migrations};

use crate::support::certificates::{Authority, Validity};
use crate::support::database::{self, MIGRATION, config, ledger_with};
use crate::support::pgbouncer::Settings;
use crate::support::tls_postgres::TlsPostgres;
use crate::support::{Api, Ledger, Log, Pay, PgBouncer, TestDatabase, Wire};

/// What a client says before it knows whether the server encrypts: `SSLRequest`, and nothing else.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// A folder of one test with `ca.pem`, `server.crt` and `server.key`.
struct Certificates(PathBuf);

impl Certificates {
    /// A root, and a certificate of that authority for a host.
    fn new(name: &str, trusted: &Authority, issuer: &Authority, host: &str, validity: Validity) -> Self {
        let folder = std::env::temp_dir().join(format!("certificates-{name}"));
        std::fs::create_dir(&folder).unwrap();
        trusted.write_root(&folder);
        issuer.write_server(&folder, host, validity);
        Self(folder)
    }

    /// A current certificate for the address that the tests connect to.
    fn good(name: &str) -> Self {
        let authority = Authority::new();
        Self::new(name, &authority, &authority, "127.0.0.1", Validity::Current)
    }

    fn root(&self) -> PathBuf {
        self.0.join("ca.pem")
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The settings of the functions for an encrypted connection on a pool of one.
fn encrypted(url: &str, ca_file: PathBuf) -> DatabaseConfig {
    DatabaseConfig { ca_file: Some(ca_file), ..config(requiring_tls(url), 1) }
}

fn requiring_tls(url: &str) -> String {
    let mut url: url::Url = url.parse().unwrap();
    url.set_query(Some("sslmode=require"));
    url.to_string()
}

/// A pgbouncer with that certificate that asks for no password.
async fn pgbouncer(database: &TestDatabase, tls: Option<&Path>) -> PgBouncer {
    let settings = Settings { tls: tls.map(Path::to_path_buf), ..Settings::default() };
    PgBouncer::with(&database.app_url(), database.name(), settings).await
}

/// Passwords that work once: pgbouncer takes each out of a table when it checks it.
struct OneTimePasswords {
    made: Arc<Mutex<Vec<String>>>,
    source: PasswordSource,
}

impl OneTimePasswords {
    async fn new(database: &TestDatabase) -> Self {
        let owner = Arc::new(database.owner().await);
        owner.batch_execute("CREATE TABLE passwords (name text PRIMARY KEY, password text NOT NULL)").await.unwrap();
        let made = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&made);
        let source: PasswordSource = Arc::new(move || {
            let (owner, log) = (Arc::clone(&owner), Arc::clone(&log));
            Box::pin(async move {
                // As long as an IAM token.
                let password = format!("{}{}", uuid::Uuid::new_v4().simple(), "x".repeat(800));
                let sql = "INSERT INTO passwords VALUES ('payments_app', $1)
                           ON CONFLICT (name) DO UPDATE SET password = excluded.password";
                owner.execute(sql, &[&password]).await?;
                log.lock().unwrap().push(password.clone());
                Ok(password)
            })
        });
        Self { made, source }
    }

    fn made(&self) -> Vec<String> {
        self.made.lock().unwrap().clone()
    }

    /// How pgbouncer checks them. Like RDS, it is told the password itself, inside TLS.
    fn settings(folder: &Path, tls: &Path) -> Settings {
        let users = folder.join("users");
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        std::fs::set_permissions(&users, PermissionsExt::from_mode(0o644)).unwrap();
        Settings {
            tls: Some(tls.to_path_buf()),
            logins: format!(
                "auth_type = plain\n\
                 auth_file = {}\n\
                 auth_query = DELETE FROM passwords WHERE name = $1 RETURNING name, password",
                users.display()
            ),
            server: "auth_user=postgres".to_owned(),
            ..Settings::default()
        }
    }
}

#[tokio::test]
async fn payments_pass_with_a_fresh_password_for_each_connection() {
    let (_, ledger, database) = Api::with_database().await;
    let certificates = Certificates::good(database.name());
    let passwords = OneTimePasswords::new(&database).await;
    let settings = OneTimePasswords::settings(&certificates.0, &certificates.0);
    let proxy = PgBouncer::with(&database.app_url(), database.name(), settings).await;
    let wire = Wire::to(&proxy.url()).await;
    let config = encrypted(&wire.url(), certificates.root());
    let connected = Database::with_passwords(&config, Arc::clone(&passwords.source)).unwrap();
    let api = Api::new(&PostgresLedger::new(connected));

    let paid = api.pay(Pay::new(ledger.t1, "k")).await;
    paid.assert_executed();
    assert_eq!(paid.round_trips, 1);
    api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&paid);
    assert_eq!(passwords.made().len(), 1, "one connection, one password");

    wire.cut().await;
    api.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&paid);
    wire.cut().await;
    api.pay(Pay::new(ledger.t1, "k2")).await.assert_executed();
    let made = passwords.made();
    assert_eq!(made.len(), 3, "a password for each connection");

    // A password that was used opens no further connection.
    let used = made[2].clone();
    let stale: PasswordSource = Arc::new(move || {
        let used = used.clone();
        Box::pin(async move { Ok(used) })
    });
    let refused = Api::new(&PostgresLedger::new(Database::with_passwords(&config, stale).unwrap()));
    refused.pay(Pay::new(ledger.t1, "k3")).await.assert_unavailable();

    ledger.assert_t1(5_000, 2).await;
    let heard = String::from_utf8_lossy(&wire.heard()).into_owned();
    for secret in made.iter().map(String::as_str).chain(["payments_app", "INSERT"]) {
        assert!(!heard.contains(secret), "{secret} went over the wire in clear");
    }
}

#[tokio::test]
async fn ten_encrypted_connections_share_one_server_connection() {
    let (_, ledger, database) = Api::with_database().await;
    let certificates = Certificates::good(database.name());
    let proxy = pgbouncer(&database, Some(&certificates.0)).await;
    let api = Api::new(&ledger_with(&DatabaseConfig { pool_size: 10, ..encrypted(&proxy.url(), certificates.root()) }));

    let answers = join_all((0..10).map(|_| api.pay(Pay::new(ledger.t1, "k")))).await;

    assert!(answers.iter().all(|answer| answer.status == 200), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| !answer.is_replay()).count(), 1);
    ledger.assert_t1(7_500, 1).await;
}

/// Asserts that a payment to that server is a 503 whose cause in the log is `cause`, and that the server, and whoever
/// listens, learned nothing but that someone called.
async fn assert_refused(database: &TestDatabase, tls: Option<&Certificates>, ca_file: Option<PathBuf>, cause: &str) {
    let ledger = Ledger::new(database.owner().await).await;
    let proxy = pgbouncer(database, tls.map(|certificates| certificates.0.as_path())).await;
    let wire = Wire::to(&proxy.url()).await;
    let api = Api::new(&ledger_with(&DatabaseConfig { ca_file, ..config(requiring_tls(&wire.url()), 1) }));
    let (log, _guard) = Log::of_functions();

    let answer = api.pay(Pay::new(ledger.t1, "k")).await;

    answer.assert_unavailable();
    assert_eq!(answer.round_trips, 0);
    ledger.assert_noop().await;
    let lines = log.lines();
    let line = lines.iter().find(|line| line["message"] == "no answer from the ledger").unwrap();
    let logged = line["cause"].as_str().unwrap();
    assert!(logged.starts_with("no connection: no session with the database: "), "{logged}");
    assert!(logged.contains(cause), "{logged}");
    let heard = wire.heard();
    assert!(heard.starts_with(&SSL_REQUEST), "{heard:?}");
    assert!(!String::from_utf8_lossy(&heard).contains("payments_app"), "the login went over the wire");
    if tls.is_none() {
        assert!(heard.chunks(8).all(|call| call == SSL_REQUEST), "{heard:?}");
    }
}

#[tokio::test]
async fn a_certificate_of_an_authority_that_is_not_trusted_is_refused() {
    let database = TestDatabase::new().await;
    let (trusted, other) = (Authority::new(), Authority::new());
    let certificates = Certificates::new(database.name(), &trusted, &other, "127.0.0.1", Validity::Current);

    let cause = "certificate verify failed";
    assert_refused(&database, Some(&certificates), Some(certificates.root()), cause).await;
}

#[tokio::test]
async fn without_a_file_of_roots_only_amazons_are_trusted() {
    let database = TestDatabase::new().await;
    let certificates = Certificates::good(database.name());

    assert_refused(&database, Some(&certificates), None, "unable to get local issuer certificate").await;
}

#[tokio::test]
async fn a_certificate_for_another_host_is_refused() {
    let database = TestDatabase::new().await;
    let authority = Authority::new();
    let certificates = Certificates::new(database.name(), &authority, &authority, "proxy.example", Validity::Current);

    assert_refused(&database, Some(&certificates), Some(certificates.root()), "IP address mismatch").await;
}

#[tokio::test]
async fn the_name_in_the_url_is_the_one_that_is_checked() {
    let database = TestDatabase::new().await;
    let authority = Authority::new();
    let certificates = Certificates::new(database.name(), &authority, &authority, "localhost", Validity::Current);
    let proxy = pgbouncer(&database, Some(&certificates.0)).await;
    let ledger = Ledger::new(database.owner().await).await;
    let by_name = proxy.url().replace("127.0.0.1", "localhost");

    let api = |url: &str| Api::new(&ledger_with(&encrypted(url, certificates.root())));

    api(&proxy.url()).pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();
    api(&by_name).pay(Pay::new(ledger.t1, "k")).await.assert_executed();
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let database = TestDatabase::new().await;
    let authority = Authority::new();
    let certificates = Certificates::new(database.name(), &authority, &authority, "127.0.0.1", Validity::Expired);

    assert_refused(&database, Some(&certificates), Some(certificates.root()), "certificate has expired").await;
}

#[tokio::test]
async fn a_server_that_speaks_plainly_only_is_refused_and_told_nothing() {
    let database = TestDatabase::new().await;

    assert_refused(&database, None, None, "server does not support TLS").await;
}

#[tokio::test]
async fn an_iam_login_that_cannot_sign_sends_nothing_and_says_so() {
    let (_, ledger, database) = Api::with_database().await;
    let certificates = Certificates::good(database.name());
    let proxy = pgbouncer(&database, Some(&certificates.0)).await;
    let wire = Wire::to(&proxy.url()).await;
    let failing: PasswordSource = Arc::new(|| Box::pin(async { Err("no credentials in the environment".into()) }));
    let config = encrypted(&wire.url(), certificates.root());
    let api = Api::new(&PostgresLedger::new(Database::with_passwords(&config, failing).unwrap()));
    let (log, _guard) = Log::of_functions();

    api.pay(Pay::new(ledger.t1, "k")).await.assert_unavailable();

    let cause = "no connection: no token for the database could be signed: no credentials in the environment";
    assert!(log.text().contains(cause), "{}", log.text());
    assert_eq!(wire.heard(), Vec::<u8>::new());
}

#[tokio::test]
async fn postgresql_itself_is_migrated_and_paid_from_over_tls() {
    let name = uuid::Uuid::new_v4().simple().to_string();
    let certificates = Certificates::good(&name);
    let server = TlsPostgres::start(&name, &certificates.0).await;
    let owner = MigrationConfig { ca_file: Some(certificates.root()), ..MigrationConfig::with_url(server.url()) };

    let migrated = {
        let _turn = MIGRATION.lock().await;
        migrations::run(&owner).await.unwrap()
    };
    assert!(!migrated.applied.is_empty());
    let distrusting = migrations::run(&MigrationConfig::with_url(server.url())).await;
    assert!(matches!(distrusting, Err(migrations::MigrationError::Connection(_))), "{distrusting:?}");

    // The schema's owner looks from the outside by the same way.
    let settings = Settings {
        tls: Some(certificates.0.clone()),
        server: "user=payments_app".to_owned(),
        logins: format!(
            "auth_type = any\n\
             server_tls_sslmode = verify-full\n\
             server_tls_ca_file = {}",
            certificates.root().display()
        ),
        ..Settings::default()
    };
    let plain = database::as_app(&server.url());
    let proxy = PgBouncer::with(&plain, &name, settings).await;
    let client = connect_encrypted(&server.url(), &certificates.root()).await;
    let ledger = Ledger::new(client).await;
    let direct = Api::new(&ledger_with(&encrypted(&plain, certificates.root())));
    let behind_proxy = Api::new(&ledger_with(&encrypted(&proxy.url(), certificates.root())));

    let paid = direct.pay(Pay::new(ledger.t1, "k")).await;
    paid.assert_executed();
    behind_proxy.pay(Pay::new(ledger.t1, "k")).await.assert_replays(&paid);
    ledger.assert_t1(7_500, 1).await;
    let encrypted = "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
                     WHERE a.usename = 'payments_app' AND s.ssl";
    assert_eq!(ledger.owner.query_one(encrypted, &[]).await.unwrap().get::<_, i64>(0), 2);
}

async fn connect_encrypted(url: &str, ca_file: &Path) -> tokio_postgres::Client {
    let root = native_tls::Certificate::from_pem(&std::fs::read(ca_file).unwrap()).unwrap();
    let tls = native_tls::TlsConnector::builder().add_root_certificate(root).build().unwrap();
    let connector = postgres_native_tls::MakeTlsConnector::new(tls);
    let (client, connection) = tokio_postgres::connect(url, connector).await.unwrap();
    tokio::spawn(connection);
    client
}

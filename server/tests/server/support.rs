//! A server process of one test, its database, and a client.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use payments::config::MigrationConfig;
use payments::repositories::migrations;
use reqwest::{Method, RequestBuilder, Response};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio_postgres::NoTls;
use uuid::Uuid;

/// A running server with a database of its own, in internal mode, and a tenant with 10,000 minor units.
pub(crate) struct Server {
    process: Child,
    base_url: String,
    client: reqwest::Client,
    pub(crate) tenant: Uuid,
    pub(crate) account: Uuid,
    pub(crate) owner: tokio_postgres::Client,
}

impl Server {
    /// Starts one with these settings beside the usual ones.
    pub(crate) async fn start(settings: &[(&str, &str)]) -> Self {
        let database = create_database().await;
        let owner = connect(&database).await;
        let (tenant, account) = create_tenant(&owner).await;
        let mut app_url: url::Url = database.parse().unwrap();
        app_url.set_username("payments_app").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_server"));
        command.env("LISTEN_ADDRESS", "127.0.0.1:0").env("DATABASE_URL", app_url.as_str());
        command.env("AUTH_MODE", "internal").envs(settings.iter().copied()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let address = address_in_log(&mut process);
        // No connection is kept: after a signal a client that holds an idle one would try it first.
        let client = reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap();
        Self { process, base_url: format!("http://{address}"), client, tenant, account, owner }
    }

    /// A request to a path.
    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.base_url)).header("Tenant-Id", self.tenant.to_string())
    }

    /// A payment of 2500 with that key.
    pub(crate) fn payment(&self, key: &str) -> RequestBuilder {
        let body = format!(r#"{{"amount":2500,"recipient_id":"{}"}}"#, Uuid::nil());
        let request = self.request(Method::POST, "/api/v1/payments").header("Idempotency-Key", key);
        request.header("Content-Type", "application/json").body(body)
    }

    /// Asks the process to end.
    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_raw(self.process.id().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    }

    /// Waits until the process has ended, and says whether it ended well.
    pub(crate) async fn ended_well(&mut self) -> bool {
        let process = &mut self.process;
        until("the server ends", async || process.try_wait().unwrap().is_some()).await;
        self.process.wait().unwrap().success()
    }

    /// Whether nobody listens any more.
    pub(crate) async fn refuses_connections(&self) -> bool {
        tokio::net::TcpStream::connect(self.address()).await.is_err()
    }

    /// Host and port.
    pub(crate) fn address(&self) -> &str {
        self.base_url.trim_start_matches("http://")
    }

    pub(crate) async fn balance(&self) -> i64 {
        self.owner.query_one("SELECT balance FROM accounts WHERE id = $1", &[&self.account]).await.unwrap().get(0)
    }

    /// Lets every payment wait, before it has done anything, until the lock is released.
    pub(crate) async fn hold_payments(&self) {
        self.owner.batch_execute("BEGIN; LOCK TABLE payments IN ACCESS EXCLUSIVE MODE").await.unwrap();
    }

    pub(crate) async fn release_payments(&self) {
        self.owner.batch_execute("COMMIT").await.unwrap();
    }

    /// Waits until so many payments wait for the lock.
    pub(crate) async fn until_held(&self, payments: i64) {
        let sql = "SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database \
                   WHERE NOT granted AND datname = current_database()";
        until("payments wait", async || self.owner.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) == payments)
            .await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What a client received.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    /// Waits for an answer, and asserts what each has.
    pub(crate) async fn to(request: RequestBuilder) -> Self {
        Self::of(request.send().await.unwrap()).await
    }

    pub(crate) async fn of(response: Response) -> Self {
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let answer = Self { status, headers, body: response.text().await.unwrap() };
        assert_eq!(answer.header("x-request-id").len(), 36, "{answer:?}");
        assert_eq!(answer.header("cache-control"), "no-store");
        answer
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn assert_problem(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(self.json()["code"], code);
    }
}

/// Waits for a condition, at most ten seconds.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition().await {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Where the server says that it listens. The rest of its log is read and dropped, or it would wait for a reader.
fn address_in_log(process: &mut Child) -> String {
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.find(|line| line.contains("\"listening\"")).unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    serde_json::from_str::<Value>(&first).unwrap()["address"].as_str().unwrap().to_owned()
}

async fn create_database() -> String {
    static MIGRATION: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    let server = std::env::var("TEST_DATABASE_URL")
        .unwrap_or_else(|_| panic!("TEST_DATABASE_URL is not set: run the tests with `cargo xtask test`"));
    let name = format!("server_{}", Uuid::new_v4().simple());
    connect(&server).await.batch_execute(&format!("CREATE DATABASE {name}")).await.unwrap();
    let mut url: url::Url = server.parse().unwrap();
    url.set_path(&name);
    // Roles belong to the whole server: one migration at a time.
    let _turn = MIGRATION.lock().await;
    migrations::run(&MigrationConfig::with_url(url.to_string())).await.unwrap();
    // A payment that a test holds must not give up by itself.
    let patient = format!("ALTER ROLE payments_app IN DATABASE {name} SET lock_timeout = 0");
    connect(url.as_str()).await.batch_execute(&patient).await.unwrap();
    url.to_string()
}

async fn create_tenant(owner: &tokio_postgres::Client) -> (Uuid, Uuid) {
    let (tenant, account) = (Uuid::new_v4(), Uuid::new_v4());
    owner.execute("INSERT INTO tenants (id, name) VALUES ($1, 'test')", &[&tenant]).await.unwrap();
    let sql = "INSERT INTO accounts (id, tenant_id, currency, balance) VALUES ($1, $2, 'EUR', 10000)";
    owner.execute(sql, &[&account, &tenant]).await.unwrap();
    let sql = "UPDATE tenants SET default_account_id = $2 WHERE id = $1";
    owner.execute(sql, &[&tenant, &account]).await.unwrap();
    (tenant, account)
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

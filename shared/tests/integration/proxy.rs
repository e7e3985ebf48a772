//! Behind a transaction-pooling proxy, as RDS Proxy is one: a real pgbouncer with a single server connection.

use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use futures_util::future::join_all;

use crate::support::database::{config, ledger_with};
use crate::support::{Api, Hold, Pay, TestDatabase, env, until};

/// A pgbouncer of this test; stopped and removed at its end.
struct PgBouncer {
    process: Child,
    folder: PathBuf,
    url: url::Url,
}

impl PgBouncer {
    async fn start(database: &TestDatabase, server_connections: usize) -> Self {
        let mut url: url::Url = database.app_url().parse().unwrap();
        let folder = std::env::temp_dir().join(format!("pgbouncer-{}", database.name()));
        std::fs::create_dir(&folder).unwrap();
        let ini = folder.join("pgbouncer.ini");
        let port = free_port();
        let settings = settings(&url, port, server_connections);
        std::fs::write(&ini, settings).unwrap();
        let mut command = Command::new(env("PGBOUNCER_BIN"));
        // It refuses to serve as root, so it is told whom to become.
        if std::fs::metadata(&ini).unwrap().uid() == 0 {
            command.args(["--user", "nobody"]);
        }
        let log = std::fs::File::create(folder.join("log")).unwrap();
        let process = command.arg(&ini).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        url.set_port(Some(port)).unwrap();
        let started = Self { process, folder, url };
        until("pgbouncer answers", async || {
            tokio_postgres::connect(started.url.as_str(), tokio_postgres::NoTls).await.is_ok()
        })
        .await;
        started
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap()
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn settings(database: &url::Url, port: u16, server_connections: usize) -> String {
    let (host, server_port) = (database.host_str().unwrap(), database.port().unwrap_or(5432));
    format!(
        "[databases]
         * = host={host} port={server_port} user=payments_app
         [pgbouncer]
         listen_addr = 127.0.0.1
         listen_port = {port}
         unix_socket_dir =
         auth_type = any
         pool_mode = transaction
         default_pool_size = {server_connections}
         max_client_conn = 200
         server_reset_query_always = 0\n"
    )
    .replace("\n         ", "\n")
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn c22_payments_replays_declines_and_look_ups_share_one_server_connection() {
    let (_, ledger, database) = Api::with_database().await;
    let proxy = PgBouncer::start(&database, 1).await;
    let api = Api::new(&ledger_with(&config(proxy.url.to_string(), 10)));

    for round in 0..10 {
        let (key, poor) = (format!("k{round}"), format!("poor{round}"));
        let same = join_all((0..10).map(|_| api.pay(Pay::new(ledger.t1, &key).amount(100)))).await;
        assert!(same.iter().all(|answer| answer.status == 200), "{same:?}");
        assert_eq!(same.iter().filter(|answer| !answer.is_replay()).count(), 1);
        assert!(same.iter().all(|answer| answer.round_trips <= 2));
        api.pay(Pay::new(ledger.t1, &poor).amount(10_001)).await.assert_declined();
        let found = api.get(ledger.t1, &format!("/api/v1/payments?idempotency_key={key}")).await;
        assert_eq!(found.body, same[0].body);
    }

    ledger.assert_t1(9_000, 20).await;
    let log = proxy.log();
    assert!(!log.contains("prepared statement") && !log.contains("WARNING"), "{log}");
}

#[tokio::test]
async fn c22_a_lost_race_and_a_purged_key_work_through_the_proxy() {
    let (direct, ledger, database) = Api::with_database().await;
    let proxy = PgBouncer::start(&database, 3).await;
    let api = Api::new(&ledger_with(&config(proxy.url.to_string(), 3)));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let loser = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await
    };
    let release = async {
        hold.until_rivals_wait(1).await;
        hold.release().await;
    };
    let (winner, loser, ()) = futures_util::join!(direct.pay(request.clone()), loser, release);
    winner.assert_executed();
    loser.assert_replays(&winner);

    ledger.owner.execute("DELETE FROM idempotency_keys", &[]).await.unwrap();
    let purged = api.pay(request).await;
    purged.assert_replays(&winner);
    assert_eq!((loser.round_trips, purged.round_trips), (2, 1));
    assert_eq!(ledger.balance(ledger.a).await, 7_500);
}

#[tokio::test]
async fn c22_the_bounds_of_the_role_hold_behind_the_proxy() {
    let (direct, ledger, database) = Api::with_database().await;
    let proxy = PgBouncer::start(&database, 3).await;
    let api = Api::new(&ledger_with(&config(proxy.url.to_string(), 3)));
    let request = Pay::new(ledger.t1, "k");
    let hold = Hold::new(&ledger).await;

    let meanwhile = async {
        hold.until_held(1).await;
        api.pay(request.clone()).await.assert_problem(409, "payment_in_progress");
        hold.release().await;
    };
    let (first, ()) = futures_util::join!(direct.pay(request.clone()), meanwhile);

    api.pay(request.clone()).await.assert_replays(&first);
    ledger.assert_t1(7_500, 1).await;
}

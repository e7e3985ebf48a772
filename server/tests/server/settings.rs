//! What the server refuses to start with. The refusal names the variable, and what it may hold.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Answer, Server};

const URL: &str = "postgres://payments_app:hidden@127.0.0.1:1/payments";

/// What a server that does not start says, with these settings beside usual ones.
async fn refusal(settings: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_server"));
    command.env_clear().env("LISTEN_ADDRESS", "127.0.0.1:0").env("AUTH_MODE", "internal").env("DATABASE_URL", URL);
    let mut process =
        command.envs(settings.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = process.stderr.take().unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while process.try_wait().unwrap().is_none() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let _ = process.kill();
    // Killed is not refused.
    let refused = process.wait().unwrap().code() == Some(1);
    assert!(refused, "it started with {settings:?}");
    let mut text = String::new();
    stderr.read_to_string(&mut text).unwrap();
    text
}

#[tokio::test]
async fn a_number_outside_its_range_is_refused_with_variable_and_range() {
    let ranges = [
        ("POOL_SIZE", 1, 1_000),
        ("CONNECT_TIMEOUT_MS", 100, 60_000),
        ("STATEMENT_TIMEOUT_MS", 100, 300_000),
        ("IDLE_CHECK_MS", 0, 3_600_000),
        ("MAX_CONNECTIONS", 1, 100_000),
        ("MAX_IN_FLIGHT", 1, 100_000),
        ("REQUEST_TIMEOUT_MS", 1_000, 300_000),
    ];
    for (variable, least, most) in ranges {
        let range = format!("a whole number from {least} to {most} is needed");
        let values =
            [(least - 1).to_string(), (most + 1).to_string(), u64::MAX.to_string(), "x".to_owned(), " ".to_owned()];
        for value in values {
            let said = refusal(&[(variable, &value)]).await;
            assert!(said.contains(variable) && said.contains(&range), "{variable}={value}: {said}");
        }
    }
}

#[tokio::test]
async fn a_text_that_says_nothing_is_refused_by_the_name_of_its_variable() {
    for value in ["", " ", "\t"] {
        let said = refusal(&[("DATABASE_URL", value)]).await;
        assert!(said.contains("DATABASE_URL"), "{value:?}: {said}");
        let said = refusal(&[("AUTH_MODE", "hmac"), ("MASTER_SECRETS", value)]).await;
        assert!(said.contains("MASTER_SECRETS"), "{value:?}: {said}");
    }
    for (variable, value) in [
        ("LISTEN_ADDRESS", "nowhere"),
        ("AUTH_MODE", "none"),
        ("LOG_LEVEL", "verbose"),
        ("DATABASE_CA_FILE", " "),
        ("DATABASE_IAM_AUTH", "maybe"),
        ("PREPARED_STATEMENTS", "2"),
    ] {
        let said = refusal(&[(variable, value)]).await;
        assert!(said.contains(variable), "{variable}={value}: {said}");
    }
}

#[tokio::test]
async fn a_url_that_leads_nowhere_is_refused_and_not_repeated() {
    let urls = [
        "postgres://",
        "postgres:///payments",
        "postgres://127.0.0.1:5433/payments",
        "user=payments_app password=hidden",
        "mysql://payments_app:hidden@db/payments?ssl=true",
        "postgres://payments_app:hidden@db:port/payments",
        "hidden",
    ];
    for url in urls {
        let said = refusal(&[("DATABASE_URL", url)]).await;
        assert!(said.contains("DATABASE_URL is not usable"), "{url}: {said}");
        assert!(!said.contains("hidden"), "{url}: {said}");
    }
}

#[tokio::test]
async fn an_address_in_use_is_refused_by_the_name_of_its_variable() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let said = refusal(&[("LISTEN_ADDRESS", &taken.local_addr().unwrap().to_string())]).await;
    assert!(said.contains("LISTEN_ADDRESS") && said.contains("in use"), "{said}");
}

#[tokio::test]
async fn more_connections_than_the_system_permits_open_files_are_refused() {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 200 && exec \"$0\""]).arg(env!("CARGO_BIN_EXE_server"));
    command.env("LISTEN_ADDRESS", "127.0.0.1:0").env("AUTH_MODE", "internal").env("DATABASE_URL", URL);

    let output = command.env("MAX_CONNECTIONS", "150").output().unwrap();

    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("MAX_CONNECTIONS=150") && said.contains("permits 200"), "{said}");
}

#[tokio::test]
async fn an_empty_variable_counts_as_not_set() {
    let empty = ["POOL_SIZE", "MAX_IN_FLIGHT", "LOG_LEVEL", "DATABASE_CA_FILE", "AWS_REGION", "PREPARED_STATEMENTS"];
    let server = Server::start(&empty.map(|variable| (variable, ""))).await;

    assert_eq!(Answer::to(server.payment("k")).await.status, 200);
}

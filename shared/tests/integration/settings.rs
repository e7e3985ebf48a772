//! What the functions refuse to start with: the real processes, and what they say.

use std::process::Command;

/// What a function that ends at once says.
fn refusal(function: &str, settings: &[(&str, &str)]) -> String {
    // Without a runtime API no function lives: whatever it does not refuse ends with another complaint.
    let output = Command::new(crate::support::function::program(function))
        .env_clear()
        .env("AUTH_MODE", "internal")
        .envs(settings.iter().copied())
        .output()
        .unwrap();
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn each_function_names_the_url_that_it_needs() {
    for function in ["create_payment", "get_payment", "find_payment", "purge_expired_keys"] {
        assert_eq!(refusal(function, &[]), "Error: DATABASE_URL is not set\n", "{function}");
        assert_eq!(refusal(function, &[("DATABASE_URL", "")]), "Error: DATABASE_URL is not set\n", "{function}");
    }
    assert_eq!(refusal("migrate", &[]), "Error: OWNER_DATABASE_URL is not set\n");
}

#[test]
fn each_function_that_authenticates_names_the_secrets_that_it_needs() {
    for function in ["create_payment", "get_payment", "find_payment"] {
        let said = refusal(function, &[("AUTH_MODE", "hmac"), ("MASTER_SECRETS", "")]);
        assert!(said.contains("AUTH_MODE is hmac, but MASTER_SECRETS is not set"), "{function}: {said}");
        let said = refusal(function, &[("AUTH_MODE", "hmac"), ("MASTER_SECRETS", "c2hvcnQ=")]);
        assert!(said.contains("MASTER_SECRETS is not usable") && said.contains("length"), "{function}: {said}");
        assert!(!said.contains("c2hvcnQ"), "{function}: {said}");
    }
}

#[test]
fn each_function_refuses_a_pool_without_a_connection_and_a_log_without_a_level() {
    let url = ("DATABASE_URL", "postgres://payments_app@127.0.0.1:1/payments");
    for function in ["create_payment", "get_payment", "find_payment", "purge_expired_keys"] {
        let said = refusal(function, &[url, ("POOL_SIZE", "0")]);
        assert!(said.contains("POOL_SIZE") && said.contains("from 1 to 1000"), "{function}: {said}");
        let said = refusal(function, &[url, ("LOG_LEVEL", "verbose")]);
        assert!(said.contains("LOG_LEVEL") && said.contains("info"), "{function}: {said}");
    }
    let owner = ("OWNER_DATABASE_URL", "postgres://owner@127.0.0.1:1/payments");
    let said = refusal("migrate", &[owner, ("MIGRATE_UP_TO", "-1")]);
    assert!(said.contains("MIGRATE_UP_TO") && said.contains("from 0 to 9999"), "{said}");
}

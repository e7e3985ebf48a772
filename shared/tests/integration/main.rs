//! The integration tests: one binary, each test on its own database cloned from a migrated template.
//! `cargo xtask test` starts the servers and names them in the environment.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails should say so at once"
)]

mod support;

mod accounts;
mod api_gateway_events;
mod application_role;
mod bad_input;
mod balance_slots;
mod create_payment;
mod database_failures;
mod declines;
mod deposits;
mod dropped_futures;
mod find_payment;
mod freeze_and_thaw;
mod fuzz;
mod get_payment;
mod idempotency_key;
mod injected_errors;
mod key_rotation;
mod killed_processes;
mod logs;
mod lost_connections;
mod metrics;
mod migrate;
mod nonces;
mod over_http;
mod panics;
mod previous_release;
mod properties;
mod proxy;
mod purge_expired_keys;
mod races;
mod recently_settled;
mod replay_runs_no_business_logic;
mod round_trips;
mod settings;
mod signatures;
mod threats;
mod tls;
mod unkeyed;

//! The integration tests: one binary, each test on its own database cloned from a migrated template.
//! `cargo xtask test` starts the servers and names them in the environment.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails should say so at once"
)]

mod support;

mod create_payment;
mod fuzz;
mod key_rotation;
mod nonces;
mod signatures;

//! Exactly-once payments: everything that the functions share.
//!
//! Dependencies point one way: `hosts → handlers → auth, use_cases → ports → domain`, and `repositories → ports`.
//! The inner layers compile without any adapter (`--no-default-features`); `docs/architecture.md` walks through a payment.

pub mod auth;
pub mod config;
pub mod domain;
pub mod handlers;
pub mod ports;
pub mod telemetry;
pub mod use_cases;

#[cfg(feature = "lambda")]
pub mod hosts;
#[cfg(feature = "postgres")]
pub mod repositories;

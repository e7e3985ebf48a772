//! The archetypes on a real PostgreSQL, each test on its own database. `cargo xtask test` starts the server.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that fails should say so at once")]

mod feed;
mod git_push;
mod messenger;
mod support;

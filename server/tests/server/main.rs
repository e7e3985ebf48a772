//! The server as its clients see it: the real binary, over HTTP, on a real database.
//! `cargo xtask test` starts the database server and names it in the environment.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that fails should say so at once"
)]

mod limits;
mod payments;
mod settings;
mod stopping;
mod support;

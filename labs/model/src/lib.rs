//! The payment protocol as a small model, checked in every order of events: workers, the statements that they sent, what
//! PostgreSQL holds, clients that retry, and faults at any step.
//!
//! Read it beside `docs/model.md`, in this order:
//!
//! | file | what it models | the real thing |
//! |---|---|---|
//! | [`guards`] | what keeps the protocol right, each removable | indexes, the shape of the SQL, the executor |
//! | [`database`] | what is committed | the tables |
//! | [`session`] | one running statement, step by step | `create_payment.sql` and its second look |
//! | [`worker`] | one call of the function | `executor.rs` |
//! | [`client`] | one client with one key | `docs/client.md` |
//! | [`state`] | everything at one moment | – |
//! | [`possible`] | what can happen next: messages, faults, the purge | the network, the machines |
//! | [`protocol`] | what each of these leads to | – |
//! | [`properties`] | what must hold | the promise |
//! | [`story`] | a path, told in words | – |
//! | [`check`] | runs the checker | – |
//!
//! It knows no code of the product: it would repeat its mistakes.

#![expect(clippy::indexing_slicing, reason = "all indices are the model's own: two keys and three workers")]

pub mod check;
pub mod client;
pub mod database;
pub mod guards;
pub mod possible;
pub mod properties;
pub mod protocol;
pub mod session;
pub mod state;
pub mod story;
pub mod worker;

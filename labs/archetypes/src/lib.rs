//! Three more operations on the payments' own mechanism: each is a schema, two SQL statements and one small module.
//!
//! | archetype | operation | where its key comes from |
//! |---|---|---|
//! | fintech | the payment itself, in the crate `payments` | the client makes it |
//! | messenger | [`messenger::Message`] | the client makes it |
//! | Git push | [`git_push::Push`] | the commit's id |
//! | feed | [`feed::Post`] | the data: source, author, digest of the content |
//!
//! All run on [`payments::repositories::Executor`]. It knows none of them, and none of them knows about retries, lost races
//! or ambiguous commits. `docs/archetypes/` has a page for each; `cargo xtask lab archetypes` shows them at work.

pub mod feed;
pub mod git_push;
pub mod messenger;

//! The tests of the model: the protocol as it is, and without each of its guards.

#![expect(clippy::panic, reason = "a test that fails should say so at once")]

mod guards;
mod the_protocol;

//! Messenger: the client makes the key, and a message is delivered to its conversation once, at one place.
//!
//! Knows what a message is. Retries and lost races are the executor's.

use payments::repositories::{IdempotentOperation, RowError, Statement};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

/// The tables of a messenger.
pub const SCHEMA: &str = include_str!("messenger/schema.sql");

/// A message on its way to a conversation.
#[derive(Clone, Debug)]
pub struct Message {
    id: Uuid,
    conversation: Uuid,
    text: String,
}

impl Message {
    /// A message that its sender's client has given `key`: a new key for a new message, the same one for each further try.
    ///
    /// The stored id is UUIDv5 of sender and key, so no sender can take a key of another.
    #[must_use]
    pub fn new(sender: Uuid, key: Uuid, conversation: Uuid, text: impl Into<String>) -> Self {
        Self { id: Uuid::new_v5(&sender, key.as_bytes()), conversation, text: text.into() }
    }
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is new, and now at this place of its conversation; the first place is 1.
    Delivered {
        /// Its place.
        sequence: i64,
    },
    /// It has been at this place since an earlier try.
    Replayed {
        /// Its place.
        sequence: i64,
    },
    /// The key belongs to another message of this sender: other words, or another conversation.
    KeyReused,
    /// There is no such conversation. The key is still free.
    UnknownConversation,
}

impl IdempotentOperation for Message {
    type Answer = Delivery;

    const ALREADY_DONE: &'static [&'static str] = &["messages_pkey"];

    fn claim(&self) -> Statement<'_> {
        Statement {
            sql: include_str!("messenger/deliver.sql"),
            parameters: vec![(&self.id, Type::UUID), (&self.conversation, Type::UUID), (&self.text, Type::TEXT)],
        }
    }

    fn look_up(&self) -> Statement<'_> {
        Statement { sql: include_str!("messenger/second_look.sql"), parameters: vec![(&self.id, Type::UUID)] }
    }

    fn answer(&self, row: &Row) -> Result<Delivery, RowError> {
        Ok(match row.try_get("result")? {
            "delivered" => Delivery::Delivered { sequence: row.try_get("sequence")? },
            "found" if self.is(row)? => Delivery::Replayed { sequence: row.try_get("sequence")? },
            "found" => Delivery::KeyReused,
            "unknown_conversation" => Delivery::UnknownConversation,
            other => return Err(RowError::unknown_result(other)),
        })
    }
}

impl Message {
    /// Whether the stored message is this one: compared by its own columns, no digest of the request is stored.
    fn is(&self, row: &Row) -> Result<bool, RowError> {
        let conversation: Uuid = row.try_get("conversation_id")?;
        let text: &str = row.try_get("text")?;
        Ok(conversation == self.conversation && text == self.text)
    }
}

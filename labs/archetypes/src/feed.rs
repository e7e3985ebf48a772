//! Feed: the key is derived from the data, so importers that know nothing of each other agree on it.
//!
//! Knows posts and followers. Retries and lost races are the executor's.

use payments::repositories::{IdempotentOperation, RowError, Statement};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

/// The tables of a feed.
pub const SCHEMA: &str = include_str!("feed/schema.sql");

/// A post on its way to its author's followers.
#[derive(Clone, Debug)]
pub struct Post {
    source: String,
    author: Uuid,
    content: String,
    digest: Vec<u8>,
}

impl Post {
    /// A post as its source has it. Its key is source, author and the SHA-256 of the content's bytes, as they are: whoever
    /// wants two spellings to be one post makes them one before this.
    #[must_use]
    pub fn new(source: impl Into<String>, author: Uuid, content: impl Into<String>) -> Self {
        let content = content.into();
        let digest = Sha256::digest(content.as_bytes()).to_vec();
        Self { source: source.into(), author, content, digest }
    }
}

/// What became of a post.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Publication {
    /// It is new, and so many followers were told.
    Published {
        /// Followers.
        reached: i64,
    },
    /// It was published before, to so many followers; nobody was told again.
    Replayed {
        /// Followers at that time.
        reached: i64,
    },
}

impl IdempotentOperation for Post {
    type Answer = Publication;

    const ALREADY_DONE: &'static [&'static str] = &["posts_pkey"];

    fn claim(&self) -> Statement<'_> {
        let parameters = vec![
            (&self.source as _, Type::TEXT),
            (&self.author as _, Type::UUID),
            (&self.digest as _, Type::BYTEA),
            (&self.content as _, Type::TEXT),
        ];
        Statement { sql: include_str!("feed/publish.sql"), parameters }
    }

    fn look_up(&self) -> Statement<'_> {
        Statement {
            sql: include_str!("feed/second_look.sql"),
            parameters: vec![(&self.source, Type::TEXT), (&self.author, Type::UUID), (&self.digest, Type::BYTEA)],
        }
    }

    fn answer(&self, row: &Row) -> Result<Publication, RowError> {
        Ok(match row.try_get("result")? {
            "published" => Publication::Published { reached: row.try_get("reached")? },
            "found" => Publication::Replayed { reached: row.try_get("reached")? },
            other => return Err(RowError::unknown_result(other)),
        })
    }
}

//! What `cargo xtask check` demands of the repository's files. Each rule reads files and returns findings.
//!
//! Rules run no tool and know no command.

pub(crate) mod citations;
pub(crate) mod files;
pub(crate) mod layers;
pub(crate) mod layout;
pub(crate) mod links;
mod named_paths;
pub(crate) mod sql;

/// A breach of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where: a path from the repository's root, with a line where there is one.
    pub(crate) place: String,
    /// What is wrong.
    pub(crate) message: String,
}

impl Finding {
    /// A finding at `place`.
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

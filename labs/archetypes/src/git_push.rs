//! Git push: the key is the commit's id, so nobody has to make one up; a branch moves only forward from the commit's parent.
//!
//! Knows branches and commits, not what is in them. Retries and lost races are the executor's.

use std::fmt::Write as _;

use payments::repositories::{IdempotentOperation, RowError, Statement};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

/// The tables of a Git server.
pub const SCHEMA: &str = include_str!("git_push/schema.sql");

/// The id of a commit: the digest of all that it says, its parent and its time included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitId(String);

/// The text is no commit id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a commit id has 40 (SHA-1) or 64 (SHA-256) hexadecimal digits in lower case")]
pub struct CommitIdError;

impl CommitId {
    /// Reads an id as Git prints it.
    ///
    /// # Errors
    /// [`CommitIdError`] for anything but a full id: an abbreviated one is no key, since it may come to name two commits.
    pub fn parse(text: &str) -> Result<Self, CommitIdError> {
        let digits = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if digits && matches!(text.len(), 40 | 64) { Ok(Self(text.to_owned())) } else { Err(CommitIdError) }
    }

    /// The id of a commit object, as `git cat-file commit` prints it, in a repository of the format SHA-256.
    #[must_use]
    pub fn of(object: &[u8]) -> Self {
        let digest = Sha256::new().chain_update(format!("commit {}\0", object.len())).chain_update(object).finalize();
        Self(digest.iter().fold(String::new(), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        }))
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A commit on its way to a branch.
#[derive(Clone, Debug)]
pub struct Push {
    repository: Uuid,
    branch: String,
    commit: CommitId,
    parent: CommitId,
}

impl Push {
    /// A push of `commit`, whose parent is `parent`, to a branch.
    #[must_use]
    pub fn new(repository: Uuid, branch: impl Into<String>, commit: CommitId, parent: CommitId) -> Self {
        Self { repository, branch: branch.into(), commit, parent }
    }
}

/// What became of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    /// The branch was moved to the commit.
    Moved,
    /// The commit is on the branch already, at its head or below: nothing to do.
    UpToDate,
    /// The branch is not at the commit's parent, and the commit is not on it. Nothing is stored; rebase and push again.
    NonFastForward {
        /// Where the branch is.
        head: CommitId,
    },
    /// There is no such branch.
    UnknownBranch,
}

impl IdempotentOperation for Push {
    type Answer = Pushed;

    /// Not `pushes_parent_key`: that is another commit, and two children of one parent would be a defect.
    const ALREADY_DONE: &'static [&'static str] = &["pushes_pkey"];

    fn claim(&self) -> Statement<'_> {
        self.statement(include_str!("git_push/push.sql"))
    }

    fn look_up(&self) -> Statement<'_> {
        self.statement(include_str!("git_push/second_look.sql"))
    }

    fn answer(&self, row: &Row) -> Result<Pushed, RowError> {
        Ok(match row.try_get("result")? {
            "pushed" => Pushed::Moved,
            "found" => Pushed::UpToDate,
            "non_fast_forward" => {
                let head = CommitId::parse(row.try_get("head")?).map_err(RowError::new)?;
                Pushed::NonFastForward { head }
            }
            "unknown_branch" => Pushed::UnknownBranch,
            other => return Err(RowError::unknown_result(other)),
        })
    }
}

impl Push {
    fn statement(&self, sql: &'static str) -> Statement<'_> {
        let parameters = vec![
            (&self.repository as _, Type::UUID),
            (&self.branch as _, Type::TEXT),
            (&self.commit.0 as _, Type::TEXT),
            (&self.parent.0 as _, Type::TEXT),
        ];
        Statement { sql, parameters }
    }
}

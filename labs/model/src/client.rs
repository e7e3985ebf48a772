//! One client that wants one payment and does its duties: the same key until a final answer, each try signed anew.

use crate::database::Outcome;
use crate::worker::Answer;

/// What a client knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Client {
    /// How often it has asked.
    pub attempts: u8,
    /// It was told 200.
    pub told_succeeded: bool,
    /// It was told 402.
    pub told_declined: bool,
    /// It was told that nothing happened.
    pub told_failed: bool,
    /// The tries that were answered with 200 or 402, one bit for each.
    pub served: u8,
}

impl Client {
    /// Whether it has a final answer.
    #[must_use]
    pub fn is_content(&self) -> bool {
        self.told_succeeded || self.told_declined || self.told_failed
    }

    /// Whether this try of its was answered with 200 or 402.
    #[must_use]
    pub fn was_served(&self, attempt: u8) -> bool {
        self.served & (1 << attempt) != 0
    }

    /// It receives an answer to a try.
    pub fn hear(&mut self, answer: Answer, attempt: u8) {
        match answer {
            Answer::Settled(Outcome::Succeeded) => self.told_succeeded = true,
            Answer::Settled(Outcome::Declined) => self.told_declined = true,
            Answer::Failed => self.told_failed = true,
            Answer::NonceReused | Answer::Busy | Answer::Unavailable => return,
        }
        if answer != Answer::Failed {
            self.served |= 1 << attempt;
        }
    }
}

//! Currencies.

use std::fmt;

use thiserror::Error;

/// An ISO 4217 alphabetic code: three upper-case letters.
///
/// Whether the code is in use is decided by the account: a payment is made in its account's currency or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Currency([u8; 3]);

/// The text is not three upper-case letters.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("currency must be an ISO 4217 code of three upper-case letters")]
pub struct CurrencyError;

impl Currency {
    /// Accepts a code.
    ///
    /// # Errors
    /// [`CurrencyError`] unless the text is three letters from A to Z.
    pub fn parse(code: &str) -> Result<Self, CurrencyError> {
        match <[u8; 3]>::try_from(code.as_bytes()) {
            Ok(letters) if letters.iter().all(u8::is_ascii_uppercase) => Ok(Self(letters)),
            _ => Err(CurrencyError),
        }
    }

    /// The code, for instance `EUR`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_upper_case_letters_are_a_code_and_nothing_else_is() {
        assert_eq!(Currency::parse("EUR").map(|code| code.to_string()), Ok("EUR".to_owned()));
        for text in ["", "eur", "EU", "EURO", "E R", "E1R", "ÉU", "EUR "] {
            assert_eq!(Currency::parse(text), Err(CurrencyError), "{text}");
        }
    }
}

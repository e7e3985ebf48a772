//! How the text of a variable becomes a value: what starts is usable, and what is not says what would be.
//! Knows no variable; the caller names it.

use serde::de::{Deserialize, Deserializer, Error};
use tracing::level_filters::LevelFilter;

/// A whole number from `MIN` to `MAX`.
///
/// # Errors
/// Says the range for whatever is not in it, a number or not.
pub fn within<'de, const MIN: u64, const MAX: u64, T, D>(text: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let number = u64::deserialize(text).ok().filter(|number| (MIN..=MAX).contains(number));
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| D::Error::custom(format_args!("a whole number from {MIN} to {MAX} is needed")))
}

/// A text that says something.
///
/// # Errors
/// For white space alone.
pub(super) fn filled<'de, T, D>(text: D) -> Result<T, D::Error>
where
    T: From<String>,
    D: Deserializer<'de>,
{
    let text = String::deserialize(text)?;
    if text.trim().is_empty() { Err(D::Error::custom("it is blank")) } else { Ok(text.into()) }
}

/// A level of the log, in any case.
///
/// # Errors
/// Says the levels for any other word.
pub(super) fn level<'de, D: Deserializer<'de>>(text: D) -> Result<LevelFilter, D::Error> {
    match String::deserialize(text)?.to_lowercase().as_str() {
        "error" => Ok(LevelFilter::ERROR),
        "warn" => Ok(LevelFilter::WARN),
        "info" => Ok(LevelFilter::INFO),
        "debug" => Ok(LevelFilter::DEBUG),
        "trace" => Ok(LevelFilter::TRACE),
        _ => Err(D::Error::custom("error, warn, info, debug or trace is needed")),
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer as _;
    use serde::de::value::{Error as ValueError, StrDeserializer, U64Deserializer};

    use super::*;

    fn number(value: u64) -> Result<usize, ValueError> {
        let value: U64Deserializer<ValueError> = value.into_deserializer();
        within::<2, 5, _, _>(value)
    }

    fn text(value: &'static str) -> StrDeserializer<'static, ValueError> {
        value.into_deserializer()
    }

    #[test]
    fn a_number_outside_its_range_is_refused_with_the_range() {
        assert_eq!([2, 5].map(|it| number(it).ok()), [Some(2), Some(5)]);
        for refused in [0, 1, 6, u64::MAX] {
            assert_eq!(number(refused).unwrap_err().to_string(), "a whole number from 2 to 5 is needed");
        }
        let no_number: Result<usize, _> = within::<2, 5, _, _>(text("three"));
        assert_eq!(no_number.unwrap_err().to_string(), "a whole number from 2 to 5 is needed");
        let value: U64Deserializer<ValueError> = 300_u64.into_deserializer();
        assert!(within::<0, 1_000, u8, _>(value).is_err(), "its type is narrower than its range");
    }

    #[test]
    fn a_text_is_kept_as_it_is_unless_it_is_blank() {
        assert_eq!(filled::<String, _>(text(" x ")).unwrap(), " x ");
        for blank in ["", " ", "\t\n"] {
            assert_eq!(filled::<String, _>(text(blank)).unwrap_err().to_string(), "it is blank");
        }
    }

    #[test]
    fn a_level_that_does_not_exist_is_refused_and_does_not_silence_the_log() {
        assert_eq!(level(text("WARN")).unwrap(), LevelFilter::WARN);
        for unknown in ["verbose", "off", "payments=debug", " "] {
            assert!(level(text(unknown)).unwrap_err().to_string().contains("info"), "{unknown}");
        }
    }
}

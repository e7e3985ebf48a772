//! Money: an integer of minor units (cents, yen, fils). Never a float, never rounded.

use thiserror::Error;

/// A positive amount of money in minor units of its currency, 1 to 10^15.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MinorUnits(i64);

/// The amount is outside 1 to 10^15.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("amount must be an integer of minor units from 1 to {}", MinorUnits::MAX)]
pub struct MinorUnitsError;

impl MinorUnits {
    /// The largest amount: 10^15 minor units, exactly representable in JSON numbers of every language.
    pub const MAX: i64 = 1_000_000_000_000_000;

    /// Accepts an amount of minor units.
    ///
    /// # Errors
    /// [`MinorUnitsError`] outside 1 to [`MinorUnits::MAX`].
    pub fn new(minor_units: i64) -> Result<Self, MinorUnitsError> {
        if (1..=Self::MAX).contains(&minor_units) { Ok(Self(minor_units)) } else { Err(MinorUnitsError) }
    }

    /// The number of minor units, 1 to 10^15.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_from_one_to_the_maximum_are_accepted() {
        for amount in [1, 2500, MinorUnits::MAX] {
            assert_eq!(MinorUnits::new(amount).map(MinorUnits::get), Ok(amount));
        }
    }

    #[test]
    fn zero_negative_and_too_large_amounts_are_refused() {
        for amount in [i64::MIN, -1, 0, MinorUnits::MAX + 1, i64::MAX] {
            assert_eq!(MinorUnits::new(amount), Err(MinorUnitsError), "{amount}");
        }
    }
}

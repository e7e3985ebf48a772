//! Figures of several rounds: their median, least and greatest.

use serde::Serialize;

/// What several rounds measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples(Vec<f64>);

/// The figures that a report shows of samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Summary {
    /// Half of the samples are not above it.
    pub(crate) median: f64,
    /// The least.
    pub(crate) min: f64,
    /// The greatest.
    pub(crate) max: f64,
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        Self(values)
    }
}

impl Samples {
    /// Median, least and greatest; zeros when nothing was measured.
    pub(crate) fn summary(&self) -> Summary {
        let at = |index: usize| self.0.get(index).copied().unwrap_or_default();
        let last = self.0.len().saturating_sub(1);
        // The two in the middle, which are one where the number is odd.
        let median = f64::midpoint(at(last / 2), at(self.0.len() / 2));
        Summary { median, min: at(0), max: at(last) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(values: &[f64]) -> Summary {
        values.iter().copied().collect::<Samples>().summary()
    }

    #[test]
    fn the_median_is_the_middle_one_or_between_the_two_in_the_middle() {
        assert_eq!(summary(&[5.0, 1.0, 9.0]), Summary { median: 5.0, min: 1.0, max: 9.0 });
        assert_eq!(summary(&[4.0, 1.0, 2.0, 100.0]), Summary { median: 3.0, min: 1.0, max: 100.0 });
        assert_eq!(summary(&[7.0]), Summary { median: 7.0, min: 7.0, max: 7.0 });
    }

    #[test]
    fn nothing_measured_is_nothing() {
        assert_eq!(summary(&[]), Summary { median: 0.0, min: 0.0, max: 0.0 });
    }
}

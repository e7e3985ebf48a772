//! A row of the report: ours, the reference, their ratio, and whether it meets its target. Knows no measurement.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, Table};
use serde::{Serialize, Serializer};

use super::samples::{Samples, Summary};

/// What a ratio has to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// That or more: of throughputs.
    AtLeast(f64),
    /// That or less: of times.
    AtMost(f64),
    /// Just reported.
    None,
}

impl Target {
    fn is_met_by(self, ratio: f64) -> Option<bool> {
        match self {
            // What was not measured meets nothing.
            Self::AtLeast(_) | Self::AtMost(_) if !ratio.is_finite() || ratio <= 0.0 => Some(false),
            Self::AtLeast(least) => Some(ratio >= least),
            Self::AtMost(most) => Some(ratio <= most),
            Self::None => None,
        }
    }

    fn shown(self) -> Option<String> {
        match self {
            Self::AtLeast(least) => Some(format!("≥ {least}")),
            Self::AtMost(most) => Some(format!("≤ {most}")),
            Self::None => None,
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.shown().serialize(serializer)
    }
}

/// One comparison.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    name: String,
    unit: &'static str,
    ours: f64,
    ours_min: f64,
    ours_max: f64,
    reference: f64,
    reference_min: f64,
    reference_max: f64,
    ratio: f64,
    target: Target,
    /// Null where there is no target.
    holds: Option<bool>,
}

impl Row {
    /// Ours beside the reference; the ratio is that of the medians.
    pub(crate) fn new(
        name: impl Into<String>,
        unit: &'static str,
        ours: &Samples,
        reference: &Samples,
        target: Target,
    ) -> Self {
        let (ours, reference) = (ours.summary(), reference.summary());
        let ratio = if reference.median > 0.0 { ours.median / reference.median } else { 0.0 };
        Self {
            name: name.into(),
            unit,
            ours: ours.median,
            ours_min: ours.min,
            ours_max: ours.max,
            reference: reference.median,
            reference_min: reference.min,
            reference_max: reference.max,
            ratio,
            target,
            holds: target.is_met_by(ratio),
        }
    }

    fn cells(&self) -> [String; 6] {
        let ours = Summary { median: self.ours, min: self.ours_min, max: self.ours_max };
        let reference = Summary { median: self.reference, min: self.reference_min, max: self.reference_max };
        let holds = match self.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        [
            format!("{} ({})", self.name, self.unit),
            shown(ours),
            shown(reference),
            format!("{:.2}", self.ratio),
            self.target.shown().unwrap_or_default(),
            holds.to_owned(),
        ]
    }
}

fn shown(summary: Summary) -> String {
    let digits = usize::from(summary.median < 100.0) * 2;
    let Summary { median, min, max } = summary;
    format!("{median:.digits$} ({min:.digits$} – {max:.digits$})")
}

/// All rows for a person.
pub(crate) fn table(rows: &[Row]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["", "ours, median (min – max)", "reference", "ratio", "target", "holds"]);
    for row in rows {
        table.add_row(row.cells());
    }
    for index in 1..4 {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// The rows whose target is missed.
pub(crate) fn missed(rows: &[Row]) -> Vec<String> {
    let missed = rows.iter().filter(|row| row.holds == Some(false));
    missed.map(|row| format!("{}: {:.2}, {}", row.name, row.ratio, row.target.shown().unwrap_or_default())).collect()
}

/// How many rows have a target.
pub(crate) fn judged(rows: &[Row]) -> usize {
    rows.iter().filter(|row| row.holds.is_some()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ours: &[f64], reference: &[f64], target: Target) -> Row {
        let samples = |values: &[f64]| values.iter().copied().collect::<Samples>();
        Row::new("x", "1/s", &samples(ours), &samples(reference), target)
    }

    #[test]
    fn the_ratio_of_the_medians_is_judged_and_not_the_best_round() {
        assert_eq!(row(&[80.0, 90.0, 500.0], &[100.0], Target::AtLeast(0.9)).holds, Some(true));
        assert_eq!(row(&[80.0, 89.0, 500.0], &[100.0], Target::AtLeast(0.9)).holds, Some(false));
        assert_eq!(row(&[1.3], &[1.0], Target::AtMost(1.2)).holds, Some(false));
        assert_eq!(row(&[1.1], &[1.0], Target::AtMost(1.2)).holds, Some(true));
        assert_eq!(row(&[1.1], &[1.0], Target::None).holds, None);
    }

    #[test]
    fn what_was_not_measured_meets_no_target() {
        assert_eq!(row(&[], &[1.0], Target::AtMost(1.2)).holds, Some(false));
        assert_eq!(row(&[1.0], &[], Target::AtLeast(0.5)).holds, Some(false));
    }

    #[test]
    fn a_missed_row_is_named_with_its_ratio_and_target() {
        let rows = [row(&[1.0], &[2.0], Target::AtLeast(0.9)), row(&[1.0], &[1.0], Target::AtLeast(0.9))];
        assert_eq!((missed(&rows), judged(&rows)), (vec!["x: 0.50, ≥ 0.9".to_owned()], 2));
    }

    #[test]
    fn the_report_carries_what_a_reader_looks_for() {
        let json = serde_json::to_value(row(&[1.0], &[2.0], Target::AtLeast(0.9))).unwrap();
        for (member, value) in [
            ("ours", 1.0.into()),
            ("reference", 2.0.into()),
            ("ratio", 0.5.into()),
            ("target", "≥ 0.9".into()),
            ("holds", serde_json::Value::from(false)),
        ] {
            assert_eq!(json.get(member), Some(&value), "{member}");
        }
    }
}

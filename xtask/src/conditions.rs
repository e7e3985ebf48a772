//! Conditions of a run with their measured values: which are missed, and how they are shown. Knows no figure.

use comfy_table::Table;

/// What must be, what was measured, and whether it is met.
pub(crate) type Condition = (&'static str, String, bool);

/// Those that are not met, with what was measured.
pub(crate) fn missed(conditions: Vec<Condition>) -> Vec<String> {
    let unmet = conditions.into_iter().filter(|(_, _, met)| !met);
    unmet.map(|(condition, measured, _)| format!("{condition}, measured {measured}")).collect()
}

/// How many are met, and how many are not.
pub(crate) fn counts(conditions: &[Condition]) -> (usize, usize) {
    let met = conditions.iter().filter(|(_, _, met)| *met).count();
    (met, conditions.len() - met)
}

/// A row for each, in a table of three columns.
pub(crate) fn add_rows(table: &mut Table, conditions: Vec<Condition>) {
    for (condition, measured, met) in conditions {
        table.add_row([condition, &measured, if met { "yes" } else { "NO" }]);
    }
}

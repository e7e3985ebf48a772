//! What a lab has shown: conditions with their measured values, figures for the report, a picture for the documents.

use std::fs;

use anyhow::{Context, Result};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{report, workspace};

/// Something that the lab tells, and whether it was so.
#[derive(Debug, Serialize)]
pub(crate) struct Condition {
    /// What is told.
    pub(crate) told: String,
    /// What was seen.
    pub(crate) seen: String,
    /// Whether it was as told.
    pub(crate) holds: bool,
}

impl Condition {
    /// A condition with what was seen.
    pub(crate) fn new(told: impl Into<String>, seen: impl Into<String>, holds: bool) -> Self {
        Self { told: told.into(), seen: seen.into(), holds }
    }
}

/// The outcome of one lab.
pub(crate) struct Shown {
    /// Names the report and the picture.
    pub(crate) lab: &'static str,
    /// What a person is to see.
    pub(crate) table: Table,
    /// What had to be seen.
    pub(crate) conditions: Vec<Condition>,
    /// The lab's own figures.
    pub(crate) figures: Value,
    /// An SVG.
    pub(crate) picture: String,
}

impl Shown {
    /// Prints the table; writes report and picture, the picture also into the documents if `draw`.
    pub(crate) fn publish(&self, draw: bool) -> Result<()> {
        println!("\n{}", self.table);
        let name = format!("lab-{}", self.lab);
        let report = json!({ "shown": self.figures, "conditions": self.conditions, "holds": self.missed().is_empty() });
        let path = report::write(&name, &report)?;
        println!("report: {}", workspace::shown(&path));
        let mut pictures = vec![path.with_extension("svg")];
        if draw {
            pictures.push(workspace::root().join("docs/img").join(format!("{name}.svg")));
        }
        for picture in pictures {
            if let Some(folder) = picture.parent() {
                fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            }
            fs::write(&picture, &self.picture).with_context(|| format!("cannot write {}", picture.display()))?;
            println!("picture: {}", workspace::shown(&picture));
        }
        Ok(())
    }

    /// The conditions that do not hold.
    pub(crate) fn missed(&self) -> Vec<String> {
        let missed = self.conditions.iter().filter(|condition| !condition.holds);
        missed.map(|condition| format!("{}, seen: {}", condition.told, condition.seen)).collect()
    }
}

/// An empty table in the labs' style.
pub(crate) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(header.to_vec());
    table
}

//! The torture's counter-examples: the payments server of `labs/broken`, each variant with one mistake in it.
//!
//! Knows its settings; not how the mistakes are caught.

use std::process::Command;
use std::sync::Arc;

use anyhow::Result;

use super::fleet::Program;
use crate::workspace;

/// The binary's name.
pub(crate) const NAME: &str = "broken";

/// Compiles the server.
pub(crate) fn build() -> Result<()> {
    workspace::build(["--package", NAME])
}

/// The server in one variant, for a fleet.
pub(crate) fn program(variant: &'static str, port: u16, database_url: String) -> Result<Program> {
    let binary = workspace::built(NAME, false)?;
    let recipe = move || {
        let mut command = Command::new(&binary);
        command.env("VARIANT", variant).env("PORT", port.to_string()).env("DATABASE_URL", &database_url);
        command
    };
    Ok(Program { name: NAME, processes: 1, recipe: Arc::new(recipe) })
}

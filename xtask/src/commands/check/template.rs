//! The deployable template: the linters of SAM, of AWS and for security, and this repository's own assertions.
//!
//! None of them needs credentials or the network; none reaches AWS.

use anyhow::Result;

use super::{Check, judge};
use crate::tools::python;

/// A region must be named although none is called.
const REGION: (&str, &str) = ("AWS_DEFAULT_REGION", "eu-central-1");
const LINTS: [(&str, &str, &[&str]); 4] = [
    ("template, as SAM sees it", "sam", &["validate", "--lint"]),
    (
        "template, as CloudFormation sees it (cfn-lint)",
        "cfn-lint",
        &["-t", "template.yaml", "-r", "us-east-1", "eu-central-1"],
    ),
    (
        "template, security (checkov)",
        "checkov",
        &["-f", "template.yaml", "--framework", "cloudformation", "--compact", "--quiet", "--skip-download"],
    ),
    (
        "template, translated: routes, permissions, limits",
        "pytest",
        &["-q", "-p", "no:cacheprovider", "xtask/template"],
    ),
];

/// Runs them all.
pub(super) fn run() -> Result<Vec<Check>> {
    let python = python::TEMPLATE.provide()?;
    let lint = |(name, program, arguments): (&'static str, &str, &[&str])| {
        println!("  {name} …");
        judge(name, python.program(program).args(arguments).envs([REGION, ("SAM_CLI_TELEMETRY", "0")]))
    };
    LINTS.into_iter().map(lint).collect()
}

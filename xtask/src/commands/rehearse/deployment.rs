//! The stack as `sam deploy` makes it and `sam delete` takes it away, and what the services say of it.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::build;
use crate::stack::emulator::Emulator;
use crate::stack::log;
use crate::tools::python::Python;
use crate::workspace;

const STACK: &str = "payments-rehearsal";
const LIMIT: Duration = Duration::from_mins(3);
const SECRET: &str = "payments/rehearsal/master";
/// The functions behind an alias, by their logical ids.
pub(super) const ALIASED: [&str; 4] =
    ["CreatePaymentFunction", "FindPaymentFunction", "GetPaymentFunction", "PurgeFunction"];

/// What is deployed, and with what.
pub(super) struct Deployment<'a> {
    pub(super) emulator: &'a Emulator,
    pub(super) sam: &'a Python,
    pub(super) template: PathBuf,
    pub(super) app_url: String,
    pub(super) owner_url: String,
}

/// What may differ between two deployments.
pub(super) struct Version {
    pub(super) secret: MasterSecret,
    pub(super) log_level: &'static str,
}

/// Where one version of the master secret lies.
pub(super) struct MasterSecret {
    arn: String,
    version_id: String,
}

/// Names and states that the services gave to the template's resources.
pub(super) struct Resources {
    names: HashMap<String, String>,
    pub(super) incomplete: Vec<String>,
}

impl Resources {
    pub(super) fn count(&self) -> usize {
        self.names.len()
    }

    /// The service's own name of a resource.
    pub(super) fn name(&self, logical_id: &str) -> Result<&str> {
        self.names.get(logical_id).map(String::as_str).with_context(|| format!("the stack has no {logical_id}"))
    }
}

impl Deployment<'_> {
    /// Puts the first master secret into Secrets Manager.
    pub(super) async fn create_secret(&self, value: &str) -> Result<MasterSecret> {
        let parameters = json!({ "Name": SECRET, "SecretString": value });
        MasterSecret::in_answer(&self.emulator.call("secretsmanager", "create_secret", &parameters).await?)
    }

    /// Puts the next value there.
    pub(super) async fn rotate_secret(&self, value: &str) -> Result<MasterSecret> {
        let parameters = json!({ "SecretId": SECRET, "SecretString": value });
        MasterSecret::in_answer(&self.emulator.call("secretsmanager", "put_secret_value", &parameters).await?)
    }

    /// `sam deploy`, of a new stack or over the one that is there.
    pub(super) async fn deploy(&self, version: &Version) -> Result<()> {
        let mut command = self.sam.program("sam");
        command
            .args(["deploy", "--stack-name", STACK, "--capabilities", "CAPABILITY_IAM", "--resolve-s3"])
            .args(["--no-confirm-changeset", "--no-progressbar", "--template-file"])
            .arg(&self.template)
            .arg("--parameter-overrides")
            .args(self.parameters(version));
        self.run(command, "sam-deploy.log").await
    }

    fn parameters(&self, version: &Version) -> Vec<String> {
        let parameters = [
            ("Architecture", build::architecture()),
            ("LogLevel", version.log_level),
            // The emulator has no CodeDeploy.
            ("GradualDeployment", "false"),
            ("MasterSecretArn", &version.secret.arn),
            ("MasterSecretVersionId", &version.secret.version_id),
            ("DatabaseMode", "external"),
            ("ExternalIamAuth", "false"),
            ("ExternalDatabaseUrl", &self.app_url),
            ("ExternalOwnerDatabaseUrl", &self.owner_url),
        ];
        // The long form: a URL carries equals signs of its own.
        parameters.iter().map(|(key, value)| format!("ParameterKey={key},ParameterValue={value}")).collect()
    }

    /// `sam delete`.
    pub(super) async fn delete(&self) -> Result<()> {
        let mut command = self.sam.program("sam");
        command.args(["delete", "--stack-name", STACK, "--no-prompts"]);
        self.run(command, "sam-delete.log").await
    }

    async fn run(&self, mut command: Command, log: &str) -> Result<()> {
        self.emulator.point_here(&mut command);
        let log = workspace::logs("rehearse").join(log);
        let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        command.env("SAM_CLI_TELEMETRY", "0").stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let mut command = tokio::process::Command::from(command);
        let mut child = command.kill_on_drop(true).spawn().context("cannot run sam")?;
        let ended = tokio::time::timeout(LIMIT, child.wait()).await;
        let success = ended.is_ok_and(|status| status.is_ok_and(|status| status.success()));
        if !success {
            bail!("sam did not succeed; the end of {}:\n{}", workspace::shown(&log), log::tail(Path::new(&log), 20));
        }
        Ok(())
    }

    /// What the stack consists of now.
    pub(super) async fn resources(&self) -> Result<Resources> {
        let parameters = json!({ "StackName": STACK });
        let answer = self.emulator.call("cloudformation", "list_stack_resources", &parameters).await?;
        let mut resources = Resources { names: HashMap::new(), incomplete: Vec::new() };
        for resource in items(&answer, "StackResourceSummaries") {
            let id = text(resource, "LogicalResourceId");
            if !text(resource, "ResourceStatus").ends_with("_COMPLETE") {
                resources.incomplete.push(id.to_owned());
            }
            resources.names.insert(id.to_owned(), text(resource, "PhysicalResourceId").to_owned());
        }
        Ok(resources)
    }

    /// An output of the stack.
    pub(super) async fn output(&self, key: &str) -> Result<String> {
        let answer = self.emulator.call("cloudformation", "describe_stacks", &json!({ "StackName": STACK })).await?;
        let outputs = items(&answer, "Stacks").iter().flat_map(|stack| items(stack, "Outputs"));
        let found = outputs.into_iter().find(|output| text(output, "OutputKey") == key);
        found
            .map(|output| text(output, "OutputValue").to_owned())
            .with_context(|| format!("the stack has no output {key}"))
    }

    /// Which version each alias leads to, in the order of [`ALIASED`].
    pub(super) async fn versions(&self, resources: &Resources) -> Result<Vec<String>> {
        let mut versions = Vec::new();
        for function in ALIASED {
            let parameters = json!({ "FunctionName": resources.name(function)?, "Name": "live" });
            let alias = self.emulator.call("lambda", "get_alias", &parameters).await?;
            versions.push(text(&alias, "FunctionVersion").to_owned());
        }
        Ok(versions)
    }

    /// Invokes a function and returns what it returned; an error of its own is an error.
    pub(super) async fn invoke(&self, function: &str, event: &Value) -> Result<Value> {
        let parameters = json!({ "FunctionName": function, "Payload": event.to_string() });
        let answer = self.emulator.call("lambda", "invoke", &parameters).await?;
        let payload = text(&answer, "Payload");
        if answer.get("FunctionError").is_some() {
            bail!("{function} failed: {payload}");
        }
        serde_json::from_str(payload).with_context(|| format!("{function} returned {payload}"))
    }
}

impl MasterSecret {
    fn in_answer(answer: &Value) -> Result<Self> {
        let secret = Self { arn: text(answer, "ARN").to_owned(), version_id: text(answer, "VersionId").to_owned() };
        if secret.arn.is_empty() || secret.version_id.is_empty() {
            bail!("Secrets Manager named no secret: {answer}");
        }
        Ok(secret)
    }
}

/// The list below `name`; none is an empty one.
pub(super) fn items<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// The text below `name`; none is an empty one.
pub(super) fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer.get(name).and_then(Value::as_str).unwrap_or_default()
}

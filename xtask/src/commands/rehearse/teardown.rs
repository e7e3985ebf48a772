//! `sam delete`, and a look into every service that the stack lived in.

use anyhow::Result;
use serde_json::{Value, json};

use super::deployment::{Deployment, Resources, items, text};
use super::verdict::Verdict;

/// Where to look: service, operation, parameters, the list in the answer, what names an item ("" for the item itself).
const PLACES: [(&str, &str, &str, &str, &str); 9] = [
    ("lambda", "list_functions", "{}", "Functions", "FunctionName"),
    ("apigatewayv2", "get_apis", "{}", "Items", "ApiId"),
    ("scheduler", "list_schedules", "{}", "Schedules", "Name"),
    ("iam", "list_roles", "{}", "Roles", "RoleName"),
    ("iam", "list_policies", r#"{"Scope":"Local"}"#, "Policies", "PolicyName"),
    ("logs", "describe_log_groups", "{}", "logGroups", "logGroupName"),
    ("sqs", "list_queues", "{}", "QueueUrls", ""),
    ("cloudwatch", "describe_alarms", "{}", "MetricAlarms", "AlarmName"),
    ("cloudwatch", "list_dashboards", "{}", "DashboardEntries", "DashboardName"),
];

/// Deletes the stack; whatever a service still lists is left over.
pub(super) async fn run(deployment: &Deployment<'_>, resources: &Resources, verdict: &mut Verdict) -> Result<()> {
    let found = list(deployment).await?.len();
    deployment.delete().await?;
    let left = list(deployment).await?;
    let seen = if left.is_empty() { format!("nothing of {found}") } else { left.join(", ") };
    verdict.note("left over by the delete", seen, found > 0 && left.is_empty());
    let key = json!({ "KeyId": resources.name("Key")? });
    let key = deployment.emulator.call("kms", "describe_key", &key).await?;
    let state = key.get("KeyMetadata").map(|key| text(key, "KeyState")).unwrap_or_default();
    verdict.note("its key", state, state == "PendingDeletion");
    Ok(())
}

async fn list(deployment: &Deployment<'_>) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for (service, operation, parameters, list, name) in PLACES {
        let parameters: Value = serde_json::from_str(parameters)?;
        let answer = deployment.emulator.call(service, operation, &parameters).await?;
        let name_of = |item: &Value| if name.is_empty() { item.to_string() } else { text(item, name).to_owned() };
        names.extend(items(&answer, list).iter().map(|item| format!("{service} {}", name_of(item))));
    }
    Ok(names)
}

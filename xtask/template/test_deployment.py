"""How a new version takes over: schema first, a canary, alarms that send it back. And the purge's schedule."""

import json
import re
import tomllib
import types

import pytest
from samcli.cli.types import CfnParameterOverridesType
from translated import ROOT, source, stack

ALARMS = {"ServerErrorAlarm", "LatencyAlarm", "AmbiguousCommitAlarm", "PurgeDeadLetterAlarm", "PurgeMissingAlarm"}


def test_whatever_serves_traffic_shifts_gradually_and_rolls_back_by_every_alarm():
    it = stack()
    groups = it.of("AWS::CodeDeploy::DeploymentGroup")
    assert len(groups) == 4
    for group in groups.values():
        assert {alarm["Name"]["Ref"] for alarm in group["AlarmConfiguration"]["Alarms"]} == ALARMS
        assert {"DEPLOYMENT_FAILURE", "DEPLOYMENT_STOP_ON_ALARM"} <= set(group["AutoRollbackConfiguration"]["Events"])
        assert "Canary10Percent5Minutes" in json.dumps(group["DeploymentConfigName"])


def test_the_schema_migrates_before_traffic_shifts():
    shifting = [
        each["UpdatePolicy"]["CodeDeployLambdaAliasUpdate"]
        for each in stack().resources.values()
        if each["Type"] == "AWS::Lambda::Alias" and "UpdatePolicy" in each
    ]
    assert len(shifting) == 4
    assert all(each["BeforeAllowTrafficHook"] == {"Ref": "MigrateBeforeTraffic"} for each in shifting)


def test_traffic_and_schedule_reach_functions_through_their_alias():
    it = stack()
    aliases = set(it.of("AWS::Lambda::Alias"))
    assert len(aliases) == 4
    for integration in it.of("AWS::ApiGatewayV2::Integration").values():
        assert integration["IntegrationUri"]["Ref"] in aliases
    (schedule,) = it.of("AWS::Scheduler::Schedule").values()
    assert schedule["Target"]["Arn"]["Ref"] in aliases


def test_a_local_stack_can_do_without_code_deploy():
    kinds = {each["Type"] for each in stack("hmac, external without IAM and VPC").resources.values()}
    assert not {kind for kind in kinds if kind.startswith(("AWS::CodeDeploy::", "AWS::RDS::", "AWS::EC2::"))}


def test_the_purge_runs_often_enough_and_loses_no_failure():
    it = stack()
    (schedule,) = it.of("AWS::Scheduler::Schedule").values()
    assert schedule["ScheduleExpression"] == "rate(5 minutes)"
    assert schedule["Target"]["RetryPolicy"]["MaximumRetryAttempts"] >= 1
    assert schedule["Target"]["DeadLetterConfig"]["Arn"] == {"Fn::GetAtt": ["PurgeDeadLetters", "Arn"]}
    (asynchronous,) = it.of("AWS::Lambda::EventInvokeConfig").values()
    assert asynchronous["DestinationConfig"]["OnFailure"]["Destination"] == {"Fn::GetAtt": ["PurgeDeadLetters", "Arn"]}


def test_the_purge_alarm_means_48_hours():
    alarm = stack().of("AWS::CloudWatch::Alarm")["PurgeMissingAlarm"]
    assert alarm["Period"] * alarm["DatapointsToAlarm"] == 48 * 3600
    assert alarm["TreatMissingData"] == "breaching"


def own_metrics():
    """Names that alarms and dashboard expect from the functions."""
    it = stack()
    names = {each["MetricName"] for each in it.of("AWS::CloudWatch::Alarm").values() if each.get("Namespace") == "Payments"}
    for widget in dashboard()["widgets"]:
        for metric in widget["properties"].get("metrics", []):
            if metric[0] == "Payments":
                names.add(metric[1])
    return names | {"Requests"}


def dashboard():
    body = stack().of("AWS::CloudWatch::Dashboard")["Dashboard"]["DashboardBody"]["Fn::Sub"]
    return json.loads(body[0])


def test_the_dashboard_is_json_and_shows_what_an_operator_asks_for():
    titles = " ".join(widget["properties"]["title"] for widget in dashboard()["widgets"])
    for word in ("outcome", "Replays", "lost races", "retries", "Latency", "Waits", "Connections"):
        assert word in titles


def test_the_functions_emit_every_metric_that_is_watched():
    sources = "".join(path.read_text() for path in (ROOT / "shared/src").rglob("*.rs"))

    def emitted(name):
        field = re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()
        return re.search(rf'"{name}"|\b{field}:', sources)

    assert not {name for name in own_metrics() if not emitted(name)}


@pytest.mark.parametrize("stage", ["dev", "prod"])
def test_the_configuration_file_names_parameters_that_exist(stage):
    config = tomllib.loads((ROOT / "samconfig.toml").read_text())[stage]["deploy"]["parameters"]
    # Read as SAM reads it, which takes no bare `Name=`.
    read = CfnParameterOverridesType().convert(tuple(config["parameter_overrides"]), None, None)
    names = {each.split("=")[0] for each in config["parameter_overrides"]}
    assert set(read) == names <= set(source()["Parameters"])


class Service:
    """Stands for a boto3 client: answers, and remembers what it was asked."""

    def __init__(self, answer=None, error=None):
        self.answer, self.error, self.calls = answer, error, []

    def call(self, **arguments):
        self.calls.append(arguments)
        if self.error:
            raise self.error
        return self.answer

    invoke = put_lifecycle_event_hook_execution_status = call


def run_hook(monkeypatch, migrate):
    """Runs the code inside the template and returns what it told CodeDeploy."""
    code_deploy = Service()
    clients = {"lambda": migrate, "codedeploy": code_deploy}
    boto3 = types.SimpleNamespace(client=lambda name, config=None: clients[name])
    monkeypatch.setitem(__import__("sys").modules, "boto3", boto3)
    monkeypatch.setenv("MIGRATE_FUNCTION", "migrate")
    module = {}
    exec(source()["Resources"]["MigrateBeforeTraffic"]["Properties"]["InlineCode"], module)
    module["handler"]({"DeploymentId": "d-1", "LifecycleEventHookExecutionId": "h-1"}, None)
    (told,) = code_deploy.calls
    assert (told["deploymentId"], told["lifecycleEventHookExecutionId"]) == ("d-1", "h-1")
    return told["status"]


def payload(text):
    return types.SimpleNamespace(read=lambda: text)


def test_traffic_may_shift_after_a_migration(monkeypatch):
    migrate = Service({"Payload": payload(b'{"applied":["V5"],"version":5}')})
    assert run_hook(monkeypatch, migrate) == "Succeeded"
    assert migrate.calls == [{"FunctionName": "migrate", "Payload": b"{}"}]


def test_traffic_stays_when_a_migration_fails(monkeypatch):
    migrate = Service({"Payload": payload(b'{"errorMessage":"a migration failed"}'), "FunctionError": "Unhandled"})
    assert run_hook(monkeypatch, migrate) == "Failed"


def test_traffic_stays_when_migrate_cannot_be_reached(monkeypatch):
    assert run_hook(monkeypatch, Service(error=TimeoutError("no answer"))) == "Failed"

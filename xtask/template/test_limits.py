"""Time, connections and retention are bounded, whatever the parameters."""

import pytest
from translated import MODES, source, stack

# Aurora PostgreSQL Serverless v2: `max_connections` by the most ACUs, with a minimum of 0.5 ACU
# (Aurora User Guide, "Maximum connections for Aurora Serverless v2").
MAX_CONNECTIONS = {4: 823, 8: 1669, 16: 2000, 32: 2000, 64: 2000, 128: 2000}
# `migrate` builds indexes and answers to no client; its caller waits for it.
LONG_RUNNING = {"MigrateFunction", "MigrateBeforeTraffic"}
ENDPOINTS = ["create_payment", "find_payment", "get_payment"]
THROUGH_THE_PROXY = [*ENDPOINTS, "purge_expired_keys"]


def concurrency_at_most(binary):
    """The largest reserved concurrency that any parameters allow."""
    functions = source()["Resources"].values()
    (value,) = [
        each["Properties"]["ReservedConcurrentExecutions"]
        for each in functions
        if each.get("Metadata", {}).get("BuildProperties", {}).get("Binary") == binary
    ]
    return source()["Parameters"][value["Ref"]]["MaxValue"] if isinstance(value, dict) else value


def proxy_share():
    group = stack().of("AWS::RDS::DBProxyTargetGroup")["ProxyTarget"]
    return group["ConnectionPoolConfigurationInfo"]["MaxConnectionsPercent"] / 100


def test_the_table_of_connections_covers_every_allowed_capacity():
    assert set(source()["Parameters"]["DatabaseMaxCapacity"]["AllowedValues"]) == set(MAX_CONNECTIONS)


@pytest.mark.parametrize("capacity", MAX_CONNECTIONS)
def test_reserved_concurrency_stays_within_what_the_proxy_may_open(capacity):
    wanted = sum(concurrency_at_most(binary) for binary in THROUGH_THE_PROXY)
    assert wanted <= MAX_CONNECTIONS[capacity] * proxy_share()


@pytest.mark.parametrize("capacity", MAX_CONNECTIONS)
def test_migrations_fit_into_what_the_proxy_leaves(capacity):
    assert concurrency_at_most("migrate") <= MAX_CONNECTIONS[capacity] * (1 - proxy_share())


@pytest.mark.parametrize("mode", MODES)
def test_every_function_has_a_reserved_concurrency(mode):
    for name, function in stack(mode).of("AWS::Lambda::Function").items():
        assert int(function["ReservedConcurrentExecutions"]) >= 1, name


def test_a_process_holds_one_connection():
    for binary in THROUGH_THE_PROXY:
        assert stack().function(binary)["Environment"]["Variables"]["POOL_SIZE"] == "1"


def test_one_purge_runs_at_a_time():
    assert stack().function("purge_expired_keys")["ReservedConcurrentExecutions"] == 1


def test_no_function_that_answers_or_repeats_runs_over_ten_seconds():
    for name, function in stack().of("AWS::Lambda::Function").items():
        assert function["Timeout"] <= (900 if name in LONG_RUNNING else 10), name


def test_a_statement_and_a_connection_fit_into_an_invocation():
    for binary in THROUGH_THE_PROXY:
        function = stack().function(binary)
        settings = function["Environment"]["Variables"]
        spent = int(settings["CONNECT_TIMEOUT_MS"]) + int(settings["STATEMENT_TIMEOUT_MS"])
        assert spent < function["Timeout"] * 1000
        borrowing = stack().of("AWS::RDS::DBProxyTargetGroup")["ProxyTarget"]
        seconds = borrowing["ConnectionPoolConfigurationInfo"]["ConnectionBorrowTimeout"]
        assert seconds * 1000 < int(settings["STATEMENT_TIMEOUT_MS"])


def test_whoever_waits_for_a_migration_waits_longer_than_it_may_take():
    functions = stack().of("AWS::Lambda::Function")
    assert functions["MigrateBeforeTraffic"]["Timeout"] > stack().function("migrate")["Timeout"]
    # CodeDeploy calls once per function whose traffic shifts, and all at about the same time.
    groups = len(stack().of("AWS::CodeDeploy::DeploymentGroup"))
    assert functions["MigrateBeforeTraffic"]["ReservedConcurrentExecutions"] == groups
    assert stack().function("migrate")["ReservedConcurrentExecutions"] == groups


@pytest.mark.parametrize("mode", MODES)
def test_every_log_has_a_retention_and_a_key(mode):
    it = stack(mode)
    groups = it.of("AWS::Logs::LogGroup")
    for name, group in groups.items():
        assert int(group["RetentionInDays"]) > 0 and group["KmsKeyId"], name
    for name, function in it.of("AWS::Lambda::Function").items():
        assert function["LoggingConfig"]["LogGroup"]["Ref"] in groups, name
    for stage in it.of("AWS::ApiGatewayV2::Stage").values():
        assert stage["AccessLogSettings"]["DestinationArn"]["Fn::GetAtt"][0] in groups


def test_the_logs_that_rds_writes_have_a_retention():
    it = stack()
    names = {str(group["LogGroupName"]) for group in it.of("AWS::Logs::LogGroup").values()}
    cluster = it.of("AWS::RDS::DBCluster")["Cluster"]["DBClusterIdentifier"]
    proxy = it.of("AWS::RDS::DBProxy")["Proxy"]["DBProxyName"]
    wanted = {f"/aws/rds/cluster/{cluster}/postgresql", f"/aws/rds/proxy/{proxy}"}
    assert wanted <= {name.removeprefix("{'Fn::Sub': '").removesuffix("'}") for name in names}


def test_requests_are_throttled():
    (stage,) = stack().of("AWS::ApiGatewayV2::Stage").values()
    settings = stage["DefaultRouteSettings"]
    assert int(settings["ThrottlingRateLimit"]) > 0 and int(settings["ThrottlingBurstLimit"]) > 0

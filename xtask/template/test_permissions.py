"""Who may do what: exact actions on exact resources; exact ways through the network."""

import json
import re

import pytest
from translated import MODES, as_list, stack, statements

# Where a star is right, and why.
ANY_RESOURCE = {
    "Trace": "X-Ray knows no resources",
    "RunInVpc": "network interfaces that do not exist yet; denied to the functions' code",
    "Key": "in a key's policy, the star is the key",
    "DatabaseKey": "in a key's policy, the star is the key",
    "DeploymentRole": "cloudwatch:DescribeAlarms, reads only",
}
ANY_ACTION = {
    "Key": "the account must be able to administer its key",
    "DatabaseKey": "the account must be able to administer its key",
}
IN_AURORA = [mode for mode in MODES if mode.endswith("aurora")]


@pytest.mark.parametrize("mode", MODES)
def test_no_star_without_a_reason(mode):
    found = statements(stack(mode))
    assert found
    for owner, statement in found:
        assert "NotAction" not in statement and "NotResource" not in statement, owner
        if any("*" in action for action in as_list(statement["Action"])):
            assert owner in ANY_ACTION, f"{owner}: {statement['Action']}"
        if "*" in as_list(statement["Resource"]):
            assert owner in ANY_RESOURCE, f"{owner}: {statement['Action']} on everything"


def test_a_deployment_reads_alarms_and_nothing_else_everywhere():
    everywhere = [
        as_list(each["Action"])
        for owner, each in statements(stack())
        if owner == "DeploymentRole" and each["Resource"] == "*"
    ]
    assert everywhere == [["cloudwatch:DescribeAlarms"]]


@pytest.mark.parametrize("mode", MODES)
def test_functions_have_roles_of_their_own_and_no_managed_policy_of_aws(mode):
    it = stack(mode)
    roles = [function["Role"]["Fn::GetAtt"][0] for function in it.of("AWS::Lambda::Function").values()]
    assert len(set(roles)) == len(roles)
    for name, role in it.of("AWS::IAM::Role").items():
        for policy in role.get("ManagedPolicyArns", []):
            assert policy["Ref"] in it.of("AWS::IAM::ManagedPolicy"), name


def connects_as(it, role):
    """The database users that a role may log in as, as written in its policies."""
    attached = {each["Ref"] for each in it.of("AWS::IAM::Role")[role].get("ManagedPolicyArns", [])}
    return [
        json.dumps(resource)
        for owner, statement in statements(it)
        if owner in attached | {role} and "rds-db:connect" in as_list(statement["Action"])
        for resource in as_list(statement["Resource"])
    ]


@pytest.mark.parametrize("mode", IN_AURORA)
def test_each_function_logs_in_as_exactly_one_user_at_exactly_one_place(mode):
    it = stack(mode)
    for function in it.of("AWS::Lambda::Function").values():
        role = function["Role"]["Fn::GetAtt"][0]
        users = connects_as(it, role)
        if role == "MigrateRole":
            assert len(users) == 1 and re.search(r"Cluster\.DBClusterResourceId\}/payments_owner\"", users[0])
        elif role == "MigrateBeforeTrafficRole":
            assert users == []
        else:
            assert len(users) == 1 and "dbuser:${ProxyId}/payments_app" in users[0]
            assert "Proxy.DBProxyArn" in users[0] or '["Proxy", "DBProxyArn"]' in users[0]
    proxy = connects_as(it, "ProxyRole")
    assert len(proxy) == 1 and "Cluster.DBClusterResourceId}/payments_app" in proxy[0]


@pytest.mark.parametrize("mode", IN_AURORA)
def test_the_urls_name_the_user_that_the_policies_allow(mode):
    it = stack(mode)
    for binary in ("create_payment", "find_payment", "get_payment", "purge_expired_keys"):
        settings = it.function(binary)["Environment"]["Variables"]
        assert settings["DATABASE_URL"]["Fn::Sub"].startswith("postgres://payments_app@${Proxy.Endpoint}:")
        assert settings["DATABASE_URL"]["Fn::Sub"].endswith("?sslmode=require")
        assert settings["DATABASE_IAM_AUTH"] == "true"
    settings = it.function("migrate")["Environment"]["Variables"]
    assert settings["OWNER_DATABASE_URL"]["Fn::Sub"].startswith("postgres://payments_owner@${Cluster.Endpoint.Address}:")
    assert settings["OWNER_IAM_AUTH"] == "true"


def test_the_proxy_takes_nothing_but_tls_and_tokens():
    proxy = stack().of("AWS::RDS::DBProxy")["Proxy"]
    assert proxy["RequireTLS"] is True
    assert proxy["DefaultAuthScheme"] == "IAM_AUTH" and "Auth" not in proxy


def test_traffic_flows_from_functions_to_proxy_to_cluster_and_nowhere_else():
    it = stack()
    out = {
        (name, rule.get("DestinationSecurityGroupId", {}).get("Fn::GetAtt", [rule.get("CidrIp")])[0], rule["FromPort"], rule["ToPort"])
        for name, group in it.of("AWS::EC2::SecurityGroup").items()
        for rule in [_with_ref(each) for each in group["SecurityGroupEgress"]]
    }
    assert out == {
        ("FunctionSecurityGroup", "ProxySecurityGroup", 5432, 5432),
        ("MigrateSecurityGroup", "ClusterSecurityGroup", 5432, 5432),
        ("ProxySecurityGroup", "ClusterSecurityGroup", 5432, 5432),
        ("ClusterSecurityGroup", "127.0.0.1/32", 5432, 5432),
    }
    into = {
        (rule["SourceSecurityGroupId"]["Ref"], rule["GroupId"]["Ref"], rule["FromPort"], rule["ToPort"])
        for rule in it.of("AWS::EC2::SecurityGroupIngress").values()
    }
    assert into == {
        ("FunctionSecurityGroup", "ProxySecurityGroup", 5432, 5432),
        ("ProxySecurityGroup", "ClusterSecurityGroup", 5432, 5432),
        ("MigrateSecurityGroup", "ClusterSecurityGroup", 5432, 5432),
    }
    assert all("SecurityGroupIngress" not in group for group in it.of("AWS::EC2::SecurityGroup").values())


def _with_ref(rule):
    """A destination written as Ref, in the shape of GetAtt."""
    target = rule.get("DestinationSecurityGroupId")
    return rule | {"DestinationSecurityGroupId": {"Fn::GetAtt": [target["Ref"]]}} if target else rule


def test_each_function_is_in_the_group_of_its_way():
    it = stack()
    for binary in it.binaries().values():
        groups = it.function(binary)["VpcConfig"]["SecurityGroupIds"]
        wanted = "MigrateSecurityGroup" if binary == "migrate" else "FunctionSecurityGroup"
        assert groups == [{"Ref": wanted}], binary


@pytest.mark.parametrize("mode", MODES)
def test_there_is_no_nat_and_no_endpoint(mode):
    kinds = {each["Type"] for each in stack(mode).resources.values()}
    assert not kinds & {"AWS::EC2::NatGateway", "AWS::EC2::VPCEndpoint", "AWS::EC2::InternetGateway", "AWS::EC2::EIP"}


def test_the_cluster_is_encrypted_protected_and_backed_up():
    cluster = stack().of("AWS::RDS::DBCluster")["Cluster"]
    assert cluster["StorageEncrypted"] is True and cluster["KmsKeyId"]
    assert cluster["DeletionProtection"] == "true" and int(cluster["BackupRetentionPeriod"]) >= 7
    assert cluster["EnableCloudwatchLogsExports"] == ["postgresql"]
    assert float(cluster["ServerlessV2ScalingConfiguration"]["MinCapacity"]) >= 0.5
    assert stack().resources["Cluster"]["DeletionPolicy"] == "Snapshot"
    assert stack().resources["DatabaseKey"]["DeletionPolicy"] == "Retain", "a snapshot without its key is noise"


def test_a_restored_cluster_takes_everything_from_its_snapshot():
    cluster = stack("hmac, restored aurora").of("AWS::RDS::DBCluster")["Cluster"]
    given = {"DatabaseName", "MasterUsername", "ManageMasterUserPassword", "MasterUserSecret", "StorageEncrypted"}
    assert cluster["SnapshotIdentifier"] == "payments-restored" and not given & set(cluster)

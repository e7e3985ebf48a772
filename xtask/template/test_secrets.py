"""The master secret reaches three functions, by reference, and nothing else carries a secret."""

import json
import re

import pytest
from translated import EXTERNAL, HMAC, MODES, ROOT, Stack, source, stack

VERIFYING = {"create_payment", "find_payment", "get_payment"}


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode.startswith("hmac")])
def test_only_functions_that_verify_signatures_get_the_master_secret(mode):
    it = stack(mode)
    holders = {
        binary
        for binary in it.binaries().values()
        if "MASTER_SECRETS" in it.function(binary)["Environment"]["Variables"]
    }
    assert holders == VERIFYING


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode.startswith("internal")])
def test_internal_mode_holds_no_master_secret(mode):
    assert "MASTER_SECRETS" not in json.dumps(stack(mode).resources)


def test_the_master_secret_is_a_reference_to_one_version():
    for binary in VERIFYING:
        value = stack().function(binary)["Environment"]["Variables"]["MASTER_SECRETS"]["Fn::Sub"]
        assert value == (
            "{{resolve:secretsmanager:" + HMAC["MasterSecretArn"] + ":SecretString:::" + HMAC["MasterSecretVersionId"] + "}}"
        )


def test_settings_are_encrypted_with_a_key_of_the_stack():
    for name, function in stack().of("AWS::Lambda::Function").items():
        assert function["KmsKeyArn"] == {"Fn::GetAtt": ["Key", "Arn"]}, name


def versions(parameters):
    """What identifies the published version of each function: a change of either publishes a new one."""
    it = Stack(parameters)
    return {
        it.binaries()[each["FunctionName"]["Ref"]]: (name, each["Description"])
        for name, each in it.of("AWS::Lambda::Version").items()
        if each.get("Description")
    }


def changed(before, after):
    return {binary for binary in before if before[binary] != after[binary]}


def test_a_rotated_secret_is_a_new_version_of_exactly_the_functions_that_verify():
    rotated = HMAC | {"MasterSecretVersionId": "22222222-2222-4222-8222-222222222222"}
    assert changed(versions(HMAC), versions(rotated)) == VERIFYING


@pytest.mark.parametrize(
    "setting",
    [
        {"LogLevel": "debug"},
        {"Architecture": "x86_64"},
        EXTERNAL,
        EXTERNAL | {"ExternalDatabaseUrl": "postgres://payments_app@other.example/payments"},
    ],
)
def test_a_changed_setting_is_a_new_version_of_every_function_with_traffic(setting):
    assert changed(versions(HMAC), versions(HMAC | setting)) == VERIFYING | {"purge_expired_keys"}


def test_the_same_settings_are_the_same_version():
    assert changed(versions(HMAC), versions(HMAC | {"ThrottlingRate": "7"})) == set()


def test_no_parameter_takes_a_secret():
    for name, parameter in source()["Parameters"].items():
        assert "NoEcho" not in parameter, f"{name} asks for a secret"
        assert not re.search(r"(?i)password|secret|token", name) or name.startswith("MasterSecret"), name
        assert re.search(r"(Arn|VersionId)$", name) or not name.startswith("MasterSecret"), name


@pytest.mark.parametrize("name", ["ExternalDatabaseUrl", "ExternalOwnerDatabaseUrl"])
def test_an_address_with_a_password_is_refused(name):
    pattern = source()["Parameters"][name]["AllowedPattern"]
    assert re.search(pattern, "postgres://payments_app@db.example:5432/payments?sslmode=require")
    assert not re.search(pattern, "postgres://payments_app:hunter2@db.example:5432/payments")


def test_the_configuration_file_carries_no_secret():
    text = (ROOT / "samconfig.toml").read_text()
    assert not re.search(r"[A-Za-z0-9+/]{40,}={0,2}", text)

"""What docs/deploy.md says is what the template has."""

import os
import re
import subprocess

from translated import ROOT, source, stack

PAGE = (ROOT / "docs/deploy.md").read_text()


def test_a_client_secret_derived_by_the_document_is_the_one_that_the_functions_expect():
    command = re.search(r"openssl kdf .*?HKDF \| base64", PAGE, re.DOTALL)[0]
    tests = ROOT / "shared/src/auth/http_signature/tests"
    constants = (tests / "mod.rs").read_text()
    environment = os.environ | {
        "MASTER": re.search(r'MASTER_SECRETS: &str = "([^"]+)"', constants)[1],
        "KEY_ID": re.search(r'\bKEY_ID: &str = "([^"]+)"', constants)[1],
    }
    expected = re.search(r'never_changes.*?"([A-Za-z0-9+/]{43}=)"', (tests / "secrets.rs").read_text(), re.DOTALL)[1]
    derived = subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert derived.stdout.strip() == expected


def test_every_role_is_written_out():
    for name in stack().of("AWS::IAM::Role"):
        assert f"`{name}`" in PAGE, name


def test_every_alarm_is_written_out():
    for name in stack().of("AWS::CloudWatch::Alarm"):
        assert f"| `{name}` |" in PAGE, name


def test_outputs_and_parameters_that_are_named_exist():
    for output in re.findall(r"(?<!-)\boutput ([A-Z]\w+)", PAGE):
        assert output in source()["Outputs"], output
    for parameter in re.findall(r"\b([A-Z][a-z]+(?:[A-Z][A-Za-z]+)+)=(?!=)", PAGE):
        assert parameter in source()["Parameters"], parameter


def test_the_reserved_concurrency_that_is_named_is_the_default():
    functions = stack().of("AWS::Lambda::Function").values()
    total = sum(int(function["ReservedConcurrentExecutions"]) for function in functions)
    assert f"The default stack reserves {total} " in PAGE

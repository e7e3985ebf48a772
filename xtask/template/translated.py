"""The template as CloudFormation sees it: translated by SAM, then with parameters and conditions applied.

Must not know what is right: the tests judge.
"""

from __future__ import annotations

import copy
import os
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")

from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

ROOT = Path(__file__).resolve().parents[2]
PSEUDO = {
    "AWS::AccountId": "111122223333",
    "AWS::Partition": "aws",
    "AWS::Region": "eu-central-1",
    "AWS::StackName": "payments",
}
NO_VALUE = object()

SECRET = {
    "MasterSecretArn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:payments-AbCdEf",
    "MasterSecretVersionId": "11111111-1111-4111-8111-111111111111",
}
HMAC = {"AuthMode": "hmac", **SECRET}
INTERNAL = {"AuthMode": "internal"}
EXTERNAL = {
    "DatabaseMode": "external",
    "ExternalDatabaseUrl": "postgres://payments_app@db.example:5432/payments?sslmode=require",
    "ExternalOwnerDatabaseUrl": "postgres://owner@db.example:5432/payments?sslmode=require",
    "ExternalDatabaseUser": "prx-0123/payments_app",
    "ExternalOwner": "cluster-0123/owner",
    "ExternalSubnetIds": "subnet-1,subnet-2",
    "ExternalSecurityGroupIds": "sg-1",
}
# Every mode the stack can be deployed in.
MODES = {
    "hmac, aurora": HMAC,
    "hmac, restored aurora": {**HMAC, "DatabaseSnapshot": "payments-restored"},
    "internal, aurora": INTERNAL,
    "hmac, external": {**HMAC, **EXTERNAL},
    "internal, external": {**INTERNAL, **EXTERNAL},
    "hmac, external without IAM and VPC": {
        **HMAC,
        **EXTERNAL,
        "ExternalIamAuth": "false",
        "ExternalDatabaseUser": "",
        "ExternalOwner": "",
        "ExternalSubnetIds": "",
        "ExternalSecurityGroupIds": "",
        "GradualDeployment": "false",
    },
}


class NoManagedPolicies:
    """The template names no AWS managed policy, so none has to be loaded."""

    def load(self) -> dict[str, str]:
        return {}


def source() -> dict[str, Any]:
    """The template as it is written."""
    return yaml_parse((ROOT / "template.yaml").read_text())


class Stack:
    """The resources that a deployment with these parameters would have."""

    def __init__(self, overrides: dict[str, str]):
        template = source()
        self.parameters = {
            name: str(declared["Default"]) for name, declared in template["Parameters"].items()
        } | overrides
        for resource in template["Resources"].values():
            if resource.get("Metadata", {}).get("BuildMethod"):
                resource["Properties"]["CodeUri"] = "s3://bucket/key"
        template["Globals"]["Function"].pop("CodeUri")
        translated = transform(copy.deepcopy(template), dict(self.parameters), NoManagedPolicies())
        self._conditions = translated["Conditions"]
        self.resources: dict[str, dict[str, Any]] = {
            name: self._applied(resource)
            for name, resource in translated["Resources"].items()
            if "Condition" not in resource or self._holds(resource["Condition"])
        }

    def of(self, kind: str) -> dict[str, dict[str, Any]]:
        """The properties of all resources of a type, by logical id."""
        return {
            name: resource["Properties"]
            for name, resource in self.resources.items()
            if resource["Type"] == kind
        }

    def binaries(self) -> dict[str, str]:
        """The binary of each Rust function, by logical id."""
        return {
            name: resource["Metadata"]["BuildProperties"]["Binary"]
            for name, resource in self.resources.items()
            if resource["Type"] == "AWS::Lambda::Function"
            and resource.get("Metadata", {}).get("BuildMethod") == "rust-cargolambda"
        }

    def function(self, binary: str) -> dict[str, Any]:
        """The properties of the function that runs a binary."""
        (name,) = [name for name, each in self.binaries().items() if each == binary]
        return self.of("AWS::Lambda::Function")[name]

    def alias_to_function(self, alias: Any) -> str:
        """The logical id of the function behind a reference to an alias."""
        return self.of("AWS::Lambda::Alias")[alias["Ref"]]["FunctionName"]["Ref"]

    def _holds(self, name: str) -> bool:
        return self._truth(self._conditions[name])

    def _truth(self, expression: Any) -> bool:
        ((operator, operands),) = expression.items()
        match operator:
            case "Condition":
                return self._holds(operands)
            case "Fn::Equals":
                left, right = (self._applied(operand) for operand in operands)
                return left == right
            case "Fn::Not":
                return not self._truth(operands[0])
            case "Fn::And":
                return all(map(self._truth, operands))
            case "Fn::Or":
                return any(map(self._truth, operands))
        raise ValueError(f"unknown condition {operator}")

    def _applied(self, value: Any) -> Any:
        """The value with parameters and conditions put in; references to resources stay."""
        if isinstance(value, str):
            return value
        if isinstance(value, list):
            items = [self._applied(item) for item in value]
            return [item for item in items if item is not NO_VALUE]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((operator, operand),) = value.items()
            if operator == "Ref":
                return self._reference(operand, value)
            if operator == "Fn::If":
                condition, then, otherwise = operand
                return self._applied(then if self._holds(condition) else otherwise)
            if operator == "Fn::Join" and isinstance(joined := self._applied(operand[1]), str):
                return joined.replace(",", operand[0])
            if operator == "Fn::Sub" and isinstance(operand, str):
                return {"Fn::Sub": self._substituted(operand)}
        members = {name: self._applied(member) for name, member in value.items()}
        return {name: member for name, member in members.items() if member is not NO_VALUE}

    def _reference(self, name: str, value: Any) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        return self.parameters.get(name, PSEUDO.get(name, value))

    def _substituted(self, text: str) -> str:
        for name, known in (self.parameters | PSEUDO).items():
            text = text.replace("${" + name + "}", known)
        return text


@cache
def stack(mode: str = "hmac, aurora") -> Stack:
    """The stack in one of `MODES`."""
    return Stack(MODES[mode])


def statements(stack: Stack) -> list[tuple[str, dict[str, Any]]]:
    """Every statement of every policy, with the logical id of its resource."""
    documents: list[tuple[str, dict[str, Any]]] = []
    for name, role in stack.of("AWS::IAM::Role").items():
        documents += [(name, policy["PolicyDocument"]) for policy in role.get("Policies", [])]
    for kind in ("AWS::IAM::ManagedPolicy", "AWS::IAM::Policy", "AWS::SQS::QueuePolicy"):
        documents += [(name, policy["PolicyDocument"]) for name, policy in stack.of(kind).items()]
    for name, key in stack.of("AWS::KMS::Key").items():
        documents.append((name, key["KeyPolicy"]))
    return [(name, each) for name, document in documents for each in document["Statement"]]


def as_list(value: Any) -> list[Any]:
    """IAM writes a list of one as the one."""
    return value if isinstance(value, list) else [value]

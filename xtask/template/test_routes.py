"""Routes, functions, the local router and the documentation say the same, and no route is open."""

import re
import tomllib

import pytest
from translated import MODES, ROOT, stack


def deployed(mode="hmac, aurora"):
    """(method, path) → binary, followed through route, integration, alias and function."""
    it = stack(mode)
    integrations = it.of("AWS::ApiGatewayV2::Integration")
    routes = {}
    for route in it.of("AWS::ApiGatewayV2::Route").values():
        method, path = route["RouteKey"].split(" ")
        integration = re.fullmatch(r"integrations/\$\{(\w+)\}", route["Target"]["Fn::Sub"])[1]
        function = it.alias_to_function(integrations[integration]["IntegrationUri"])
        routes[method, path] = it.binaries()[function]
    return routes


def test_routes_are_those_of_the_local_router():
    manifest = tomllib.loads((ROOT / "Cargo.toml").read_text())
    router = manifest["workspace"]["metadata"]["lambda"]["watch"]["router"]
    local = {
        (entry["method"], path): entry["function"]
        for path, entries in router.items()
        for entry in entries
    }
    assert deployed() == local


def test_routes_are_those_of_the_documentation():
    page = (ROOT / "docs/api.md").read_text()
    rows = re.findall(r"^\| \[`(GET|POST|PUT|PATCH|DELETE) ([^`?]+)[^`]*`\]", page, re.MULTILINE)
    assert set(rows) == set(deployed())


def test_every_function_of_the_repository_is_deployed_once():
    folders = sorted(each.parent.name for each in (ROOT / "functions").glob("*/Cargo.toml"))
    assert sorted(stack().binaries().values()) == folders


def test_the_gateway_may_call_exactly_the_functions_behind_its_routes():
    it = stack()
    allowed = set()
    for permission in it.of("AWS::Lambda::Permission").values():
        assert permission["Principal"] == "apigateway.amazonaws.com"
        method, path = re.search(r"\$\{Api\}/\*/(\w+)(/.*)", permission["SourceArn"]["Fn::Sub"]).groups()
        binary = it.binaries()[it.alias_to_function(permission["FunctionName"])]
        allowed.add((method, path, binary))
    wanted = {(m, re.sub(r"\{\w+\}", "*", p), binary) for (m, p), binary in deployed().items()}
    assert allowed == wanted


@pytest.mark.parametrize("mode", MODES)
def test_no_route_is_public_and_unsigned(mode):
    it = stack(mode)
    assert deployed(mode), "no route at all"
    for route in it.of("AWS::ApiGatewayV2::Route").values():
        method, path = route["RouteKey"].split(" ")
        settings = it.function(deployed(mode)[method, path])["Environment"]["Variables"]
        assert settings["AUTH_MODE"] == it.parameters["AuthMode"]
        if settings["AUTH_MODE"] == "hmac":
            assert settings["MASTER_SECRETS"], f"{path} could not verify a signature"
        else:
            assert route["AuthorizationType"] == "AWS_IAM", f"{path} trusts callers that nobody checked"


@pytest.mark.parametrize("mode", MODES)
def test_there_is_no_other_way_in(mode):
    kinds = {each["Type"] for each in stack(mode).resources.values()}
    assert not kinds & {"AWS::Lambda::Url", "AWS::ApiGateway::RestApi", "AWS::EC2::InternetGateway"}
    for api in stack(mode).of("AWS::ApiGatewayV2::Api").values():
        assert "Body" not in api and "Target" not in api, "routes that this check does not see"


def test_answers_arrive_before_the_gateway_gives_up():
    it = stack()
    for integration in it.of("AWS::ApiGatewayV2::Integration").values():
        function = it.of("AWS::Lambda::Function")[it.alias_to_function(integration["IntegrationUri"])]
        assert function["Timeout"] * 1000 < integration["TimeoutInMillis"]

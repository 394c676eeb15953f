"""The HTTP API as CloudFormation gets it: what is open, what needs a key."""

from tests.integration.infra.assembly import Assembly

OPEN_ROUTES = {"GET /", "GET /docs", "GET /openapi.json", "POST /v1/heartbeats/{token}"}


def routes(assembly: Assembly) -> dict[str, dict[str, object]]:
    found = assembly.of_type("AWS::ApiGatewayV2::Route").values()
    return {route["Properties"]["RouteKey"]: route["Properties"] for route in found}


def test_everything_but_the_static_pages_and_the_pings_needs_a_key(on_aws: Assembly) -> None:
    for key, route in routes(on_aws).items():
        if key in OPEN_ROUTES:
            assert route["AuthorizationType"] == "NONE"
        else:
            assert route["AuthorizationType"] == "CUSTOM"
            assert "AuthorizerId" in route


def test_the_routes_are_those_of_the_api_and_no_route_catches_all(on_aws: Assembly) -> None:
    assert set(routes(on_aws)) == OPEN_ROUTES | {"ANY /v1/{proxy+}"}


def test_the_authorizer_reads_the_authorization_header_and_answers_yes_or_no(on_aws: Assembly) -> None:
    [authorizer] = on_aws.of_type("AWS::ApiGatewayV2::Authorizer").values()
    properties = authorizer["Properties"]
    assert properties["IdentitySource"] == ["$request.header.Authorization"]
    assert properties["EnableSimpleResponses"] is True
    assert properties["AuthorizerPayloadFormatVersion"] == "2.0"
    assert properties["AuthorizerResultTtlInSeconds"] <= 60


def test_requests_are_throttled_and_logged(on_aws: Assembly) -> None:
    [stage] = on_aws.of_type("AWS::ApiGatewayV2::Stage").values()
    properties = stage["Properties"]
    assert properties["DefaultRouteSettings"]["ThrottlingRateLimit"] > 0
    assert properties["DefaultRouteSettings"]["ThrottlingBurstLimit"] > 0
    assert "$context.requestId" in properties["AccessLogSettings"]["Format"]


def test_pings_have_a_bucket_of_their_own_and_their_tokens_are_not_logged(on_aws: Assembly) -> None:
    [stage] = on_aws.of_type("AWS::ApiGatewayV2::Stage").values()
    properties = stage["Properties"]
    ours = properties["RouteSettings"]["POST /v1/heartbeats/{token}"]
    assert 0 < ours["ThrottlingRateLimit"] < properties["DefaultRouteSettings"]["ThrottlingRateLimit"]
    assert "path" not in properties["AccessLogSettings"]["Format"].lower()


def test_the_gateway_waits_longer_than_the_functions_behind_it(on_aws: Assembly) -> None:
    functions = on_aws.functions()
    assert functions["api"]["Timeout"] < 30
    assert functions["authorizer"]["Timeout"] <= 10

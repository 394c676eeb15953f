"""CloudFront and WAF before the API, and that nobody gets around them."""

import json
from typing import Any

from cronfleet.settings import EDGE_HEADER, EDGE_SECRET
from infra.constructs.gateway import HEADERS
from tests.integration.infra.assembly import Assembly, Resource, as_list

SECRET = "cronfleet-edge"


def only(assembly: Assembly, kind: str) -> dict[str, Any]:
    [resource] = assembly.of_type(kind).values()
    return dict(resource["Properties"])


def distribution(assembly: Assembly) -> dict[str, Any]:
    return dict(only(assembly, "AWS::CloudFront::Distribution")["DistributionConfig"])


def routes(assembly: Assembly) -> dict[str, Resource]:
    found = assembly.of_type("AWS::ApiGatewayV2::Route").values()
    return {route["Properties"]["RouteKey"]: route["Properties"] for route in found}


def authorizers(assembly: Assembly) -> dict[str, Resource]:
    found = assembly.of_type("AWS::ApiGatewayV2::Authorizer").items()
    return {path.partition("/")[2]: one["Properties"] for path, one in found}


def test_an_installation_has_no_edge_unless_it_gives_it_a_name(on_aws: Assembly) -> None:
    assert "cronfleet-edge" not in on_aws.templates
    assert on_aws.functions()["authorizer"]["Environment"]["Variables"][EDGE_SECRET] == ""
    assert not on_aws.of_type("AWS::SecretsManager::Secret")


def test_the_edge_is_described_in_the_region_of_cloudfront_and_is_there_before_the_api_asks_for_it(
    with_everything: Assembly,
) -> None:
    artifacts = json.loads((with_everything.folder / "manifest.json").read_text())["artifacts"]
    assert artifacts["cronfleet-edge"]["environment"] == "aws://123456789012/us-east-1"
    assert "cronfleet-state" in artifacts["cronfleet-edge"]["dependencies"]
    assert "cronfleet-edge" in artifacts["cronfleet-control-plane"]["dependencies"]
    assert [path.partition("/")[0] for path in with_everything.of_type("AWS::SecretsManager::Secret")] == [
        "cronfleet-state"
    ]


def test_a_way_around_the_edge_has_no_address_of_its_own(with_everything: Assembly, on_aws: Assembly) -> None:
    assert only(with_everything, "AWS::ApiGatewayV2::Api")["DisableExecuteApiEndpoint"] is True
    assert only(on_aws, "AWS::ApiGatewayV2::Api")["DisableExecuteApiEndpoint"] is False


def test_every_route_asks_for_what_only_the_edge_knows(with_everything: Assembly) -> None:
    shown = {
        key: authorizers(with_everything)[route["AuthorizerId"]["Ref"]]["IdentitySource"]
        for key, route in routes(with_everything).items()
    }
    assert len(shown) == 5
    edge = f"$request.header.{EDGE_HEADER}"
    assert shown.pop("ANY /v1/{proxy+}") == ["$request.header.Authorization", edge]
    assert all(sources == [edge] for sources in shown.values())


def test_the_secret_between_edge_and_api_stands_in_no_template(with_everything: Assembly) -> None:
    [origin] = distribution(with_everything)["Origins"]
    headers = {one["HeaderName"]: one["HeaderValue"] for one in origin["OriginCustomHeaders"]}
    assert headers[EDGE_HEADER] == f"{{{{resolve:secretsmanager:{SECRET}:SecretString:::}}}}"
    secret = only(with_everything, "AWS::SecretsManager::Secret")
    assert secret["Name"] == SECRET
    assert secret["ReplicaRegions"] == [{"Region": "us-east-1"}]
    assert "SecretString" not in secret


def test_no_schedule_of_a_tenant_can_name_that_secret(with_everything: Assembly) -> None:
    assert not only(with_everything, "AWS::SecretsManager::Secret")["Name"].startswith("cronfleet/")


def test_the_authorizer_alone_reads_the_secret_and_no_other(with_everything: Assembly) -> None:
    [statement] = [
        one
        for one in with_everything.statements("authorizer")
        if "secretsmanager:GetSecretValue" in as_list(one["Action"])
    ]
    name = f":secretsmanager:eu-central-1:123456789012:secret:{SECRET}-??????"
    assert statement["Resource"]["Fn::Join"][1][-1] == name
    assert with_everything.functions()["authorizer"]["Environment"]["Variables"][EDGE_SECRET] == SECRET


def test_the_api_is_told_the_name_that_the_caller_used(with_everything: Assembly) -> None:
    config = distribution(with_everything)
    headers = {one["HeaderName"]: one["HeaderValue"] for one in config["Origins"][0]["OriginCustomHeaders"]}
    assert [headers["x-forwarded-host"]] == config["Aliases"] == ["schedules.example.com"]


def test_cloudfront_speaks_tls_alone_and_shows_the_api_a_certificate(with_everything: Assembly) -> None:
    config = distribution(with_everything)
    origin = config["Origins"][0]["CustomOriginConfig"]
    assert config["ViewerCertificate"]["MinimumProtocolVersion"] == "TLSv1.2_2021"
    assert config["DefaultCacheBehavior"]["ViewerProtocolPolicy"] == origin["OriginProtocolPolicy"] == "https-only"
    assert ":us-east-1:" in origin["OriginMtlsConfig"]["ClientCertificateArn"]
    domain = only(with_everything, "AWS::ApiGatewayV2::DomainName")
    assert domain["MutualTlsAuthentication"] == {"TruststoreUri": "s3://example-certificates/edge.pem"}
    assert domain["DomainNameConfigurations"][0]["SecurityPolicy"] == "TLS_1_2"


def test_cloudfront_asks_the_api_under_the_apis_own_name(with_everything: Assembly) -> None:
    domain = only(with_everything, "AWS::ApiGatewayV2::DomainName")["DomainName"]
    assert distribution(with_everything)["Origins"][0]["DomainName"] == domain
    assert only(with_everything, "AWS::ApiGatewayV2::ApiMapping")["DomainName"] == domain
    named = {
        (record["Properties"]["Name"], record["Properties"]["Type"])
        for record in with_everything.of_type("AWS::Route53::RecordSet").values()
    }
    assert named == {(domain, "A"), ("schedules.example.com", "A"), ("schedules.example.com", "AAAA")}


def test_the_firewall_has_a_limit_for_each_address_and_logs_no_key_and_no_path(with_everything: Assembly) -> None:
    acl = only(with_everything, "AWS::WAFv2::WebACL")
    rate = acl["Rules"][0]
    assert (rate["Action"], rate["Statement"]["RateBasedStatement"]["Limit"]) == ({"Block": {}}, 5000)
    assert not acl["VisibilityConfig"]["SampledRequestsEnabled"]
    assert not any(rule["VisibilityConfig"]["SampledRequestsEnabled"] for rule in acl["Rules"])
    redacted = only(with_everything, "AWS::WAFv2::LoggingConfiguration")["RedactedFields"]
    assert {"UriPath": {}} in redacted
    assert {"SingleHeader": {"Name": "authorization"}} in redacted


def test_what_a_schedules_body_may_rightly_hold_is_counted_and_not_stopped(with_everything: Assembly) -> None:
    rules = only(with_everything, "AWS::WAFv2::WebACL")["Rules"]
    overridden = {
        one["Name"]: one["ActionToUse"]
        for rule in rules
        for one in rule["Statement"].get("ManagedRuleGroupStatement", {}).get("RuleActionOverrides", ())
    }
    for name in ("SizeRestrictions_BODY", "GenericRFI_BODY", "EC2MetaDataSSRF_BODY"):
        assert overridden[name] == {"Count": {}}


def test_pages_of_the_origins_named_may_call_the_api_and_send_every_header_that_it_reads(
    with_everything: Assembly, on_aws: Assembly
) -> None:
    cors = only(with_everything, "AWS::ApiGatewayV2::Api")["CorsConfiguration"]
    assert cors["AllowOrigins"] == ["https://console.example.com"]
    assert "AllowCredentials" not in cors, "keys are sent by the page, never by the browser by itself"
    assert {"authorization", "cronfleet-tenant", "idempotency-key", "if-match", "if-none-match"} <= set(HEADERS)
    assert "CorsConfiguration" not in only(on_aws, "AWS::ApiGatewayV2::Api")

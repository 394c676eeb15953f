"""Versions, the alias that everything goes by, and how it is shifted on AWS."""

import json
from typing import Any

import pytest

from infra.alarms import ROLLBACK_ALARMS, alarms
from infra.config.installation import from_context
from infra.constructs import rollout
from local import start
from tests.integration.infra.assembly import Assembly, Resource, as_list

SHIFTS = {
    "api": "CodeDeployDefault.LambdaCanary10Percent5Minutes",
    "authorizer": "CodeDeployDefault.LambdaCanary10Percent5Minutes",
    "dispatcher": "CodeDeployDefault.LambdaLinear10PercentEvery1Minute",
    "clerk": "CodeDeployDefault.LambdaLinear10PercentEvery1Minute",
    "worker-standard": "CodeDeployDefault.LambdaLinear10PercentEvery1Minute",
    "worker-priority": "CodeDeployDefault.LambdaLinear10PercentEvery1Minute",
    "worker-backfill": "CodeDeployDefault.LambdaLinear10PercentEvery1Minute",
    "ticker": "50 % for 10 minutes",
    "sweeper": "50 % for 10 minutes",
    "dead_letters": "CodeDeployDefault.LambdaAllAtOnce",
}


def aliases(assembly: Assembly) -> dict[str, Resource]:
    """Each alias by the logical id of its function."""
    found = assembly.of_type("AWS::Lambda::Alias").items()
    return {f"{key.split('/')[0]}/{one['Properties']['FunctionName']['Ref']}": one for key, one in found}


def groups(assembly: Assembly) -> dict[str, Resource]:
    """The properties of each deployment group, by its function's name without the prefix."""
    found = [one["Properties"] for one in assembly.of_type("AWS::CodeDeploy::DeploymentGroup").values()]
    return {one["DeploymentGroupName"].removeprefix("cronfleet-"): one for one in found}


def test_every_function_has_a_version_and_the_alias_live(on_aws: Assembly) -> None:
    functions = on_aws.of_type("AWS::Lambda::Function")
    found = aliases(on_aws)
    assert set(found) == set(functions)
    assert {one["Properties"]["Name"] for one in found.values()} == {rollout.LIVE} == {start.LIVE}
    versions = on_aws.of_type("AWS::Lambda::Version").values()
    assert len(versions) == len(functions)
    assert {version["DeletionPolicy"] for version in versions} == {"Retain"}, "an alias can be set back to an old one"


def test_queues_schedules_and_the_http_api_go_by_the_alias_and_nothing_goes_past_it(on_aws: Assembly) -> None:
    live = {key.split("/")[1] for key in on_aws.of_type("AWS::Lambda::Alias")}
    for mapping in on_aws.of_type("AWS::Lambda::EventSourceMapping").values():
        assert _referred(mapping["Properties"]["FunctionName"]) <= _parts_of(live), mapping
    for schedule in on_aws.of_type("AWS::Scheduler::Schedule").values():
        assert schedule["Properties"]["Target"]["Arn"]["Ref"] in live
    for kind, name in (("Integration", "IntegrationUri"), ("Authorizer", "AuthorizerUri")):
        for one in on_aws.of_type(f"AWS::ApiGatewayV2::{kind}").values():
            assert _referred(one["Properties"][name]) <= live | {"AWS::Region", "AWS::Partition"}, one
    for permission in on_aws.of_type("AWS::Lambda::Permission").values():
        assert permission["Properties"]["FunctionName"]["Ref"] in live, permission
    for config in on_aws.of_type("AWS::Lambda::EventInvokeConfig").values():
        assert config["Properties"]["Qualifier"] != "$LATEST", config


def _parts_of(live: set[str]) -> set[str]:
    return live | {"AWS::AccountId", "AWS::Region", "AWS::Partition"}


def _referred(value: Any) -> set[str]:
    """Every logical id in a value."""
    if isinstance(value, dict):
        if "Ref" in value:
            return {value["Ref"]}
        if "Fn::GetAtt" in value:
            return {value["Fn::GetAtt"][0]}
        return {name for part in value.values() for name in _referred(part)}
    return {name for part in value for name in _referred(part)} if isinstance(value, list) else set()


@pytest.mark.parametrize("function", SHIFTS)
def test_each_function_is_shifted_as_suits_what_invokes_it(on_aws: Assembly, function: str) -> None:
    name = groups(on_aws)[function]["DeploymentConfigName"]
    if "Ref" not in name:
        assert name == SHIFTS[function]
        return
    (config,) = on_aws.of_type("AWS::CodeDeploy::DeploymentConfig").values()
    canary = config["Properties"]["TrafficRoutingConfig"]["TimeBasedCanary"]
    assert SHIFTS[function] == f"{canary['CanaryPercentage']} % for {canary['CanaryInterval']} minutes"


def test_every_deployment_is_taken_back_by_alarms_that_there_are(on_aws: Assembly) -> None:
    found = groups(on_aws)
    assert set(found) == set(on_aws.functions()) == set(SHIFTS)
    there = {f"cronfleet-{spec.name}" for spec in alarms(from_context({}))}
    seen: set[str] = set()
    for group in found.values():
        wanted = {one["Name"] for one in group["AlarmConfiguration"]["Alarms"]}
        assert {"cronfleet-lag-standard", "cronfleet-lag-priority", "cronfleet-api-failing"} <= wanted <= there
        assert len(wanted) <= rollout.MOST_ALARMS
        seen |= wanted
        assert set(group["AutoRollbackConfiguration"]["Events"]) == {
            "DEPLOYMENT_FAILURE",
            "DEPLOYMENT_STOP_ON_REQUEST",
            "DEPLOYMENT_STOP_ON_ALARM",
        }
    assert seen == {f"cronfleet-{name}" for name in ROLLBACK_ALARMS}, "each takes some part back"
    for alias in aliases(on_aws).values():
        assert "CodeDeployLambdaAliasUpdate" in alias["UpdatePolicy"]


def test_the_api_is_shifted_when_every_part_that_reads_what_it_writes_is(on_aws: Assembly) -> None:
    found = aliases(on_aws)
    names = {key: one["Properties"]["FunctionName"] for key, one in on_aws.of_type("AWS::Lambda::Function").items()}
    named = {name.removeprefix("cronfleet-"): found[key] for key, name in names.items()}
    ids = {id(one): key.split("/")[1] for key, one in on_aws.of_type("AWS::Lambda::Alias").items()}
    before = {ids[id(named[part])] for part in ("ticker", "dispatcher", "sweeper", "clerk", "dead_letters")}
    assert before <= set(named["api"]["DependsOn"])
    assert {"cronfleet-data-plane"} <= _depended_on(on_aws, "cronfleet-control-plane"), "and the workers before them"


def _depended_on(assembly: Assembly, stack: str) -> set[str]:
    artifacts = json.loads((assembly.folder / "manifest.json").read_text())["artifacts"]
    return set(artifacts[stack]["dependencies"])


def test_codedeploy_may_move_the_alias_of_each_function_of_its_stack_and_look_at_alarms(on_aws: Assembly) -> None:
    allowed = "".join(
        json.dumps(policy)
        for policy in on_aws.of_type("AWS::IAM::Policy").values()
        if "lambda:UpdateAlias" in json.dumps(policy)
    )
    for name in SHIFTS:
        assert f":function:cronfleet-{name}:{rollout.LIVE}" in allowed, name
    assert '"Resource": "*"' not in allowed


def test_a_role_may_invoke_the_alias_and_no_other_version(on_aws: Assembly) -> None:
    for policy in on_aws.of_type("AWS::IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            if "lambda:InvokeFunction" not in as_list(statement["Action"]):
                continue
            assert "Function" not in {name[-16:-8] for name in _referred(statement["Resource"])}, statement


def test_the_emulator_which_has_no_codedeploy_gets_the_alias_alone(on_this_machine: Assembly) -> None:
    assert len(aliases(on_this_machine)) == len(on_this_machine.functions())
    assert "CodeDeploy" not in json.dumps(on_this_machine.templates)

"""The stacks beside each other: what ties them together, and in what order they are deployed."""

import json
from itertools import pairwise
from typing import Any

import pytest

from tests.integration.infra.assembly import Assembly

ORDER = ("cronfleet-observability", "cronfleet-state", "cronfleet-data-plane", "cronfleet-control-plane")


def test_no_stack_exports_anything_so_none_can_stand_in_the_way_of_anothers_change(on_aws: Assembly) -> None:
    for name, template in on_aws.templates.items():
        exported = [output for output, value in template.get("Outputs", {}).items() if "Export" in value]
        assert (name, exported) == (name, [])
        assert "Fn::ImportValue" not in json.dumps(template), name
        assert "Fn::GetStackOutput" not in json.dumps(template), name


@pytest.mark.parametrize("name", ["prod", "dev", "everything"])
def test_nothing_is_looked_up_in_an_account(assemblies: dict[str, Assembly], name: str) -> None:
    manifest = json.loads((assemblies[name].folder / "manifest.json").read_text())
    assert not manifest.get("missing")


def test_each_stack_waits_for_those_whose_tables_and_queues_it_uses(on_aws: Assembly) -> None:
    artifacts = json.loads((on_aws.folder / "manifest.json").read_text())["artifacts"]
    for first, then in pairwise(ORDER):
        assert first in artifacts[then]["dependencies"]


def test_what_a_stack_calls_by_name_is_there_in_some_stack(on_aws: Assembly) -> None:
    """A typing error in a name would be found by nobody before the first request."""
    there = {
        text
        for kind, key in (
            ("AWS::DynamoDB::GlobalTable", "TableName"),
            ("AWS::SQS::Queue", "QueueName"),
            ("AWS::Events::EventBus", "Name"),
        )
        for resource in on_aws.of_type(kind).values()
        for text in [resource["Properties"][key]]
    }
    spoken_of = set()
    for policy in on_aws.of_type("AWS::IAM::Policy").values():
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
            if any(action.startswith(("dynamodb:", "sqs:", "events:")) for action in _list(statement["Action"])):
                spoken_of |= {_name(arn) for arn in _list(statement["Resource"]) if "Fn::Join" in arn}
    assert spoken_of
    assert spoken_of <= there


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _name(arn: dict[str, Any]) -> str:
    """The name at the end of an ARN that CloudFormation will put together."""
    last = arn["Fn::Join"][1][-1].removeprefix(":").removeprefix("table/").removeprefix("event-bus/")
    return str(last).partition("/index/")[0]


LIMITS = {
    "AWS::Lambda::Function": ("FunctionName", 64),
    "AWS::IAM::Role": ("RoleName", 64),
    "AWS::SQS::Queue": ("QueueName", 80),
    "AWS::DynamoDB::GlobalTable": ("TableName", 255),
    "AWS::Logs::LogGroup": ("LogGroupName", 512),
    "AWS::CloudWatch::Alarm": ("AlarmName", 255),
    "AWS::CloudWatch::Dashboard": ("DashboardName", 255),
    "AWS::Scheduler::Schedule": ("Name", 64),
    "AWS::Events::EventBus": ("Name", 256),
    "AWS::ApiGatewayV2::Api": ("Name", 128),
    "AWS::SecretsManager::Secret": ("Name", 512),
    "AWS::SSM::Parameter": ("Name", 1011),
    "AWS::KMS::Alias": ("AliasName", 256),
    "AWS::WAFv2::WebACL": ("Name", 128),
    "AWS::CodeDeploy::Application": ("ApplicationName", 100),
    "AWS::CodeDeploy::DeploymentGroup": ("DeploymentGroupName", 100),
}
"""Where resources have names of ours, and how long AWS lets them be."""

LONGEST_NAME = 32


def physical_names(assembly: Assembly) -> dict[str, list[str]]:
    """The names that we give, by the type of what has them."""
    return {
        kind: [
            str(resource["Properties"][key])
            for resource in assembly.of_type(kind).values()
            if isinstance(resource["Properties"].get(key), str)
        ]
        for kind, (key, _) in LIMITS.items()
    }


def test_two_installations_in_one_account_and_region_have_no_name_in_common(assemblies: dict[str, Assembly]) -> None:
    one, other = (physical_names(assemblies[name]) for name in ("everything", "dev"))
    for kind in LIMITS:
        assert not set(one[kind]) & set(other[kind]), kind
        assert len(set(one[kind])) == len(one[kind]), kind


@pytest.mark.parametrize("name", ["prod", "everything"])
def test_what_an_account_has_once_for_all_regions_says_in_its_name_whose_it_is(
    assemblies: dict[str, Assembly], name: str
) -> None:
    """A standby has the name of the installation that it stands by for, mostly in the same account."""
    for kind, key in (
        ("AWS::IAM::Role", "RoleName"),
        ("AWS::IAM::ManagedPolicy", "ManagedPolicyName"),
        ("AWS::CloudWatch::Dashboard", "DashboardName"),
    ):
        for path, resource in assemblies[name].of_type(kind).items():
            given = json.dumps(resource["Properties"].get(key, ""))
            assert given == '""' or "AWS::Region" in given or "eu-central-1" in given, path


def test_an_installation_with_the_longest_name_has_no_name_that_aws_refuses(with_everything: Assembly) -> None:
    longer = LONGEST_NAME - len("cronfleet")
    for kind, names in physical_names(with_everything).items():
        assert all("cronfleet" in name for name in names), kind
        assert all(len(name) + longer <= LIMITS[kind][1] for name in names), kind

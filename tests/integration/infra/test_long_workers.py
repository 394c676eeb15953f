"""The stack of long workers: who reaches it, what it may do, how it stops, and how many of it there are."""

import json
from typing import Any

import pytest

from functions.long_worker import options
from infra.config.context import ConfigError
from infra.config.installation import from_context
from infra.constructs import long_worker
from infra.image import SOURCES, build_folder
from infra.node import use_packaged_node
from tests.integration.infra.assembly import Assembly, as_list
from tests.support.long_task import instructions

STACK = "cronfleet-long-workers"


def the(assembly: Assembly, kind: str) -> dict[str, Any]:
    found = [item["Properties"] for name, item in assembly.of_type(kind).items() if name.startswith(f"{STACK}/")]
    assert len(found) == 1, kind
    properties: dict[str, Any] = found[0]
    return properties


def statements(assembly: Assembly, role: str) -> list[dict[str, Any]]:
    (logical_id,) = [
        name.partition("/")[2]
        for name in assembly.of_type("AWS::IAM::Role")
        if name.startswith(f"{STACK}/LongWorker{role}")
    ]
    return list(assembly._statements_of(logical_id))


def actions(found: list[dict[str, Any]]) -> set[str]:
    return {action for statement in found for action in as_list(statement["Action"])}


def test_an_installation_without_long_jobs_has_no_network_and_pays_for_none(on_aws: Assembly) -> None:
    assert STACK not in on_aws.templates
    assert on_aws.of_type("AWS::EC2::VPC") == {}


def test_nobody_reaches_a_long_worker_and_it_reaches_nothing_but_aws(with_everything: Assembly) -> None:
    groups = with_everything.of_type("AWS::EC2::SecurityGroup")
    assert not [one for one in groups.values() if "SecurityGroupIngress" in one["Properties"]]
    (let_in,) = with_everything.of_type("AWS::EC2::SecurityGroupIngress").values()
    to, come_from = (str(let_in["Properties"][name]) for name in ("GroupId", "SourceSecurityGroupId"))
    assert ("Endpoints" in to, "Tasks" in come_from) == (True, True), "workers reach the endpoints, nobody the workers"
    for kind in ("AWS::EC2::NatGateway", "AWS::EC2::InternetGateway", "AWS::EC2::EIP"):
        assert with_everything.of_type(kind) == {}
    service = the(with_everything, "AWS::ECS::Service")
    assert service["NetworkConfiguration"]["AwsvpcConfiguration"]["AssignPublicIp"] == "DISABLED"


def test_the_zones_are_those_of_the_region_it_is_deployed_to(with_everything: Assembly) -> None:
    zones = {
        str(item["Properties"]["AvailabilityZone"]) for item in with_everything.of_type("AWS::EC2::Subnet").values()
    }
    assert len(zones) == 2
    assert all("Fn::GetAZs" in zone for zone in zones)
    assert "missing" not in json.loads((with_everything.folder / "manifest.json").read_text())


@pytest.mark.parametrize("kind", ["endpoints", "public", "nat"])
def test_tasks_have_the_same_ranges_in_every_kind_of_network_so_that_it_can_be_changed(kind: str) -> None:
    use_packaged_node()
    import aws_cdk as cdk  # noqa: PLC0415 - Node is chosen before
    from aws_cdk import aws_ec2 as ec2  # noqa: PLC0415 - as above

    from infra.constructs.long_network import LongNetwork  # noqa: PLC0415 - as above

    config = from_context({"long_workers.network.kind": kind, "long_workers.network.cidr": "10.0.0.0/26"})
    network = LongNetwork(cdk.Stack(cdk.App(), "long-workers"), "Network", config)
    assert isinstance(network.vpc, ec2.Vpc)
    subnets = network.vpc.select_subnets(subnet_group_name="tasks").subnets
    assert [subnet.ipv4_cidr_block for subnet in subnets] == ["10.0.0.0/28", "10.0.0.16/28"]


def test_there_is_an_endpoint_for_each_service_that_it_may_use_and_for_no_other(with_everything: Assembly) -> None:
    endpoints = [item["Properties"] for item in with_everything.of_type("AWS::EC2::VPCEndpoint").values()]
    names = {str(one["ServiceName"]).rstrip("']}").rpartition(".")[2] for one in endpoints if one}
    services = {action.partition(":")[0] for action in actions(statements(with_everything, "TaskRole"))}
    free = {"dynamodb", "s3"}
    # The agent that protects a task is reached inside the task; DynamoDB uses the key by itself.
    assert names - free - {"api", "dkr", "logs"} == services - free - {"ecs", "kms"}
    by_route = [one for one in endpoints if one["VpcEndpointType"] == "Gateway"]
    assert len(by_route) == len(free)


def test_it_may_do_what_a_worker_function_may_but_for_calling_others_and_takes_from_its_own_queue_alone(
    with_everything: Assembly,
) -> None:
    task = statements(with_everything, "TaskRole")
    function = with_everything.actions("worker-standard")
    only_of_functions = {"lambda:InvokeFunction", "sts:AssumeRole", "logs:CreateLogStream", "logs:PutLogEvents"}
    polled = {"sqs:GetQueueUrl", "sqs:GetQueueAttributes"}
    assert actions(task) == function - only_of_functions - polled | {
        *long_worker.TAKES,
        *long_worker.PROTECTS_ITSELF,
    }
    for statement in task:
        if "sqs:" in str(statement["Action"]):
            assert str(statement["Resource"]).count("cronfleet-runs-long") == 1
    assert actions(statements(with_everything, "ExecutionRole")) == {
        "logs:CreateLogStream",
        "logs:PutLogEvents",
        "ecr:GetAuthorizationToken",
        *long_worker.PULLS,
    }


def test_its_container_can_write_nowhere_but_to_tmp_and_has_all_the_time_to_stop_that_there_is(
    with_everything: Assembly,
) -> None:
    task = the(with_everything, "AWS::ECS::TaskDefinition")
    (container,) = task["ContainerDefinitions"]
    assert container["ReadonlyRootFilesystem"] is True
    assert [mount["ContainerPath"] for mount in container["MountPoints"]] == ["/tmp"]
    given = {one["Name"]: one["Value"] for one in container["Environment"]}
    assert container["StopTimeout"] == 120
    assert options.options_of(given).stop_seconds == 120, "and it knows"
    assert options.options_of(given).jobs == 2
    assert (long_worker.JOBS, long_worker.STOP_SECONDS, long_worker.PROTECTION_MINUTES) == (
        options.JOBS,
        options.STOP_SECONDS,
        options.PROTECTION_MINUTES,
    )
    assert "Secrets" not in container
    assert task["RuntimePlatform"]["CpuArchitecture"] == "ARM64"


def test_a_version_that_does_not_start_is_taken_back_and_spot_has_a_base_that_stays(with_everything: Assembly) -> None:
    service = the(with_everything, "AWS::ECS::Service")
    assert service["DeploymentConfiguration"]["DeploymentCircuitBreaker"] == {"Enable": True, "Rollback": True}
    assert service["CapacityProviderStrategy"] == [
        {"CapacityProvider": "FARGATE", "Base": 1, "Weight": 0},
        {"CapacityProvider": "FARGATE_SPOT", "Weight": 1},
    ]
    assert "DesiredCount" not in service, "a deployment would set it back"


def test_the_service_comes_after_the_capacity_that_it_names_and_goes_before_it(with_everything: Assembly) -> None:
    [service] = with_everything.of_type("AWS::ECS::Service").values()
    [capacity] = with_everything.of_type("AWS::ECS::ClusterCapacityProviderAssociations").items()
    assert capacity[0].partition("/")[2] in service["DependsOn"]
    named = {one["CapacityProvider"] for one in service["Properties"]["CapacityProviderStrategy"]}
    assert named <= set(capacity[1]["Properties"]["CapacityProviders"])


def test_there_are_as_many_tasks_as_there_is_work_waiting_or_under_way(with_everything: Assembly) -> None:
    target = the(with_everything, "AWS::ApplicationAutoScaling::ScalableTarget")
    assert (target["MinCapacity"], target["MaxCapacity"]) == (1, 10)
    policy = the(with_everything, "AWS::ApplicationAutoScaling::ScalingPolicy")
    tracking = policy["TargetTrackingScalingPolicyConfiguration"]
    queries = {one["Id"]: one for one in tracking["CustomizedMetricSpecification"]["Metrics"]}
    assert [name for name, one in queries.items() if one["ReturnData"]] == ["load"]
    named = {name: one["MetricStat"]["Metric"]["MetricName"] for name, one in queries.items() if "MetricStat" in one}
    assert named == {
        "waiting": "ApproximateNumberOfMessagesVisible",
        "busy": "long_busy",
        "places": "long_places",
    }
    assert all(name in queries["load"]["Expression"] for name in named)


def test_the_image_is_built_from_what_its_dockerfile_copies_and_from_nothing_else() -> None:
    copied = {written.split()[-2] for written in instructions("COPY") if not written.startswith("--from")}
    assert set(SOURCES) == copied
    folder = build_folder()
    there = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert all(path.startswith(SOURCES) for path in there)
    assert "functions/long_worker/Dockerfile" in there
    assert not [path for path in there if path.endswith(".pyc")]


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"long_workers.cpu": "300"}, "'long_workers.cpu' is '300': write one of 256, 512"),
        ({"long_workers.memory_mb": "1024"}, "'long_workers.memory_mb' is '1024': write a whole number from 2048"),
        ({"long_workers.stop_seconds": "300"}, "from 30 to 120, which is what Fargate waits"),
        ({"long_workers.min_tasks": "20", "long_workers.max_tasks": "5"}, "'long_workers.max_tasks' is '5'"),
        ({"long_workers.network.kind": "lan"}, "write endpoints, public, nat or existing"),
        ({"long_workers.network.vpc_id": "vpc-01234567"}, "write existing, or leave vpc_id and subnet_ids out"),
        ({"long_workers.network.kind": "existing"}, "'long_workers.network.vpc_id' is '': write the id of the VPC"),
        (
            {"long_workers.network.kind": "existing", "long_workers.network.vpc_id": "vpc-01234567"},
            "in availability_zones the zone of each",
        ),
        ({"long_workers.network.security_group_ids": "sg-01234567"}, "security_group_ids' is"),
        ({"long_workers.network.public_addresses": "true"}, "public_addresses' is"),
        ({"long_workers.network.kind": "public", "long_workers.network.public_addresses": "false"}, "public_addresses"),
        ({"long_workers.image": "example.com/worker:1"}, "without a way to the internet no other can be pulled"),
    ],
)
def test_a_choice_that_cannot_be_says_what_can(choices: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        from_context(choices)
    assert said in str(refused.value)


def test_a_vpc_that_is_there_is_used_by_its_ids_and_an_image_that_is_there_by_its_uri() -> None:
    network = {
        "kind": "existing",
        "vpc_id": "vpc-0123456789abcdef0",
        "subnet_ids": ["subnet-01234567", "subnet-89abcdef"],
        "availability_zones": ["eu-central-1a", "eu-central-1b"],
        "security_group_ids": ["sg-01234567"],
    }
    image = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/cronfleet@sha256:abc"
    own = {"environments": {"prod": {"long_workers": {"enabled": True, "image": image, "network": network}}}}
    config = from_context({**own, "environment": "prod"})
    assert config.long_workers.network.subnet_ids == ("subnet-01234567", "subnet-89abcdef")
    assert config.long_workers.image == image

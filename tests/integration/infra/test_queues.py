"""The queues as CloudFormation gets them."""

import pytest

from cronfleet import settings
from cronfleet.adapters.sqs import queues
from tests.integration.infra.assembly import Assembly, Resource


def named(assembly: Assembly) -> dict[str, tuple[str, Resource]]:
    """Logical id and properties of each queue by its name without the prefix."""
    found = assembly.of_type("AWS::SQS::Queue").items()
    return {
        item["Properties"]["QueueName"].removeprefix("cronfleet-"): (path.split("/")[1], item["Properties"])
        for path, item in found
    }


def test_every_queue_of_the_specification_is_deployed_with_its_dead_letter_queue_and_no_other(
    on_aws: Assembly,
) -> None:
    expected = {queue.name for queue in queues.QUEUES} | {queue.dead_letter_name for queue in queues.QUEUES}
    assert set(named(on_aws)) == expected


@pytest.mark.parametrize("queue", queues.QUEUES, ids=lambda queue: queue.name)
def test_a_message_that_keeps_failing_goes_to_the_dead_letter_queue_of_its_own_queue(
    on_aws: Assembly, queue: queues.Queue
) -> None:
    deployed = named(on_aws)
    dead_id, dead = deployed[queue.dead_letter_name]
    _, live = deployed[queue.name]
    assert live["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": [dead_id, "Arn"]}
    assert live["RedrivePolicy"]["maxReceiveCount"] == queue.max_receive_count
    assert dead["RedriveAllowPolicy"]["redrivePermission"] == "byQueue"
    assert dead["MessageRetentionPeriod"] >= live["MessageRetentionPeriod"]


def test_no_message_becomes_visible_while_its_function_may_still_be_working(on_aws: Assembly) -> None:
    timeouts = {name: function["Timeout"] for name, function in on_aws.functions().items()}
    readers = {
        "ticks": "dispatcher",
        "errands": "clerk",
        **{f"runs-{tier}": f"worker-{tier}" for tier in settings.FUNCTION_QUEUES},
    }
    for queue, function in readers.items():
        _, properties = named(on_aws)[queue]
        assert properties["VisibilityTimeout"] >= 6 * timeouts[function]


def test_every_queue_takes_encrypted_connections_only(on_aws: Assembly) -> None:
    guarded = set()
    for policy in on_aws.of_type("AWS::SQS::QueuePolicy").values():
        denied = [
            statement
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        ]
        assert denied
        guarded |= {queue["Ref"] for queue in policy["Properties"]["Queues"]}
    assert guarded == {logical_id for logical_id, _ in named(on_aws).values()}


def test_functions_take_one_message_at_a_time_and_say_which_failed(on_aws: Assembly) -> None:
    mappings = [item["Properties"] for item in on_aws.of_type("AWS::Lambda::EventSourceMapping").values()]
    read_by_functions = 2 * len(queues.QUEUES) - 1
    assert len(mappings) == read_by_functions, "each queue but that of long runs, and each dead-letter queue"
    for mapping in mappings:
        assert mapping["BatchSize"] == 1
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        # A window would make ticks and runs late: Lambda may wait for it at low traffic.
        assert "MaximumBatchingWindowInSeconds" not in mapping


def test_on_aws_the_tick_queue_has_pollers_for_every_shard_at_once(on_aws: Assembly) -> None:
    provisioned = [
        item["Properties"]["ProvisionedPollerConfig"]
        for item in on_aws.of_type("AWS::Lambda::EventSourceMapping").values()
        if "ProvisionedPollerConfig" in item["Properties"]
    ]
    shards = int(on_aws.functions()["dispatcher"]["Environment"]["Variables"]["CRONFLEET_SHARDS"])
    [pollers] = provisioned
    assert pollers["MinimumPollers"] * 10 >= shards


def test_each_tier_has_a_concurrency_of_its_own_and_all_together_leave_some_to_who_decides(on_aws: Assembly) -> None:
    most = [
        item["Properties"]["ScalingConfig"]["MaximumConcurrency"]
        for item in on_aws.of_type("AWS::Lambda::EventSourceMapping").values()
        if "ScalingConfig" in item["Properties"]
    ]
    assert len(most) == len(settings.FUNCTION_QUEUES) + 1 + len(queues.QUEUES), (
        "and errands, and each dead-letter queue"
    )
    assert sum(most) <= 900


def test_every_dead_letter_queue_is_emptied_by_one_function_and_has_an_alarm_if_it_is_not(on_aws: Assembly) -> None:
    dead = {named(on_aws)[queue.dead_letter_name][0]: queue for queue in queues.QUEUES}
    readers = {
        item["Properties"]["EventSourceArn"]["Fn::GetAtt"][0]: str(item["Properties"]["FunctionName"])
        for item in on_aws.of_type("AWS::Lambda::EventSourceMapping").values()
        if "Fn::GetAtt" in item["Properties"]["EventSourceArn"]
    }
    behind = {
        str(item["Properties"]["FunctionName"])
        for item in on_aws.of_type("AWS::Lambda::EventSourceMapping").values()
        if "dead" in str(item["Properties"]["EventSourceArn"]).lower()
    }
    assert len(behind) == 1
    assert {readers[one] for one in dead if one in readers} == behind
    for queue in queues.QUEUES:
        _, properties = named(on_aws)[queue.dead_letter_name]
        assert properties["VisibilityTimeout"] == queues.DEAD_VISIBILITY_SECONDS
    alarms = {item["Properties"]["AlarmName"] for item in on_aws.of_type("AWS::CloudWatch::Alarm").values()}
    assert {f"cronfleet-{queue.dead_letter_name}-old" for queue in queues.QUEUES} <= alarms

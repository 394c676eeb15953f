"""A run as a message: what arrives in a queue, on a topic and on a bus, and what a refusal means."""

import json
from dataclasses import replace
from typing import Any

import boto3
import pytest

from cronfleet.adapters.targets.messages import MAX_BYTES, Messages
from cronfleet.adapters.targets.tenant_roles import TenantRoles
from cronfleet.domain.attempt import Result
from cronfleet.domain.run import Outcome
from cronfleet.domain.target import EventBridgeTarget, MessageTarget, SnsTarget, SqsTarget
from cronfleet.domain.target_role import run_digest
from cronfleet.domain.trace import TraceContext
from tests.integration.targets.conftest import ACCOUNT, ROLE
from tests.support.calls import KEY, call

QUEUE = SqsTarget(f"arn:aws:sqs:us-east-1:{ACCOUNT}:billing", ROLE)
TOPIC = SnsTarget(f"arn:aws:sns:us-east-1:{ACCOUNT}:billing", ROLE)
BUS = EventBridgeTarget(f"arn:aws:events:us-east-1:{ACCOUNT}:event-bus/billing", ROLE)
SENT = {"day": "é"}


def send(roles: TenantRoles, target: MessageTarget, payload: Any = SENT, attempt: int = 1) -> Result:
    return Messages(roles).call(call(target, payload, attempt=attempt), target)


def received(name: str) -> list[dict[str, Any]]:
    client = boto3.client("sqs")
    url = client.get_queue_url(QueueName=name)["QueueUrl"]
    answer = client.receive_message(
        QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
    )
    return list(answer.get("Messages", []))  # type: ignore[arg-type]  # a TypedDict is one


def is_envelope(text: str) -> bool:
    told = json.loads(text)
    assert told["run_id"] == KEY.run_id
    return list(told) == [
        *("type", "timestamp", "run_id", "schedule_id", "attempt", "nominal_at", "due_at", "payload"),
    ] and bool(told["payload"] == SENT)


def test_a_queue_gets_the_envelope_of_the_run_and_its_id_as_an_attribute(roles: TenantRoles) -> None:
    boto3.client("sqs").create_queue(QueueName="billing")
    assert send(roles, QUEUE) == Result(Outcome.SUCCEEDED)
    [message] = received("billing")
    assert is_envelope(message["Body"])
    said = {name: value["StringValue"] for name, value in message["MessageAttributes"].items()}
    assert said == {
        "cronfleet-run-id": KEY.run_id,
        "cronfleet-schedule-id": KEY.schedule_id,
        "cronfleet-attempt": "1",
    }


def test_a_queue_is_told_the_trace_in_both_ways_of_writing_it(roles: TenantRoles) -> None:
    boto3.client("sqs").create_queue(QueueName="billing")
    traced = replace(call(QUEUE, SENT), trace=TraceContext("1" * 32, "2" * 16, True))
    assert Messages(roles).call(traced, QUEUE).outcome is Outcome.SUCCEEDED
    [message] = received("billing")
    assert message["MessageAttributes"]["traceparent"]["StringValue"] == traced.traceparent
    assert message["Attributes"]["AWSTraceHeader"].startswith("Root=1-11111111-")


def test_a_fifo_queue_takes_one_message_of_a_run_however_often_it_is_sent(roles: TenantRoles) -> None:
    boto3.client("sqs").create_queue(QueueName="billing.fifo", Attributes={"FifoQueue": "true"})
    fifo = SqsTarget(QUEUE.queue + ".fifo", ROLE)
    for attempt in (1, 2):
        assert send(roles, fifo, attempt=attempt).outcome is Outcome.SUCCEEDED
    [message] = received("billing.fifo")
    assert message["Attributes"]["MessageGroupId"] == run_digest(KEY.run_id)
    assert message["Attributes"]["MessageDeduplicationId"] == run_digest(KEY.run_id)


def test_a_topic_passes_the_envelope_on(roles: TenantRoles) -> None:
    sns = boto3.client("sns")
    boto3.client("sqs").create_queue(QueueName="billing")
    topic = sns.create_topic(Name="billing")["TopicArn"]
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=QUEUE.queue, Attributes={"RawMessageDelivery": "true"})
    assert send(roles, TOPIC) == Result(Outcome.SUCCEEDED)
    [message] = received("billing")
    assert is_envelope(message["Body"])
    assert message["MessageAttributes"]["cronfleet-run-id"]["StringValue"] == KEY.run_id


def test_a_bus_gets_an_event_that_rules_can_tell_apart(roles: TenantRoles) -> None:
    events = boto3.client("events")
    boto3.client("sqs").create_queue(QueueName="billing")
    events.create_event_bus(Name="billing")
    pattern = {"source": ["cronfleet"], "detail-type": ["cronfleet.run"], "detail": {"schedule_id": [KEY.schedule_id]}}
    events.put_rule(Name="runs", EventBusName="billing", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="runs", EventBusName="billing", Targets=[{"Id": "1", "Arn": QUEUE.queue}])
    assert send(roles, BUS) == Result(Outcome.SUCCEEDED)
    [message] = received("billing")
    assert is_envelope(json.dumps(json.loads(message["Body"])["detail"]))


@pytest.mark.parametrize("target", [QUEUE, TOPIC, BUS], ids=lambda target: type(target).__name__)
def test_what_is_not_there_fails_the_attempt_and_may_be_there_for_the_next(
    roles: TenantRoles, target: MessageTarget
) -> None:
    result = send(roles, target)
    assert result.outcome is Outcome.FAILED
    assert result.retryable
    assert result.error


@pytest.mark.parametrize("target", [QUEUE, TOPIC, BUS], ids=lambda target: type(target).__name__)
def test_what_is_too_large_fails_for_good_and_names_both_sizes(roles: TenantRoles, target: MessageTarget) -> None:
    most = max(MAX_BYTES.values()) if isinstance(target, SqsTarget) else 256 * 1024
    result = send(roles, target, "x" * most)
    assert not result.retryable
    assert str(most) in str(result.error)

"""The bus of events: what is sent arrives, in requests as large as they may be; what is not taken comes back."""

import json
from typing import Any

import boto3
import pytest

from cronfleet.adapters.eventbridge.events import MAX_REQUEST_BYTES, EventBridgeEvents, events_client
from cronfleet.domain.lifecycle_event import EventKind, LifecycleEvent
from tests.support.moto import mocked_aws
from tests.support.settable_clock import NOON


def event(number: int, filling: str = "") -> LifecycleEvent:
    detail = {"version": 1, "tenant": "acme", "number": number, "filling": filling}
    return LifecycleEvent(EventKind.SUCCEEDED, "acme", NOON, detail)


class Bus:
    """A client that answers as a script says; `None` stands for no answer."""

    def __init__(self, refused: int = 0, error: Exception | None = None) -> None:
        self.requests: list[list[dict[str, Any]]] = []
        self._refused = refused
        self._error = error

    def put_events(self, *, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803 - the API's own name
        self.requests.append(Entries)
        if self._error is not None:
            raise self._error
        taken = [{"EventId": str(place)} for place in range(self._refused, len(Entries))]
        return {"Entries": [{"ErrorCode": "InternalFailure"}] * self._refused + taken}


def test_what_is_sent_reaches_whoever_put_a_rule_on_the_bus() -> None:
    with mocked_aws():
        sqs, bus = boto3.client("sqs"), boto3.client("events")
        url = sqs.create_queue(QueueName="listener")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        bus.create_event_bus(Name="cronfleet-events")
        pattern = json.dumps({"source": ["cronfleet"], "detail-type": ["cronfleet.run.succeeded"]})
        bus.put_rule(Name="ends", EventBusName="cronfleet-events", EventPattern=pattern)
        bus.put_targets(Rule="ends", EventBusName="cronfleet-events", Targets=[{"Id": "q", "Arn": arn}])

        unsent = EventBridgeEvents(events_client, "cronfleet-events").send([event(n) for n in range(12)])

        assert list(unsent) == []
        bodies = []
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            bodies += [json.loads(one["Body"]) for one in found]
        assert sorted(body["detail"]["number"] for body in bodies) == list(range(12))
        assert {body["source"] for body in bodies} == {"cronfleet"}
        assert bodies[0]["detail"]["version"] == 1


def test_a_request_holds_ten_entries_at_most() -> None:
    bus = Bus()
    EventBridgeEvents(lambda: bus, "b").send([event(n) for n in range(25)])  # type: ignore[arg-type, return-value] - a stand-in

    assert [len(entries) for entries in bus.requests] == [10, 10, 5]


def test_a_request_holds_no_more_bytes_than_it_may() -> None:
    bus = Bus()
    large = "ö" * (MAX_REQUEST_BYTES // 8)
    EventBridgeEvents(lambda: bus, "b").send([event(n, large) for n in range(8)])  # type: ignore[arg-type, return-value] - as above

    assert [len(entries) for entries in bus.requests] == [3, 3, 2]


def test_entries_that_were_not_taken_come_back() -> None:
    sent = [event(n) for n in range(3)]
    bus = Bus(refused=2)

    assert EventBridgeEvents(lambda: bus, "b").send(sent) == sent[:2]  # type: ignore[arg-type, return-value] - as above


@pytest.mark.parametrize("name", ["no-such-bus"])
def test_a_bus_that_cannot_be_reached_takes_nothing_and_raises_nothing(name: str) -> None:
    from botocore.exceptions import ClientError, EndpointConnectionError  # noqa: PLC0415 - beside their only use

    sent = [event(1)]
    for error in (
        ClientError({"Error": {"Code": "AccessDeniedException"}}, "PutEvents"),
        EndpointConnectionError(endpoint_url=name),
    ):
        bus = Bus(error=error)
        assert EventBridgeEvents(lambda bus=bus: bus, name).send(sent) == sent  # type: ignore[misc, return-value] - as above

"""Sending to SQS: few requests, within its limits; what was not accepted comes back, and exactly that."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, ReadTimeoutError
from botocore.parsers import ResponseParserError

from cronfleet.adapters.memory import queues as memory
from cronfleet.adapters.sqs.errand_queue import SqsErrandQueue
from cronfleet.adapters.sqs.queues import ERRANDS, RUN_QUEUES, TICKS
from cronfleet.adapters.sqs.run_queue import SqsRunQueue
from cronfleet.adapters.sqs.sending import MAX_REQUEST_BYTES, Entry, send_all
from cronfleet.adapters.sqs.tick_queue import SqsTickQueue
from cronfleet.domain.errand import ErrandKind, ErrandMessage
from cronfleet.domain.instant import SECOND
from cronfleet.domain.run import LONG_QUEUE, RunKey
from cronfleet.domain.trace import TraceContext
from cronfleet.ports.queues import DelayedMessage, Tick
from tests.support.builders import message
from tests.support.settable_clock import NOON


class Client:
    """An SQS that accepts what `accepts` says, and raises what it raises."""

    def __init__(self, accepts: Callable[[dict[str, Any]], bool] = lambda _: True) -> None:
        self._accepts = accepts
        self.requests: list[tuple[str, list[dict[str, Any]]]] = []

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - boto3's names
        self.requests.append((QueueUrl, Entries))
        accepted = [entry for entry in Entries if self._accepts(entry)]
        refused = [entry for entry in Entries if entry not in accepted]
        return {
            "Successful": [{"Id": entry["Id"], "MessageId": "m"} for entry in accepted],
            "Failed": [{"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in refused],
        }


def send(client: Client, entries: list[Entry]) -> list[int]:
    sqs: Any = client
    return send_all(sqs, "url", entries)


def test_a_request_holds_ten_messages_at_most() -> None:
    client = Client()
    assert send(client, [Entry(str(n), n) for n in range(25)]) == []
    assert [len(entries) for _, entries in client.requests] == [10, 10, 5]
    sent = [(entry["MessageBody"], entry["DelaySeconds"]) for _, entries in client.requests for entry in entries]
    assert sent == [(str(n), n) for n in range(25)]
    assert all(len({entry["Id"] for entry in entries}) == len(entries) for _, entries in client.requests)


def test_a_request_holds_one_mebibyte_at_most() -> None:
    client = Client()
    third = MAX_REQUEST_BYTES // 3
    send(client, [Entry("ü" * (third // 2), 0) for _ in range(7)])
    assert [len(entries) for _, entries in client.requests] == [3, 3, 1]


def test_exactly_what_was_refused_comes_back() -> None:
    client = Client(lambda entry: int(entry["MessageBody"]) % 7 != 3)
    assert send(client, [Entry(str(n), 0) for n in range(25)]) == [3, 10, 17, 24]


def error(code: str, status: int) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SendMessageBatch")


def raising(*errors: Exception | None) -> Client:
    turns = iter(errors)

    def accepts(_: dict[str, Any]) -> bool:
        failure = next(turns, None)
        if failure is not None:
            raise failure
        return True

    return Client(accepts)


@pytest.mark.parametrize(
    "failure",
    [
        error("RequestThrottled", 403),
        error("AWS.SimpleQueueService.OverLimit", 403),
        error("InternalError", 500),
        error("ServiceUnavailable", 503),
        ConnectTimeoutError(endpoint_url="http://localhost"),
        ReadTimeoutError(endpoint_url="http://localhost"),
        ResponseParserError("half an answer"),
    ],
    ids=repr,
)
def test_a_request_without_an_answer_counts_as_unsent_and_the_next_is_made(failure: Exception) -> None:
    assert send(raising(failure), [Entry(str(n), 0) for n in range(12)]) == list(range(10))


def test_a_queue_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ClientError):
        send(raising(error("AWS.SimpleQueueService.NonExistentQueue", 400)), [Entry("x", 0)])


def test_each_tier_has_its_queue_and_each_tenant_its_fair_group() -> None:
    client: Any = Client()
    queue = SqsRunQueue(client, {"standard": "s", "priority": "p"})
    messages = [message(NOON + n * SECOND, tier="priority" if n == 1 else "standard") for n in range(3)]
    assert not queue.send([DelayedMessage(one, 5) for one in messages])
    assert [(url, len(entries)) for url, entries in client.requests] == [("s", 2), ("p", 1)]
    assert {entry["MessageGroupId"] for _, entries in client.requests for entry in entries} == {"acme"}


def test_unsent_messages_and_ticks_come_back_as_they_were_given() -> None:
    client: Any = Client(lambda entry: False)
    messages = [DelayedMessage(message(NOON, tier=tier), 3) for tier in ("standard", "priority")]
    assert SqsRunQueue(client, {"standard": "s", "priority": "p"}).send(messages) == messages
    errands = [ErrandMessage("acme", ErrandKind.WATCH, f"job-{number}", NOON) for number in range(12)]
    assert SqsErrandQueue(client, "e").send(errands) == errands
    assert client.requests[-1][1][0]["MessageGroupId"] == "acme", "a tenant with many errands is not in others' way"
    ticks = [(Tick(0, NOON), 0), (Tick(1, NOON), 5)]
    assert SqsTickQueue(client, "t").send(ticks) == ticks
    assert "MessageGroupId" not in client.requests[-1][1][0], "ticks belong to no tenant"


def test_the_queues_in_memory_hide_messages_for_as_long_as_the_real_ones() -> None:
    hidden = {name: queue.visibility_seconds for name, queue in RUN_QUEUES.items()}
    assert hidden.pop(LONG_QUEUE) == memory.LONG_VISIBILITY_SECONDS
    assert set(hidden.values()) == {memory.RUN_VISIBILITY_SECONDS}
    assert TICKS.visibility_seconds == memory.TICK_VISIBILITY_SECONDS
    assert ERRANDS.visibility_seconds == memory.ERRAND_VISIBILITY_SECONDS
    assert TICKS.max_receive_count == memory.MAX_RECEIVE_COUNT
    assert RUN_QUEUES[LONG_QUEUE].max_receive_count == memory.LONG_MAX_RECEIVE_COUNT


def test_every_run_queue_is_as_patient_with_workers_that_cannot_begin() -> None:
    patience = {queue.max_receive_count * queue.visibility_seconds for queue in RUN_QUEUES.values()}
    assert len(patience) == 1
    assert min(patience) >= 7 * 3600
    assert max(queue.max_receive_count for queue in RUN_QUEUES.values()) <= 1_000, "the most that SQS takes"


def test_each_message_says_to_x_ray_of_which_trace_it_is_where_something_is_traced() -> None:
    client = Client()
    urls = dict.fromkeys((*RUN_QUEUES, "standard"), "https://runs")
    asked = TraceContext("ab" * 16, "cd" * 8)
    manual = message(NOON, key=RunKey("acme", "nightly", 1, NOON, "manual-1"), trace=asked)
    SqsRunQueue(client, urls, 1.0).send([DelayedMessage(one, 0) for one in (message(NOON), manual)])  # type: ignore[arg-type]  # a client of the test
    ((_, entries),) = client.requests
    headers = [entry["MessageSystemAttributes"]["AWSTraceHeader"]["StringValue"] for entry in entries]
    fire = message(NOON).context.trace_id
    assert headers[0].startswith(f"Root=1-{fire[:8]}-{fire[8:]};Parent=")
    assert headers[0].endswith(";Sampled=1")
    assert headers[1] == manual.context.xray_header, "whoever asked has decided"
    SqsRunQueue(client, urls).send([DelayedMessage(message(NOON), 0)])  # type: ignore[arg-type]  # a client of the test
    assert "MessageSystemAttributes" not in client.requests[1][1][0]

"""Sending many messages in few requests, within SQS's limits of count and bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004 - its own name for it
from botocore.parsers import ResponseParserError

from cronfleet.adapters.sqs.queues import MAX_BATCH

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_REQUEST_BYTES: Final = 1_048_576
"""All messages of one SendMessageBatch together."""

_SERVER_ERROR: Final = 500
_THROTTLES: Final = frozenset({"RequestThrottled", "ThrottlingException", "KmsThrottled", "OverLimit"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One message to send; `group` makes it part of a fair group."""

    body: str
    delay_seconds: int
    group: str | None = None
    trace: str = ""
    """X-Ray's header, as the message's system attribute: it counts neither as size nor as an attribute."""


def send_all(client: "SQSClient", url: str, entries: Sequence[Entry]) -> list[int]:
    """Send `entries` to the queue at `url`; the answer is the places of those that were not accepted, in order.

    A request without an answer counts as not accepted. Errors that sending again cannot mend (no such queue, no
    right to it) go through.
    """
    unsent: list[int] = []
    for places in _requests(entries):
        unsent += _send(client, url, entries, places)
    return unsent


def _requests(entries: Sequence[Entry]) -> Iterator[Sequence[int]]:
    places: list[int] = []
    size = 0
    for place, entry in enumerate(entries):
        length = len(entry.body.encode())
        if places and (len(places) == MAX_BATCH or size + length > MAX_REQUEST_BYTES):
            yield places
            places, size = [], 0
        places.append(place)
        size += length
    if places:
        yield places


def _send(client: "SQSClient", url: str, entries: Sequence[Entry], places: Sequence[int]) -> Sequence[int]:
    request = [_request_entry(place, entries[place]) for place in places]
    try:
        answer = client.send_message_batch(QueueUrl=url, Entries=request)
    except ClientError as error:
        if _may_pass(error):
            return places
        raise
    except (ConnectionError, HTTPClientError, ResponseParserError):
        return places
    accepted = {one["Id"] for one in answer.get("Successful", [])}
    return [place for place in places if str(place) not in accepted]


def _request_entry(place: int, entry: Entry) -> Any:
    request: dict[str, Any] = {"Id": str(place), "MessageBody": entry.body, "DelaySeconds": entry.delay_seconds}
    if entry.group is not None:
        request["MessageGroupId"] = entry.group
    if entry.trace:
        header = {"DataType": "String", "StringValue": entry.trace}
        request["MessageSystemAttributes"] = {"AWSTraceHeader": header}
    return request


def _may_pass(error: ClientError) -> bool:
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = error.response.get("Error", {}).get("Code", "")
    return status >= _SERVER_ERROR or any(code.endswith(throttle) for throttle in _THROTTLES)

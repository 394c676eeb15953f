"""`Events` on an EventBridge bus, within PutEvents' limits of count and bytes.

https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
"""

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from cronfleet.domain.instant import SECOND
from cronfleet.domain.lifecycle_event import LifecycleEvent

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SOURCE: Final = "cronfleet"

MAX_ENTRIES: Final = 10
"""Of one PutEvents."""
MAX_REQUEST_BYTES: Final = 256 * 1024
"""All entries of one PutEvents together."""
_TIME_BYTES: Final = 14
"""What the time of an entry counts as."""

CONFIG: Final = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "max_attempts": 2})
"""A request is given up early: somebody's run waits for it."""


def events_client() -> "EventBridgeClient":
    """A client for this process's region and credentials (and `AWS_ENDPOINT_URL`, where that is set)."""
    return boto3.client("events", config=CONFIG)


class EventBridgeEvents:
    """The bus named `bus`."""

    def __init__(self, connect: Callable[[], "EventBridgeClient"], bus: str) -> None:
        """`connect` makes the client when there is something to tell for the first time: that takes a while."""
        self._connect = connect
        self._made: EventBridgeClient | None = None
        self._bus = bus

    @property
    def _client(self) -> "EventBridgeClient":
        if self._made is None:
            self._made = self._connect()
        return self._made

    def send(self, events: Sequence[LifecycleEvent]) -> Sequence[LifecycleEvent]:
        """See `Events.send`."""
        unsent: list[LifecycleEvent] = []
        for some in _requests([(event, self._entry(event)) for event in events]):
            unsent += self._put(some)
        return unsent

    def _put(self, some: Sequence[tuple[LifecycleEvent, Any]]) -> Sequence[LifecycleEvent]:
        try:
            answer = self._client.put_events(Entries=[entry for _, entry in some])
        except (ClientError, BotoCoreError, ResponseParserError):
            return [event for event, _ in some]
        # One result for each entry, in their order.
        results = answer["Entries"]
        return [event for (event, _), result in zip(some, results, strict=True) if "ErrorCode" in result]

    def _entry(self, event: LifecycleEvent) -> Any:
        return {
            "EventBusName": self._bus,
            "Source": SOURCE,
            "DetailType": event.kind.value,
            "Detail": json.dumps(event.detail, ensure_ascii=False, separators=(",", ":")),
            "Time": datetime.fromtimestamp(event.at / SECOND, UTC),
        }


def _requests(entries: Sequence[tuple[LifecycleEvent, Any]]) -> Iterator[Sequence[tuple[LifecycleEvent, Any]]]:
    some: list[tuple[LifecycleEvent, Any]] = []
    size = 0
    for event, entry in entries:
        length = _TIME_BYTES + sum(len(entry[name].encode()) for name in ("Source", "DetailType", "Detail"))
        if some and (len(some) == MAX_ENTRIES or size + length > MAX_REQUEST_BYTES):
            yield some
            some, size = [], 0
        some.append((event, entry))
        size += length
    if some:
        yield some

"""`TickQueue` on SQS."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cronfleet.adapters.sqs.messages import encode_tick
from cronfleet.adapters.sqs.sending import Entry, send_all
from cronfleet.ports.queues import Tick

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsTickQueue:
    """The queue between the ticker and the dispatcher."""

    def __init__(self, client: "SQSClient", url: str) -> None:
        self._client = client
        self._url = url

    def send(self, ticks: Sequence[tuple[Tick, int]]) -> Sequence[tuple[Tick, int]]:
        """See `TickQueue.send`."""
        entries = [Entry(encode_tick(tick), delay_seconds) for tick, delay_seconds in ticks]
        return [ticks[place] for place in send_all(self._client, self._url, entries)]

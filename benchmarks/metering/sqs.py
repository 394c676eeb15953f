"""An SQS client in memory that counts requests as they are billed: each 64 KB of a request is one.

The real sender runs on it, so messages are batched as they would be for AWS. What it takes lies in a memory queue.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.adapters.memory.queues import MemoryQueue, Received
from cronfleet.ports.clock import Clock

BILLED_BYTES: Final = 65_536
VISIBILITY_SECONDS: Final = 5_400


@dataclass(slots=True)
class Requests:
    """Billed requests."""

    sends: int = 0
    receives: int = 0
    deletes: int = 0


class MeteredSqs:
    """The client, with every queue by its URL, and the part of the poller played by `receive` and `delete`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._queues: dict[str, MemoryQueue[str]] = {}
        self.requests = Requests()

    def queue(self, url: str) -> MemoryQueue[str]:
        """The queue at `url`."""
        return self._queues.setdefault(url, MemoryQueue(self._clock, VISIBILITY_SECONDS))

    def send_message_batch(self, *, QueueUrl: str, Entries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - the client's names
        size = sum(len(entry["MessageBody"].encode()) for entry in Entries)
        self.requests.sends += -(-size // BILLED_BYTES)
        for entry in Entries:
            self.queue(QueueUrl).put(entry["MessageBody"], entry["DelaySeconds"])
        return {"Successful": [{"Id": entry["Id"]} for entry in Entries]}

    def receive(self, url: str) -> Received[str] | None:
        """One message, as a Lambda mapping with batch size 1 asks for it."""
        received = self.queue(url).receive(1)
        self.requests.receives += bool(received)
        return received[0] if received else None

    def delete(self, url: str, received: Received[str]) -> None:
        """Done with a message."""
        self.requests.deletes += 1
        self.queue(url).delete(received.receipt)

"""`Events` in memory."""

from collections.abc import Sequence

from cronfleet.domain.lifecycle_event import LifecycleEvent


class MemoryEvents:
    """Keeps what it is sent. The next `refused` events are not taken."""

    def __init__(self) -> None:
        self.sent: list[LifecycleEvent] = []
        self.calls = 0
        self.refused = 0

    def send(self, events: Sequence[LifecycleEvent]) -> Sequence[LifecycleEvent]:
        """See `Events.send`."""
        self.calls += 1
        unsent = events[: self.refused]
        self.refused -= len(unsent)
        self.sent += events[len(unsent) :]
        return unsent

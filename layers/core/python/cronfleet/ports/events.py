"""Where lifecycle events go: a bus that whoever wants to build on them listens to."""

from collections.abc import Sequence
from typing import Protocol

from cronfleet.domain.lifecycle_event import LifecycleEvent


class Events(Protocol):
    """A bus of events."""

    def send(self, events: Sequence[LifecycleEvent]) -> Sequence[LifecycleEvent]:
        """Send `events`; the answer is those that were not accepted, or of which nothing was heard. Raises nothing:
        what was written stays written, whether it can be told or not.
        """
        ...

"""What a part tells those who watch it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Protocol


class Telemetry(Protocol):
    """Counts, measures and log lines.

    A dimension is a tier, shard, reason, outcome or the like, of which there are few: each of its values is a series
    of its own. A tenant or schedule is never one, only a field of a line.
    """

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add `value` to a counter, e.g. `leases_lost`. Of what is counted as it stands, the last value matters."""
        ...

    def tally(self, values: Mapping[str, int], **dimensions: str) -> None:
        """Add to several counters at once, at least one; it costs one line."""
        ...

    def measure(self, metric: str, seconds: float, **dimensions: str) -> None:
        """One observation of a duration, e.g. `lag` with its tier and shard."""
        ...

    def event(self, name: str, **fields: object) -> None:
        """One structured log line, e.g. `attempt_finished` with run id, outcome and lag."""
        ...

    def about(self, **fields: object) -> AbstractContextManager[None]:
        """What is done inside is about one thing: each log line of this process has `fields` meanwhile."""
        ...

    def alarm(self, name: str, **fields: object) -> None:
        """Something that a person must look at: a log line at error level, and a counter of the same name."""
        ...

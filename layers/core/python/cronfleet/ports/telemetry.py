"""What a part tells those who watch it."""

from typing import Protocol


class Telemetry(Protocol):
    """Counts, measures and log lines; a tenant or schedule is never a metric's dimension, only a field of a line."""

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add `value` to a counter, e.g. `claims_lost`."""
        ...

    def measure(self, metric: str, seconds: float, **dimensions: str) -> None:
        """One observation of a duration, e.g. `lag` with its tier."""
        ...

    def event(self, name: str, **fields: object) -> None:
        """One structured log line, e.g. `attempt_finished` with run id, outcome and lag."""
        ...

    def alarm(self, name: str, **fields: object) -> None:
        """Something that a person must look at: a log line at error level, and a counter of the same name."""
        ...

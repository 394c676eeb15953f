"""Attempt logs, as the services need them kept."""

from typing import Protocol

from cronfleet.domain.attempt_log import AttemptLog
from cronfleet.domain.run import RunKey


class AttemptLogStore(Protocol):
    """One log per attempt that said something."""

    def put_log(self, log: AttemptLog) -> None:
        """Keep `log`, instead of what is kept of the attempt. As long as the run's row, counted from now."""
        ...

    def get_log(self, key: RunKey, attempt: int) -> AttemptLog | None:
        """What is kept of an attempt, read eventually; `None` when it said nothing, or is still silent."""
        ...

    def forget_log(self, key: RunKey, attempt: int) -> None:
        """Remove what is kept of an attempt, if anything is."""
        ...

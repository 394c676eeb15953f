"""Settlement: what became of a dead letter, as it is noted in the run's row."""

from dataclasses import dataclass
from enum import StrEnum

from cronfleet.domain.instant import Instant


class How(StrEnum):
    """How a letter was settled."""

    REDRIVEN = "redriven"
    """A new run repeats it."""
    DISCARDED = "discarded"
    """Somebody said that it need not be done."""
    RERUN = "rerun"
    """A run that repeats it has succeeded."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """Who settled a letter, when and how; `run_id` is the run that repeats it, where there is one."""

    how: How
    by: str
    at: Instant
    run_id: str = ""
    reason: str = ""
    operation: str = ""
    """The operation that redrove it, or ran it again."""

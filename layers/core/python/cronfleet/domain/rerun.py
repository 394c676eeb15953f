"""Re-runs: which rows of the past a filter means, and whether one can be run again. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.errors import Conflict, Invalid
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import TERMINAL, Run, RunStatus


class Version(StrEnum):
    """Under which version of its schedule a run is repeated."""

    SAME = "same"
    NEWEST = "newest"


REPEATABLE: Final = TERMINAL - {RunStatus.MISSED, RunStatus.PAUSED, RunStatus.HELD, RunStatus.SHADOW}
"""The ends from which a run can be repeated: what stands for a stretch in which nothing fired is none."""

WITH_SIGNATURE: Final = frozenset({RunStatus.DEAD, RunStatus.REFUSED})
"""The ends of which a failure signature is kept."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Rows that ended before `until_ended_at` in one of `statuses`, with a nominal time from `from_at` on and before
    `to_at`. Re-runs are none of them: what they repeat is, and is repeated once.
    """

    statuses: frozenset[RunStatus]
    until_ended_at: Instant
    from_at: Instant | None = None
    to_at: Instant | None = None
    signature: str | None = None
    """That failed so."""

    @classmethod
    def of(cls, asked: Mapping[str, Any], created_at: Instant) -> "RunFilter":
        """The filter that an operation was asked for."""
        statuses = frozenset(map(RunStatus, asked["status"]))
        return cls(statuses, created_at, asked.get("from"), asked.get("to"), asked.get("signature"))

    def takes(self, run: Run) -> bool:
        """Whether the row is one of them."""
        nominal_at = run.key.nominal_at
        return (
            run.status in self.statuses
            and run.until_nominal_at is None
            and not run.ancestor
            and (run.finished_at or 0) <= self.until_ended_at
            and (self.signature is None or (run.signature is not None and run.signature.digest == self.signature))
            and (self.from_at is None or nominal_at >= self.from_at)
            and (self.to_at is None or nominal_at < self.to_at)
        )


def is_by_signature(asked: Mapping[str, Any]) -> bool:
    """Whether a failure signature alone says whose runs are meant: then they are dead letters."""
    return "signature" in asked and not asked["subjects"]


def check_repeatable(run: Run) -> None:
    """Raises `Conflict` for a run that cannot be repeated, or not yet."""
    if not run.is_terminal:
        raise Conflict(f"the run is {run.status}: only one that is over can be run again; cancel it first, or wait")
    if run.until_nominal_at is not None or run.status not in REPEATABLE:
        raise Conflict(
            f"the entry is {run.status} and stands for a stretch in which nothing fired; POST /v1/backfills makes runs "
            "of its dates"
        )


def pinned_version(run: Run, version: Version) -> int | None:
    """The version that a repetition of `run` is pinned to; `None`: it takes the one that is current.

    Raises `Invalid` for a run that never had one.
    """
    if version is Version.NEWEST:
        return None
    if not run.version:
        raise Invalid("version", 'is "same", and this run ended before it had a version; write "newest"')
    return run.version

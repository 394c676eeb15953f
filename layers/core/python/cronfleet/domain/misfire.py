"""Misfire: which of the fires that could not start in time are still wanted."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.instant import SECOND, Instant

MAX_CATCH_UP: Final = 1_000
DEFAULT_GRACE_SECONDS: Final = 300


class MisfirePolicy(StrEnum):
    """What happens to fires that are later than the grace window."""

    SKIP = "skip"
    FIRE_ONCE = "fire_once"
    CATCH_UP = "catch_up"


@dataclass(frozen=True, slots=True)
class Misfire:
    """A fire later than `grace_seconds` is missed; `max` is read by `catch_up` alone."""

    policy: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    max: int = 1
    grace_seconds: int = DEFAULT_GRACE_SECONDS

    @property
    def wanted(self) -> int:
        """How many of the missed fires, newest first, still run."""
        return {MisfirePolicy.SKIP: 0, MisfirePolicy.FIRE_ONCE: 1, MisfirePolicy.CATCH_UP: self.max}[self.policy]

    def missed_through(self, now: Instant) -> Instant:
        """Fires due at this instant or earlier are missed."""
        return now - self.grace_seconds * SECOND - 1


def split(missed: Sequence[Instant], wanted: int) -> tuple[Sequence[Instant], Sequence[Instant]]:
    """`missed` (oldest first) as (dropped, kept): the newest `wanted` are kept."""
    cut = max(0, len(missed) - wanted)
    return missed[:cut], missed[cut:]

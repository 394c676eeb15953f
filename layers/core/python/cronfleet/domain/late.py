"""Late: why a caught-up fire runs long after its nominal time."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.reason import Code, Reason


class Cause(StrEnum):
    """What kept fires from running in time."""

    OUTAGE = "outage"
    """Nothing fired: the scheduler was down, or far behind."""
    PAUSE = "pause"
    """The schedule was paused, held or parked."""
    ZONE_DATA = "zone_data"
    """New zone data moved the fire to a time that was past."""
    RATE = "rate"
    """The tenant had more due than its rate; a fire is deferred one by one, and `noticed_at` is when it was due."""
    FREEZE = "freeze"
    """A freeze held the schedule."""
    HOLD = "hold"
    """The installation was held: drained for an update, or a standby until another region failed."""


_WORDS: Final = {
    Cause.OUTAGE: "the scheduler fired nothing then",
    Cause.PAUSE: "the schedule was not on then",
    Cause.ZONE_DATA: "new zone data moved it there",
    Cause.RATE: "the tenant had more due than its rate, or its limit of runs at once, left room for",
    Cause.FREEZE: "a freeze held the schedule then",
    Cause.HOLD: "the installation was held then",
}


@dataclass(frozen=True, slots=True)
class Late:
    """The missed time that a caught-up fire lies in: its first and last nominal, what caused it, when it was noticed.

    `from_at` and `until_at` are those of the whole stretch, whether its fires were all caught up or not.
    """

    cause: Cause
    from_at: Instant
    until_at: Instant
    noticed_at: Instant

    @property
    def reason(self) -> Reason:
        """The same as a typed reason."""
        if self.cause is Cause.RATE:
            text = f"deferred when it was due, at {to_text(self.noticed_at)}: {_WORDS[self.cause]}"
            return Reason(Code.TENANT_RATE, text, self.detail)
        text = f"caught up: missed from {to_text(self.from_at)} to {to_text(self.until_at)}; {_WORDS[self.cause]}"
        return Reason(Code.CAUGHT_UP, f"{text} (noticed at {to_text(self.noticed_at)})", self.detail)

    @property
    def detail(self) -> dict[str, str | int]:
        """What machines may want to know of it."""
        return {
            "cause": self.cause.value,
            "missed_from_at": self.from_at,
            "missed_until_at": self.until_at,
            "noticed_at": self.noticed_at,
        }

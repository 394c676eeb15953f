"""Misfire: which of the fires that could not start in time are still wanted, and how fast they are caught up.

The same values say it for two occasions: after an outage of the scheduler (`policies.misfire`) and after a pause
(`policies.after_pause`, or what a resume asks for).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cronfleet.domain.instant import SECOND, Instant

MAX_CATCH_UP: Final = 1_000
"""Fires of one stretch of missed time that still run, at most."""

DEFAULT_GRACE_SECONDS: Final = 300
MAX_GRACE_SECONDS: Final = 30 * 24 * 3600
DEFAULT_PER_MINUTE: Final = 60
MAX_PER_MINUTE: Final = 600
"""Ten a second: what a schedule catches up in a tick then still fits into one claim."""

MAX_WINDOW_SECONDS: Final = 366 * 24 * 3600


class MisfirePolicy(StrEnum):
    """What happens to the fires of missed time: none runs, the newest, or the newest `max`."""

    SKIP = "skip"
    FIRE_ONCE = "fire_once"
    CATCH_UP = "catch_up"


@dataclass(frozen=True, slots=True)
class Misfire:
    """After an outage a fire that is `grace_seconds` late, or less, is only late: it runs at once, as it would have.

    A later one is missed. Of those, `policy` wants the newest (`max` is read by `catch_up` alone), none of them older
    than `window_seconds` (`None`: however old) when its turn comes, at most `per_minute` of them a minute. The window
    bounds what is only late too. After a pause everything it held back is missed: there is no grace.
    """

    policy: MisfirePolicy = MisfirePolicy.FIRE_ONCE
    max: int = 1
    grace_seconds: int = DEFAULT_GRACE_SECONDS
    window_seconds: int | None = None
    per_minute: int = DEFAULT_PER_MINUTE

    @property
    def wanted(self) -> int:
        """How many of the missed fires, newest first, still run."""
        return {MisfirePolicy.SKIP: 0, MisfirePolicy.FIRE_ONCE: 1, MisfirePolicy.CATCH_UP: self.max}[self.policy]

    def missed_through(self, now: Instant) -> Instant:
        """Fires due at this instant or earlier are missed."""
        grace = self.grace_seconds if self.window_seconds is None else min(self.grace_seconds, self.window_seconds)
        return now - grace * SECOND - 1


NONE_AFTER_PAUSE: Final = Misfire(MisfirePolicy.SKIP)
"""What is caught up after a pause unless someone says otherwise: nothing."""

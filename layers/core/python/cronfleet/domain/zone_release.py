"""Zone release: which release of the zone data an installation works with, and how it comes to another."""

from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.instant import MINUTE, Instant

SETTLES_AFTER: Final = 10 * MINUTE
"""How long a new release must have been seen before schedules are looked at again: until then functions of the old
deployment may still be at work, and would time by the old release what the job has passed already.
"""


@dataclass(frozen=True, slots=True)
class ZoneRelease:
    """The installation's `release`, in force since `since`, and the one that is `coming` since `coming_since`.

    `rev` rises with every write; 0 stands for an installation that has noted none yet.
    """

    release: str
    since: Instant
    coming: str = ""
    coming_since: Instant | None = None
    rev: int = 1

    def seen(self, release: str, now: Instant) -> "ZoneRelease | None":
        """What to note when a process at `now` works with `release`; `None`: nothing new."""
        if release == self.release:
            return replace(self, coming="", coming_since=None, rev=self.rev + 1) if self.coming else None
        if release == self.coming:
            return self._entered(now) if self._has_settled(now) else None
        return replace(self, coming=release, coming_since=now, rev=self.rev + 1)

    def _has_settled(self, now: Instant) -> bool:
        return self.coming_since is not None and now >= self.coming_since + SETTLES_AFTER

    def _entered(self, now: Instant) -> "ZoneRelease":
        return ZoneRelease(self.coming, now, rev=self.rev + 1)


def first_seen(release: str, now: Instant) -> ZoneRelease:
    """What an installation notes that has noted none: nobody knows what its schedules were timed with."""
    return ZoneRelease("", now, coming=release, coming_since=now, rev=1)

"""Zone stamp: with which zone data a timer's next time was worked out, and which local time that is.

The release says whether there is reason to look again; the offset, what the clock was expected to show. So another
release can tell where that local time lies now, without the zone data of the release before.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.trigger import IntervalTrigger, Trigger
from cronfleet.domain.zones import ZoneSource

STAMPS_KEPT: Final = 4_096
"""Stamps of (zone data, zone, second) that a process keeps."""

_STORED: Final = re.compile(r"(\w+)([+-]\d+)", re.ASCII)
_FIXED_NAMES: Final = frozenset({"UTC", "UCT", "GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich", "Universal", "Zulu"})
_FIXED_FOLDER: Final = "Etc/"


@dataclass(frozen=True, slots=True)
class ZoneStamp:
    """The IANA release, and the local time expected minus the instant, in seconds.

    Where the instant is the end of a gap, the local time is the one at which the gap begins: whatever the gap holds
    is not before it.
    """

    release: str
    offset_seconds: int

    def __str__(self) -> str:
        return f"{self.release}{self.offset_seconds:+d}"

    @classmethod
    def parse(cls, text: str) -> "ZoneStamp":
        """The reverse of `str`; raises `ValueError`."""
        match = _STORED.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is no stamp such as 2026f+19800")
        return cls(match[1], int(match[2]))


def moving_zone(trigger: Trigger) -> str | None:
    """The zone whose data decides what `trigger` names; `None` where no release can change that."""
    if isinstance(trigger, IntervalTrigger) or trigger.timezone is None:
        return None
    name = trigger.timezone
    return None if name in _FIXED_NAMES or name.startswith(_FIXED_FOLDER) else name


def stamp(trigger: Trigger, nominal_at: Instant | None) -> ZoneStamp | None:
    """The stamp of a nominal that was worked out just now."""
    name = moving_zone(trigger)
    if name is None or nominal_at is None:
        return None
    return shared_stamp(zones.at_work(), name, nominal_at // SECOND)


@lru_cache(maxsize=STAMPS_KEPT)
def shared_stamp(source: ZoneSource, name: str, second: int) -> ZoneStamp | None:
    """One for all schedules of a zone that fire in the same second."""
    segment = source.load(name).segment_at(second)
    if segment is None:
        return None
    shown = second + segment.offset
    if second == segment.start:
        shown = min(shown, segment.reached)
    return ZoneStamp(source.release, shown - second)

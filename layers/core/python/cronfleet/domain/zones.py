"""Time zones of the pinned tzdata package: which names exist, and where each zone's UTC offset is constant.

The host's zone files are never read, whatever PYTHONTZPATH says: they may be years old, and then a job runs an hour
off. `ZoneInfo(key)` is no validator either (`America` is a directory, `localtime` is the host's), so a name must stand
in the package's own list.

Times in here are whole seconds: "UTC seconds" since the epoch, and "wall seconds", which are the same count for what a
clock on the wall shows (UTC seconds + offset).
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo

import tzdata

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import LATEST, SECOND

DAY_SECONDS: Final = 86_400
BLOCK_SECONDS: Final = 366 * DAY_SECONDS
"""Segments are worked out and kept for about one year of one zone at a time."""
BLOCKS_KEPT: Final = 64
"""For each zone; a look far ahead beyond that starts the zone's cache again."""
LOOK_BACK_SECONDS: Final = 2 * DAY_SECONDS
"""More than any repeated or skipped stretch of the clock is long (a whole day, in Apia and Kwajalein)."""
LOOK_EVERY_SECONDS: Final = 3 * DAY_SECONDS
"""How densely a year is searched for changes. That finds them all, because no two changes of a zone since 1970 lie less
than six days apart: a test counts it for every zone of the package.
"""
LATEST_SECOND: Final = LATEST // SECOND

_NOT_A_PLACE: Final = frozenset({"Factory"})
_OTHER_CLOCKS: Final = frozenset({"posix", "right", "localtime", "posixrules"})
"""Beside the zones in a host's folder: copies of them, some with leap seconds, and the host's own zone."""
_LONGEST_NAME: Final = 64
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Where Python's datetime can shift a moment into any zone without leaving the years 1 to 9999.
_FIRST_SAMPLE: Final = (datetime(1, 1, 3, tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)
_LAST_SAMPLE: Final = LATEST_SECOND - 2 * DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of UTC seconds `[start, end)` in which the zone's offset is constant.

    `reached` is the latest wall second that the clock had come to before `start`. Where nothing changed it equals
    `start + offset`. Is it less, then the wall seconds `[reached, start + offset)` were skipped (a gap); is it more,
    then `[start + offset, reached)` are shown for the second time (an overlap). `returns` is the same seen from the
    other end: the earliest wall second that the clock will show from `end` on; what the segment shows from there on is
    shown again.
    """

    start: int
    end: int
    offset: int
    reached: int
    returns: int


class Zone:
    """One zone; get it from `load`."""

    __slots__ = ("_blocks", "_info", "name")

    def __init__(self, name: str, info: ZoneInfo) -> None:
        self.name = name
        self._info = info
        self._blocks: dict[int, tuple[Segment, ...]] = {}

    def segment_at(self, second: int) -> Segment | None:
        """The segment that holds this UTC second; None after the year 9999.

        A segment ends at the zone's next change or, without a change, somewhere within a year.
        """
        if second > LATEST_SECOND:
            return None
        block = second // BLOCK_SECONDS
        segments = self._blocks.get(block)
        if segments is None:
            segments = self._keep(block)
        return next(segment for segment in segments if second < segment.end)

    def wall_at(self, second: int) -> int:
        """What the clock shows at this UTC second, as wall seconds; after the year 9999 what UTC's shows."""
        segment = self.segment_at(second)
        return second + (segment.offset if segment is not None else 0)

    def first_instant(self, wall: int) -> int | None:
        """The UTC second at which the clock first shows `wall`, or the end of the gap that skips it.

        None where that is after the year 9999.
        """
        second = wall - LOOK_BACK_SECONDS
        while (segment := self.segment_at(second)) is not None:
            if wall < segment.start + segment.offset:
                return segment.start
            if wall < segment.end + segment.offset:
                return wall - segment.offset
            second = segment.end
        return None

    def instants(self, wall: int) -> tuple[int, ...]:
        """The UTC seconds at which the clock shows `wall`, in order: none in a gap, two in an overlap."""
        found: list[int] = []
        second = wall - LOOK_BACK_SECONDS
        while second <= wall + LOOK_BACK_SECONDS and (segment := self.segment_at(second)) is not None:
            if second <= wall - segment.offset < segment.end:
                found.append(wall - segment.offset)
            second = segment.end
        return tuple(found)

    def _keep(self, block: int) -> tuple[Segment, ...]:
        if len(self._blocks) >= BLOCKS_KEPT:
            self._blocks.clear()
        segments = self._blocks[block] = self._segments(block)
        return segments

    def _segments(self, block: int) -> tuple[Segment, ...]:
        start = block * BLOCK_SECONDS
        end = min(start + BLOCK_SECONDS, LATEST_SECOND + 1)
        # A change shortly before the block still decides what its first hours repeat, and one shortly after it whether
        # its last hours are repeated.
        since, until = start - LOOK_BACK_SECONDS, end + LOOK_BACK_SECONDS
        bounds = [since, *self._changes(since, until), until]
        offsets = [self._offset_at(bound) for bound in bounds[:-1]]
        stretches = list(zip(pairwise(bounds), offsets, strict=True))
        returns = [first + offset for (first, _), offset in stretches[1:]] + [bounds[-1] + offsets[-1]]
        segments: list[Segment] = []
        reached = bounds[0] + offsets[0]
        for ((first, last), offset), again in zip(stretches, returns, strict=True):
            begin, stop = max(first, start), min(last, end)
            if begin < stop:
                seen = reached if begin == first else max(reached, begin + offset)
                segments.append(Segment(begin, stop, offset, seen, min(again, stop + offset)))
            reached = max(reached, last + offset)
        return tuple(segments)

    def _changes(self, since: int, until: int) -> list[int]:
        """The UTC seconds in `(since, until)` at which the offset changes."""
        looks = [*range(since, until, LOOK_EVERY_SECONDS), until - 1]
        offsets = [self._offset_at(second) for second in looks]
        return [
            self._bisect(low, high)
            for (low, before), (high, after) in pairwise(zip(looks, offsets, strict=True))
            if before != after
        ]

    def _bisect(self, low: int, high: int) -> int:
        before = self._offset_at(low)
        while high - low > 1:
            middle = (low + high) // 2
            if self._offset_at(middle) == before:
                low = middle
            else:
                high = middle
        return high

    def _offset_at(self, second: int) -> int:
        clamped = min(max(second, _FIRST_SAMPLE), _LAST_SAMPLE)
        offset = (_EPOCH + timedelta(seconds=clamped)).astimezone(self._info).utcoffset()
        return 0 if offset is None else offset.days * DAY_SECONDS + offset.seconds


class ZoneSource:
    """One release of the zone data: a folder with `zoneinfo` files and, as the tzdata package has it, the list `zones`.

    A folder without that list is one such as `zic` fills; then every file in it that is zone data has a name.
    """

    def __init__(self, folder: Traversable, release: str) -> None:
        self.release = release
        self._folder = folder
        self.load: Callable[[str], Zone] = lru_cache(maxsize=1024)(self._load)  # more than there are names

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name a schedule may use: canonical zones and their links."""
        listed = self._folder / "zones"
        if listed.is_file():
            return frozenset(listed.read_text(encoding="ascii").split()) - _NOT_A_PLACE
        return frozenset(_files(self._folder, "")) - _NOT_A_PLACE

    def _load(self, name: str) -> Zone:
        if name not in self.names:
            raise Invalid("timezone", _refusal(name))  # An unknown name is not kept.
        inner = self._folder / "zoneinfo"
        with (inner if inner.is_dir() else self._folder).joinpath(*name.split("/")).open("rb") as data:
            return Zone(name, ZoneInfo.from_file(data, key=name))


def _files(folder: Traversable, prefix: str) -> Iterator[str]:
    for entry in folder.iterdir():
        if entry.is_dir():
            if entry.name not in _OTHER_CLOCKS:
                yield from _files(entry, f"{prefix}{entry.name}/")
        elif entry.read_bytes()[:4] == b"TZif" and entry.name not in _OTHER_CLOCKS:
            yield f"{prefix}{entry.name}"


PACKAGE: Final = ZoneSource(resources.files(tzdata), str(tzdata.IANA_VERSION))
"""The pinned package: what every process works with."""

_at_work: Final[ContextVar[ZoneSource]] = ContextVar("zone data", default=PACKAGE)


@contextmanager
def working_with(source: ZoneSource) -> Iterator[None]:
    """Work with `source` inside the context: two releases are compared in one process, and simulated."""
    token = _at_work.set(source)
    try:
        yield
    finally:
        _at_work.reset(token)


def at_work() -> ZoneSource:
    """The release that all times are worked out with."""
    return _at_work.get()


def load(name: str) -> Zone:
    """The zone of this IANA name or link; `Invalid("timezone", …)` for anything that is not in the package's list."""
    return _at_work.get().load(name)


def names() -> frozenset[str]:
    """Every name a schedule may use: canonical zones and their links."""
    return _at_work.get().names


def tzdata_version() -> str:
    """The IANA release that all times are worked out with, such as `2026f`."""
    return _at_work.get().release


def _refusal(name: str) -> str:
    if not name:
        return "is empty; write an IANA name such as Asia/Kolkata or UTC (there is no silent default)"
    if len(name) > _LONGEST_NAME:
        return f"is {len(name)} characters long; an IANA name such as Asia/Kolkata has at most {_LONGEST_NAME}"
    meant = _probably_meant(name)
    return f"{name!r} is not an IANA time zone name" + (meant or "; write one such as Asia/Kolkata or UTC")


def _probably_meant(name: str) -> str | None:
    offset = re.fullmatch(r"(?:UTC|GMT|Z)?([+-])0?(\d{1,2})(?::?00)?", name.strip(), re.ASCII | re.IGNORECASE)
    if offset:
        sign = "-" if offset[1] == "+" else "+"  # POSIX counts west as positive
        fixed = f"Etc/GMT{sign}{offset[2]}"
        return f"; the zone that stays there all year is {fixed} (its sign is reversed)" if fixed in names() else None
    folded = name.strip().replace(" ", "_").casefold()
    same = next((known for known in sorted(names()) if known.casefold() == folded), None) or _closest(name)
    return f". Did you mean {same}?" if same else None


@lru_cache(maxsize=1024)  # a search among all names takes milliseconds, and what is misspelt once comes again
def _closest(name: str) -> str | None:
    import difflib  # noqa: PLC0415 - only a refusal needs it

    return next(iter(difflib.get_close_matches(name, sorted(names()), n=1, cutoff=0.75)), None)

"""Instants: whole milliseconds since 1970-01-01T00:00:00Z, as `int`; text only at the edges."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, TypeAlias

Instant: TypeAlias = int
"""Milliseconds since the epoch, UTC. Names of instants end in `_at`; names of durations in their unit."""

SECOND: Final = 1_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

EARLIEST: Final[Instant] = 0
LATEST: Final[Instant] = 253_402_300_799_000
"""9999-12-31T23:59:59Z: the last second that RFC 3339 text and Python's datetime can name."""

COMPACT_KEPT: Final = 1_024
"""Texts of instants that a process keeps: what fires together stands under one."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_COMPACT: Final = re.compile(r"(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z")


def from_datetime(moment: datetime) -> Instant:
    """The instant of an aware `moment`, rounded down to the millisecond."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def to_datetime(instant: Instant) -> datetime:
    """`instant` as an aware datetime in UTC."""
    return _EPOCH + timedelta(milliseconds=instant)


def to_text(instant: Instant) -> str:
    """RFC 3339 in UTC: `2026-12-01T02:00:00Z`, with milliseconds only where there are any."""
    moment = to_datetime(instant).replace(tzinfo=None)
    return moment.isoformat(timespec="milliseconds" if instant % SECOND else "seconds") + "Z"


@lru_cache(maxsize=COMPACT_KEPT)
def to_compact(instant: Instant) -> str:
    """`20261201T020000Z`: sorts as text, and stands in keys and run ids. Whole seconds only."""
    return to_datetime(instant).strftime("%Y%m%dT%H%M%SZ")


def from_compact(text: str) -> Instant:
    """The reverse of `to_compact`; raises `ValueError` for anything else."""
    match = _COMPACT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an instant like 20261201T020000Z")
    year, month, day, hour, minute, second = map(int, match.groups())
    return from_datetime(datetime(year, month, day, hour, minute, second, tzinfo=UTC))


def floor_second(instant: Instant) -> Instant:
    """`instant` cut to its whole second."""
    return instant - instant % SECOND


def ceil_second(instant: Instant) -> Instant:
    """The first whole second that is not before `instant`: rounding up is never early."""
    return -(-instant // SECOND) * SECOND

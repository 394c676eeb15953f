"""Backlogs, and why a fire is late, as stored in timers, batches and rows: positions, not names; they pay for size."""

from typing import Any, Final

from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.instant import Instant
from cronfleet.domain.late import Cause, Late

_LETTERS: Final = {
    Cause.OUTAGE: "o",
    Cause.PAUSE: "p",
    Cause.ZONE_DATA: "z",
    Cause.RATE: "r",
    Cause.FREEZE: "f",
    Cause.HOLD: "h",
}
_CAUSES: Final = {letter: cause for cause, letter in _LETTERS.items()}


def late_json(late: Late | None, base: Instant = 0) -> list[Any] | None:
    """Why a fire is late; instants as distances from `base`."""
    if late is None:
        return None
    return [_LETTERS[late.cause], late.from_at - base, late.until_at - base, late.noticed_at - base]


def late_of(stored: list[Any] | None, base: Instant = 0) -> Late | None:
    """The reverse of `late_json`; raises `ValueError`, `KeyError`, `TypeError`."""
    if stored is None:
        return None
    cause, from_at, until_at, noticed_at = stored
    return Late(_CAUSES[cause], base + from_at, base + until_at, base + noticed_at)


def backlog_json(backlog: Backlog | None) -> list[Any] | None:
    """A backlog; its instants as distances from its `next_at`, which is stored beside it."""
    if backlog is None:
        return None
    base = backlog.next_at
    return [backlog.turn_at - base, *(_stretch_json(stretch, base) for stretch in backlog.stretches)]


def _stretch_json(stretch: Stretch, base: Instant) -> list[Any]:
    late = late_json(stretch.late, base)
    return [stretch.first_at - base, stretch.last_at - base, stretch.per_minute, stretch.window_seconds or 0, late]


def backlog_of(stored: list[Any] | None, base: Instant | None) -> Backlog | None:
    """The reverse of `backlog_json`; raises `ValueError`, `KeyError`, `TypeError`."""
    if stored is None and base is None:
        return None
    if stored is None or base is None or len(stored) < 2:
        raise ValueError("a backlog without its place, or without a stretch")
    turn, *stretches = stored
    return Backlog(tuple(_stretch_of(stretch, base) for stretch in stretches), base + turn)


def _stretch_of(stored: list[Any], base: Instant) -> Stretch:
    first, last, per_minute, window, why = stored
    late = late_of(why, base)
    if late is None or min(per_minute, 1) < 1:
        raise ValueError("a stretch without a reason, or without a pace")
    return Stretch(base + first, base + last, late, per_minute, window or None)

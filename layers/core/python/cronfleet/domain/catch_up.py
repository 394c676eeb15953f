"""Catch-up: which fires of a missed stretch are still wanted, and whose turn has come. Nominals in, nominals out."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from cronfleet.domain.backlog import MAX_STRETCHES, Backlog, Stretch
from cronfleet.domain.claim import Fire, SkippedRange
from cronfleet.domain.instant import SECOND, Instant, floor_second, to_text
from cronfleet.domain.late import Late
from cronfleet.domain.lease import SLOT
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.trigger import CronTrigger, Ground, IntervalTrigger, Trigger, ground_of, latest_fires

MAX_CAUGHT_UP_PER_CLAIM: Final = 60
"""Fires of missed time that one claim takes, besides what it fires regularly."""

REACH: Final = 2 * SLOT
"""How far back turns count that no tick took: a tick that was lost is made up for, an outage is no right to a burst."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a policy makes of the nominals from one to another: those from `kept_from` on are kept, if any is.

    `dropped_to` is the last of those before, `None` when none is dropped.
    """

    kept_from: Instant | None
    dropped_to: Instant | None


def wanted(trigger: Trigger, first_at: Instant, last_at: Instant, policy: Misfire, now: Instant, limit: int) -> Wanted:
    """What `policy` wants of the nominals from `first_at` to `last_at` (both are some) at `now`: `limit` at most."""
    oldest = first_at if policy.window_seconds is None else max(first_at, now - policy.window_seconds * SECOND)
    kept_from = _oldest_of_newest(trigger, oldest, last_at, limit)
    if kept_from is None:
        return Wanted(None, last_at)
    if kept_from <= first_at:
        return Wanted(first_at, None)
    return Wanted(kept_from, before(trigger, first_at, kept_from))


def _oldest_of_newest(trigger: Trigger, first_at: Instant, last_at: Instant, limit: int) -> Instant | None:
    """The oldest of the newest `limit` nominals from `first_at` to `last_at`."""
    if limit <= 0 or first_at > last_at:
        return None
    if isinstance(trigger, IntervalTrigger):
        every = trigger.every_seconds * SECOND
        oldest = last_at - (limit - 1) * every
        return oldest if oldest >= first_at else last_at - (last_at - first_at) // every * every
    ground = ground_of(trigger) if isinstance(trigger, CronTrigger) else None
    newest = _latest(trigger, ground, first_at - 1, last_at, limit)
    return newest[0] if newest else None


@lru_cache(maxsize=256)
def _latest(
    trigger: Trigger, _ground: Ground | None, after: Instant, until: Instant, limit: int
) -> tuple[Instant, ...]:
    # After an outage many schedules with one expression miss the same stretch; a thousand times may be looked at.
    return tuple(latest_fires(trigger, after, until, limit))


def before(trigger: Trigger, first_at: Instant, instant: Instant) -> Instant:
    """The last nominal before `instant`, from `first_at` (which is one) on."""
    found = latest_fires(trigger, first_at - 1, instant - 1, 1)
    return found[0] if found else first_at


def extended(backlog: Backlog | None, stretch: Stretch, now: Instant) -> tuple[Backlog, SkippedRange | None]:
    """`backlog` with one more stretch, the newest; and what gives way for it, if there are too many."""
    if backlog is None:
        return Backlog((stretch,), floor_second(now)), None
    stretches = (*backlog.stretches, stretch)
    if len(stretches) <= MAX_STRETCHES:
        return replace(backlog, stretches=stretches), None
    oldest = stretches[0]
    text = f"gave way to later ones: {MAX_STRETCHES} stretches of missed time are caught up at once, and no more"
    return replace(backlog, stretches=stretches[1:]), _dropped(oldest, oldest.last_at, text, now)


def _dropped(stretch: Stretch, last_at: Instant, text: str, now: Instant) -> SkippedRange:
    return SkippedRange(stretch.first_at, last_at, missed_reason(stretch.late, text, now))


def missed_reason(late: Late, text: str, now: Instant) -> Reason:
    """Why fires of missed time do not run: what was missed, and `text`."""
    missed = f"missed from {to_text(late.from_at)} to {to_text(late.until_at)}"
    return Reason(Code.MISSED, f"{missed}; {text}", {**late.detail, "noticed_at": now})


@dataclass(frozen=True, slots=True)
class Taken:
    """Fires whose turn has come, ranges that grew too old while they waited, and what still waits."""

    fires: tuple[Fire, ...]
    dropped: tuple[SkippedRange, ...]
    rest: Backlog | None


def taken(backlog: Backlog, trigger: Trigger, now: Instant, room: int) -> Taken:
    """What of `backlog` has its turn by `now`: at most `room` fires, oldest first, each due at its turn.

    Never ahead of its turn: what is taken is due, so that no change has to look for fires that are not.
    """
    fires: list[Fire] = []
    dropped: list[SkippedRange] = []
    turn_at = max(backlog.turn_at, floor_second(now) - REACH)
    stretches = list(backlog.stretches)
    while stretches and turn_at <= now and len(fires) < room:
        stretch = stretches[0]
        left = _young_enough(stretch, trigger, now)
        if left is None or left.first_at > stretch.first_at:
            last_at = stretch.last_at if left is None else before(trigger, stretch.first_at, left.first_at)
            text = f"more than {stretch.window_seconds} s late when its turn came"
            dropped.append(_dropped(stretch, last_at, text, now))
        stretches[:1] = [] if left is None else [left]
        if left is None:
            continue
        turn_at = max(turn_at, floor_second(left.late.noticed_at))
        for nominal_at in _nominals(left, trigger):
            fires.append(Fire(nominal_at, floor_second(turn_at), left.late))
            turn_at += left.turn
            stretches[:1] = _after(left, trigger, nominal_at)
            if turn_at > now or len(fires) >= room:
                break
    return Taken(tuple(fires), tuple(dropped), Backlog(tuple(stretches), turn_at) if stretches else None)


def _young_enough(stretch: Stretch, trigger: Trigger, now: Instant) -> Stretch | None:
    """`stretch` without what is older than its window at `now`; `None` when nothing is left."""
    if stretch.window_seconds is None:
        return stretch
    oldest = now - stretch.window_seconds * SECOND
    if stretch.first_at >= oldest:
        return stretch
    first_at = trigger.next_after(oldest - 1)
    return None if first_at is None or first_at > stretch.last_at else replace(stretch, first_at=first_at)


def _nominals(stretch: Stretch, trigger: Trigger) -> Iterator[Instant]:
    nominal_at: Instant | None = stretch.first_at
    while nominal_at is not None and nominal_at <= stretch.last_at:
        yield nominal_at
        nominal_at = trigger.next_after(nominal_at)


def _after(stretch: Stretch, trigger: Trigger, nominal_at: Instant) -> list[Stretch]:
    """What is left of `stretch` once it is caught up through `nominal_at`: nothing, or one."""
    following = trigger.next_after(nominal_at)
    if following is None or following > stretch.last_at:
        return []
    return [replace(stretch, first_at=following)]

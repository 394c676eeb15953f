"""Naming: whether a trigger names a time, the nearest ones that it does, and what a change of the clock did to it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from cronfleet.domain import calendared, cron, zones
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.instant import EARLIEST, SECOND, Instant
from cronfleet.domain.schedule import Timer
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger, OneShotTrigger, Trigger, fires, latest_fires
from cronfleet.domain.zones import Segment

MAX_COUNTED: Final = 20_000
"""Nominal times that are counted one by one; a longer stretch of a cron is not counted."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def names(trigger: Trigger, instant: Instant) -> bool:
    """Whether `trigger` names `instant`, whatever start and end say."""
    return trigger.next_after(instant - 1) == instant


def is_inside(timer: Timer, instant: Instant) -> bool:
    """Whether `instant` lies inside start and end."""
    return (timer.start_at or EARLIEST) <= instant and (timer.end_at is None or instant <= timer.end_at)


def nominals(timer: Timer, first_at: Instant, last_at: Instant, limit: int) -> list[Instant]:
    """The oldest `limit` nominals of `timer` from `first_at` to `last_at`, both included, inside its start and end."""
    first_at = max(first_at, timer.start_at or EARLIEST)
    return list(islice(fires(timer.trigger, first_at - 1, timer.capped(last_at)), limit))


def last_nominal(timer: Timer, first_at: Instant, last_at: Instant) -> Instant:
    """The latest nominal from `first_at`, which is one, to `last_at`."""
    return max(first_at, *latest_fires(timer.trigger, first_at - 1, timer.capped(last_at), 1), first_at)


def nearest(timer: Timer, instant: Instant) -> tuple[Instant | None, Instant | None]:
    """The latest nominal before `instant` and the earliest after it, inside start and end, since 1970."""
    oldest = max(timer.start_at or EARLIEST, EARLIEST)
    earlier = latest_fires(timer.trigger, oldest - 1, timer.capped(instant - 1), 1)
    later = timer.trigger.next_after(max(instant, oldest - 1))
    is_over = later is None or (timer.end_at is not None and later > timer.end_at)
    return (earlier[0] if earlier else None), (None if is_over else later)


def count(timer: Timer, first_at: Instant, last_at: Instant) -> int | None:
    """How many nominals lie from `first_at` to `last_at`, both included; `None`: more than are counted."""
    trigger = timer.trigger
    if isinstance(trigger, IntervalTrigger):
        every = trigger.every_seconds * SECOND
        return (last_at - trigger.anchor_at) // every - (first_at - 1 - trigger.anchor_at) // every
    found = sum(1 for _ in islice(fires(trigger, first_at - 1, last_at), MAX_COUNTED + 1))
    return None if found > MAX_COUNTED else found


@dataclass(frozen=True, slots=True)
class ClockChange:
    """A local time that a change of the clock skipped (a gap), or showed twice.

    `local` is what was meant, without an offset; `fired_at` is what the trigger names instead, if anything; `policy` is
    what decided that: a `Gap`, a `Repeat`, or empty for a wildcard, which fires at real times alone.
    """

    is_gap: bool
    local: str
    zone: str
    fired_at: Instant | None
    policy: Gap | Repeat | None


def clock_change(trigger: Trigger, instant: Instant) -> ClockChange | None:
    """What the clock did to a local time that `trigger` names, if that is why it does not name `instant`.

    No instant lies in a gap: one is taken for a skipped local time if it would show that under the offset before.
    """
    zone_name = _zone_of(trigger)
    if zone_name is None or instant % SECOND or instant < EARLIEST:
        return None
    second = instant // SECOND
    segment = zones.load(zone_name).segment_at(second)
    if segment is None:
        return None
    ahead = segment.start + segment.offset - segment.reached
    if 0 <= second - segment.start < ahead:
        return _gap(trigger, segment, segment.reached + second - segment.start, zone_name)
    return _other_pass(trigger, segment, second, zone_name)


def _gap(trigger: Trigger, segment: Segment, skipped: int, zone_name: str) -> ClockChange | None:
    if not _names_wall(trigger, skipped):
        return None
    gap, _ = _policies(trigger)
    end = segment.start * SECOND
    fired_at = end if gap is Gap.AFTER and names(trigger, end) else None
    return ClockChange(True, _local(skipped), zone_name, fired_at, gap)


def _other_pass(trigger: Trigger, segment: Segment, second: int, zone_name: str) -> ClockChange | None:
    """An instant in the pass of an overlap that the trigger does not use."""
    wall = second + segment.offset
    _, repeat = _policies(trigger)
    unused = (repeat is Repeat.FIRST and wall < segment.reached) or (
        repeat is Repeat.SECOND and wall >= segment.returns
    )
    if not unused or not _names_wall(trigger, wall):
        return None
    shown = zones.load(zone_name).instants(wall)
    used = shown[0] if repeat is Repeat.FIRST else shown[-1]
    return ClockChange(False, _local(wall), zone_name, used * SECOND, repeat)


def _policies(trigger: Trigger) -> tuple[Gap | None, Repeat | None]:
    """What counts for `trigger` at a change of the clock; None for a wildcard, which has no choice."""
    if not isinstance(trigger, CronTrigger):
        return Gap.AFTER, Repeat.FIRST
    if not is_fixed_time(trigger):
        return None, None
    return trigger.gap_policy, trigger.repeat_policy


def is_fixed_time(trigger: Trigger) -> bool:
    """Whether a change of the clock moves what `trigger` names, instead of leaving it out or showing it twice."""
    return not isinstance(trigger, CronTrigger) or cron.fields_of(trigger).fixed_time


def _zone_of(trigger: Trigger) -> str | None:
    return None if isinstance(trigger, IntervalTrigger) else trigger.timezone


def _names_wall(trigger: Trigger, wall: int) -> bool:
    if isinstance(trigger, CronTrigger):
        return calendared.search_of(trigger).next_wall(wall) == wall
    if isinstance(trigger, OneShotTrigger):
        moment = parse_moment(trigger.text, "at").rounded_up()
        return moment.offset_seconds is None and moment.wall_seconds == wall
    return False


def _local(wall: int) -> str:
    return (_EPOCH + timedelta(seconds=wall)).replace(tzinfo=None).isoformat()

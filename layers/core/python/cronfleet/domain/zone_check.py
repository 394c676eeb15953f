"""Zone check: whether the zone data at work has what a timer waits for at another instant."""

from typing import Final

from cronfleet.domain import naming, zones
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import OneShotTrigger, retold
from cronfleet.domain.zone_stamp import moving_zone, stamp

WAITING: Final = (Status.ACTIVE, Status.PAUSED, Status.HELD)
"""Whoever stands otherwise waits for nothing, or works it out anew before it does again."""


def is_outdated(timer: Timer) -> bool:
    """Whether what `timer` waits for was worked out with an older release than this process has, and differs by it."""
    known = timer.zone_data
    return known is not None and known.release < zones.tzdata_version() and names_otherwise(timer)


def names_otherwise(timer: Timer) -> bool:
    """Whether the zone data at work has what `timer` waits for at another instant.

    Raises `UNCOMPUTABLE` for a trigger that no longer computes.
    """
    trigger, nominal_at = timer.trigger, timer.nominal_at
    if nominal_at is None or moving_zone(trigger) is None or timer.status not in WAITING:
        return False
    if isinstance(trigger, OneShotTrigger):
        return retold(trigger).at != trigger.at
    if not naming.names(trigger, nominal_at):
        return True
    if timer.zone_data is None or not naming.is_fixed_time(trigger):
        return False
    now_shown = stamp(trigger, nominal_at)
    return now_shown is not None and now_shown.offset_seconds != timer.zone_data.offset_seconds

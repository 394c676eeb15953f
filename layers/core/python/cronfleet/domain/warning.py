"""Warnings: what about a trigger will surprise whoever wrote it. `domain/lint.py` finds them."""

from dataclasses import dataclass
from enum import StrEnum


class WarningCode(StrEnum):
    """What a warning is about."""

    DAY_EITHER = "day_either"
    """Day of month and day of week are both given, and a day that is only one of them is enough."""
    DAY_BOTH = "day_both"
    """Day of month and day of week are both given, and must both match, because one of them begins with `*`."""
    DATE_NEVER = "date_never"
    """A date that it names is in no year, such as 31 April."""
    DATE_SELDOM = "date_seldom"
    """It needs 29 February, or a fifth weekday of a month, which few years or months have."""
    MONTHS_SKIPPED = "months_skipped"
    """It names day 29, 30 or 31, and months without that day are left out."""
    STEP_RESTARTS = "step_restarts"
    """The step does not divide its field, so that the last one before it starts again is followed too soon."""
    EVERY_MINUTE = "every_minute"
    """It fires in every minute of an hour or a day where one fire was probably meant."""
    DST_CHANGE = "dst_change"
    """One of the next two changes of the clock skips, moves or repeats a time that it names."""
    DST_POLICY_WITHOUT_EFFECT = "dst_policy_without_effect"
    """`gap` or `overlap` is set, and nothing is decided by it."""
    ZONE_ALIAS = "zone_alias"
    """The zone's name is an old one that is kept as a link."""
    ZONE_FIXED_OFFSET = "zone_fixed_offset"
    """The zone is a fixed offset whose sign means the opposite of what it seems to say."""
    CROWDED_TIME = "crowded_time"
    """It fires at midnight sharp, as very many do, without jitter."""
    FAR_AWAY = "far_away"
    """The next fire is more than a year away."""
    INTERVAL_DRIFTS = "interval_drifts"
    """The interval does not divide a day, so that its times of day move."""
    CALENDAR_RUNS_OUT = "calendar_runs_out"
    """The calendar that it follows knows no dates past a day that is near, or that lies before the next fire."""
    PARENT_GONE = "parent_gone"
    """A schedule that it runs after is deleted, completed, held or parked."""
    PARENTS_APART = "parents_apart"
    """The schedules that it runs after name different times; where one names none, it is late."""
    UNCOMPUTABLE = "uncomputable"
    """It was accepted once and no longer computes, its zone having left the zone data: the scheduler parks it."""


@dataclass(frozen=True, slots=True)
class Warning:  # noqa: A001 - the word that callers see; Python's own, a base of exceptions, is of no use here
    """One thing that will surprise: its kind, and a sentence with the next dates where it has any."""

    code: WarningCode
    text: str

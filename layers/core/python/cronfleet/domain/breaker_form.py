"""The form in which callers see breakers."""

from typing import Final

from cronfleet.domain.breaker import Breaker, BreakerKind, State
from cronfleet.domain.instant import SECOND, to_text
from cronfleet.domain.schedule import Timer

SCHEDULE: Final = f"{BreakerKind.SCHEDULE.value}-"
"""What the id of a schedule's breaker begins with; the schedule's own follows."""


def breaker_form(breaker: Breaker) -> dict[str, object]:
    """What it guards and where it stands; instants as RFC 3339 text."""
    is_open = breaker.state is not State.CLOSED
    return {
        "id": breaker.guarded.breaker_id,
        "kind": breaker.guarded.kind.value,
        "target": breaker.guarded.name,
        "state": breaker.state.value,
        "failures": breaker.failures,
        "error": breaker.error or None,
        "failed_at": to_text(breaker.failed_at) if breaker.failures else None,
        "opened_at": to_text(breaker.opened_at) if is_open else None,
        "try_at": to_text(breaker.try_at) if breaker.state is State.OPEN else None,
        "cooldown_seconds": breaker.cooldown // SECOND if is_open else None,
        "probe": breaker.probe or None,
        "permits": breaker.permits if breaker.state is State.RECOVERING else None,
    }


def schedule_breaker_form(timer: Timer, *, is_open: bool) -> dict[str, object]:
    """The same of a schedule with a breaker of its own, which has paused it or (not `is_open`) has not."""
    pause = timer.pause if is_open else None
    return {
        "id": f"{SCHEDULE}{timer.schedule_id}",
        "kind": BreakerKind.SCHEDULE.value,
        "target": timer.schedule_id,
        "state": (State.CLOSED if pause is None else State.OPEN).value,
        "failures": 0 if pause is None or timer.breaker is None else timer.breaker.failures,
        "error": None if pause is None else pause.reason,
        "failed_at": None if pause is None else to_text(pause.at),
        "opened_at": None if pause is None else to_text(pause.at),
        "try_at": None if pause is None or pause.until is None else to_text(pause.until),
        "cooldown_seconds": None if pause is None or timer.breaker is None else timer.breaker.cooldown_seconds,
        "probe": None,
        "permits": None,
    }

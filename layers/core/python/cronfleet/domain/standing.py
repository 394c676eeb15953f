"""Standing: how a schedule stands from its first moment on, where that is not simply active."""

from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.change import put_on_hold
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.schedule import Change, Hold, Pause, Status, Timer, moved


@dataclass(frozen=True, slots=True)
class Standing:
    """Held, or paused, or neither. With `may_be_over` it may be registered although nothing is left to fire."""

    hold: Hold | None = None
    pause: Pause | None = None
    may_be_over: bool = False


SIMPLY_ACTIVE: Final = Standing()


def begun(timer: Timer, standing: Standing) -> Timer:
    """A `timer` that was just created, as `standing` wants it. One that is over already stays completed."""
    if standing.hold is not None:
        return put_on_hold(timer, standing.hold)
    if standing.pause is None or timer.status is not Status.ACTIVE:
        return timer
    due_at = _until(standing.pause)
    return replace(timer, status=moved(timer.status, Change.PAUSE), pause=standing.pause, due_at=due_at)


def _until(pause: Pause) -> Instant | None:
    return None if pause.until is None else ceil_second(pause.until)

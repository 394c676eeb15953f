"""Beginning: how a schedule stands from its first moment on, where that is not simply active."""

from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.change import put_on_hold
from cronfleet.domain.instant import Instant, ceil_second
from cronfleet.domain.schedule import Change, Hold, Pause, Status, Timer, moved


@dataclass(frozen=True, slots=True)
class Beginning:
    """Held, or paused, or neither. With `may_be_over` it may be registered although nothing is left to fire."""

    hold: Hold | None = None
    pause: Pause | None = None
    may_be_over: bool = False


SIMPLY_ACTIVE: Final = Beginning()


def begun(timer: Timer, beginning: Beginning) -> Timer:
    """A `timer` that was just created, as `beginning` wants it. One that is over already stays completed."""
    if beginning.hold is not None:
        return put_on_hold(timer, beginning.hold)
    if beginning.pause is None or timer.status is not Status.ACTIVE:
        return timer
    due_at = _until(beginning.pause)
    return replace(timer, status=moved(timer.status, Change.PAUSE), pause=beginning.pause, due_at=due_at)


def _until(pause: Pause) -> Instant | None:
    return None if pause.until is None else ceil_second(pause.until)

"""Outlook: the fires ahead, as callers ask for them."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cronfleet.domain.claim import Fire
from cronfleet.domain.dispatch_plan import first_fire, regular_fire
from cronfleet.domain.instant import Instant
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import Trigger, fires

MAX_FIRES: Final = 1_000
"""Fires that one question may ask for."""

DEFAULT_FIRES: Final = 10


@dataclass(frozen=True, slots=True)
class NamedFire:
    """A fire ahead, or one that was; `is_frozen`: a freeze holds it, so that it will not start, or has not."""

    nominal_at: Instant
    due_at: Instant
    is_frozen: bool


def fires_of(timer: Timer, after: Instant, until: Instant | None, limit: int) -> list[Fire]:
    """Up to `limit` fires that the trigger of `timer` names in (`after`, `until`], whatever its status.

    The one that an active schedule waits for is due when it waits for it: a deferral may have moved that, and a new
    jitter holds from the fire after it on.
    """
    return list(islice(_fires(timer, after, until), limit))


def _fires(timer: Timer, after: Instant, until: Instant | None) -> Iterator[Fire]:
    waits = regular_fire(timer) if timer.status is Status.ACTIVE else None
    fire = first_fire(timer, after)
    while fire is not None and (until is None or fire.nominal_at <= until):
        yield waits if waits is not None and waits.nominal_at == fire.nominal_at else fire
        fire = first_fire(timer, fire.nominal_at)


def nominals_of(trigger: Trigger, after: Instant, until: Instant | None, limit: int) -> list[Instant]:
    """Up to `limit` nominal times of `trigger` in (`after`, `until`]."""
    return list(islice(fires(trigger, after, until), limit))

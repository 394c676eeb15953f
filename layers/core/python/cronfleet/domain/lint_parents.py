"""What about a schedule's parents will surprise: some are gone, or name times at which others name none."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from cronfleet.domain import naming
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, fires
from cronfleet.domain.warning import Warning, WarningCode  # noqa: A004 - the word that callers see

LOOKED_AT: Final = 30
"""The next times of each parent that are compared with what the others name."""


def parents(trigger: AfterTrigger, timers: Mapping[str, Timer | None], now: Instant) -> Iterator[Warning]:
    """The warnings about a trigger whose parents' timers these are."""
    living = {name: timer for name in trigger.parents if (timer := timers.get(name)) is not None and _lives(timer)}
    gone = [name for name in trigger.parents if name not in living]
    if gone:
        said = ", ".join(f"{name} is {_state(timers.get(name))}" for name in gone)
        rest = "nothing will run" if len(gone) == len(trigger.parents) else "every run waits until its deadline"
        yield Warning(WarningCode.PARENT_GONE, f"Its parents do not all run: {said}; {rest}.")
    clocked = {name: timer for name, timer in living.items() if not isinstance(timer.trigger, AfterTrigger)}
    try:
        found = _apart(clocked, now)
    except UNCOMPUTABLE:
        return
    if found is not None:
        one, other, at = found
        text = f"Its parents name different times: {one} names {to_text(at)} and {other} does not"
        yield Warning(WarningCode.PARENTS_APART, f"{text}, so {other} is late there.")


def _lives(timer: Timer) -> bool:
    return timer.status in (Status.ACTIVE, Status.PAUSED)


def _state(timer: Timer | None) -> str:
    return "deleted" if timer is None or timer.status is Status.CANCELLED else timer.status.value


def _apart(timers: Mapping[str, Timer], now: Instant) -> tuple[str, str, Instant] | None:
    """The first time that one parent names and another does not."""
    apart = (
        (at, name, other)
        for name, timer in timers.items()
        for at in islice(fires(timer.trigger, now), LOOKED_AT)
        for other, its in timers.items()
        if other != name and not naming.names(its.trigger, at)
    )
    first = min(apart, default=None)
    return None if first is None else (first[1], first[2], first[0])

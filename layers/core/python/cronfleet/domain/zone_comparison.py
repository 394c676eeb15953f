"""Zone comparison: what two releases of the zone data name differently, before one replaces the other.

Only where the clocks of the two differ are fires worked out: a year in which they agree costs a few looks.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.trigger import OneShotTrigger, Trigger, fires
from cronfleet.domain.zone_stamp import moving_zone
from cronfleet.domain.zones import LOOK_BACK_SECONDS, Segment, Zone, ZoneSource

MAX_FIRES: Final = 20_000
"""Fires of one trigger and release that are compared; what is more is not looked at, and said."""

TriggerMaker = Callable[[], Trigger]
"""Reads a trigger with the zone data at work; raises `Invalid`."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One local time: when it fires by the release before and by the one after; `None`: not at all."""

    before_at: Instant | None
    after_at: Instant | None
    local: int | None
    """Wall seconds of both, where there are both."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What changes for one trigger; `problem` says why it cannot be compared."""

    timezone: str | None
    differences: tuple[Difference, ...] = ()
    is_cut: bool = False
    problem: str = ""

    @property
    def is_changed(self) -> bool:
        """Whether it fires otherwise, or can no longer be read."""
        return bool(self.differences or self.problem)


def compare(make: TriggerMaker, before: ZoneSource, after: ZoneSource, start: Instant, end: Instant) -> Compared:
    """What the trigger fires otherwise in (`start`, `end`] by `after` than by `before`."""
    with zones.working_with(before):
        old = make()
    name = moving_zone(old)
    if name is None:
        return Compared(None)
    try:
        with zones.working_with(after):
            new = make()
    except Invalid as error:
        return Compared(name, problem=f"by release {after.release} {error}")
    if isinstance(old, OneShotTrigger) and isinstance(new, OneShotTrigger):
        return Compared(name, tuple(_pairs([old.at], [new.at], before.load(name), after.load(name))))
    stretches = list(_stretches(before.load(name), after.load(name), start // SECOND, end // SECOND))
    olds, news = _named(old, before, stretches), _named(new, after, stretches)
    pairs = tuple(_pairs(olds[:MAX_FIRES], news[:MAX_FIRES], before.load(name), after.load(name)))
    return Compared(name, pairs, is_cut=max(len(olds), len(news)) > MAX_FIRES)


def changed_zones(before: ZoneSource, after: ZoneSource, start: Instant, end: Instant) -> Iterator[str]:
    """The zones that both releases have and whose clocks differ in (`start`, `end`], by name."""
    for name in sorted(before.names & after.names):
        if next(_differing(before.load(name), after.load(name), start // SECOND, end // SECOND), None) is not None:
            yield name


def _named(trigger: Trigger, source: ZoneSource, stretches: list[tuple[int, int]]) -> list[Instant]:
    found: list[Instant] = []
    with zones.working_with(source):
        for start, end in stretches:
            left = MAX_FIRES + 1 - len(found)
            found += islice(fires(trigger, start * SECOND - 1, end * SECOND), left)
    return found


def _stretches(one: Zone, other: Zone, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Where the two clocks differ, with what a change nearby may skip or repeat, joined where they touch."""
    held: tuple[int, int] | None = None
    for since, until in _differing(one, other, start, end):
        first, last = max(start + 1, since - LOOK_BACK_SECONDS), min(end, until + LOOK_BACK_SECONDS)
        if held is not None and first <= held[1] + 1:
            held = held[0], max(held[1], last)
            continue
        if held is not None:
            yield held
        held = first, last
    if held is not None:
        yield held


def _differing(one: Zone, other: Zone, start: int, end: int) -> Iterator[tuple[int, int]]:
    second = start
    while second <= end and (here := one.segment_at(second)) and (there := other.segment_at(second)):
        until = min(here.end, there.end)
        if _differ(here, there):
            yield second, min(until, end)
        second = until


def _differ(here: Segment, there: Segment) -> bool:
    # With the same offset, another change just before it: a gap or an overlap that the other does not have.
    return here.offset != there.offset or (here.start == there.start and here.reached != there.reached)


def _pairs(olds: list[Instant], news: list[Instant], one: Zone, other: Zone) -> Iterator[Difference]:
    """What is in one list only; two that show the same local time stand together."""
    kept = set(olds) & set(news)
    gone = {one.wall_at(at // SECOND): at for at in olds if at not in kept}
    come = {other.wall_at(at // SECOND): at for at in news if at not in kept}
    for local in sorted(gone.keys() | come.keys()):
        yield Difference(gone.get(local), come.get(local), local)

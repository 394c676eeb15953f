"""Effect: which fires a change of a schedule gains, loses and moves, found by comparing them one by one."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.backlog import stretches_of
from cronfleet.domain.calendared import CalendaredCron, search_of
from cronfleet.domain.claim import Fire
from cronfleet.domain.dispatch_plan import first_fire, regular_fire
from cronfleet.domain.instant import DAY, SECOND, Instant
from cronfleet.domain.left_behind import is_under_way
from cronfleet.domain.misfire import MAX_CATCH_UP
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, CronTrigger, OneShotTrigger, Trigger, latest_fires
from cronfleet.domain.zones import DAY_SECONDS

EFFECT: Final = 30 * DAY
"""How far ahead fires are compared."""

MAX_COMPARED: Final = 50_000
"""Fires of each side that are compared, more than a job of each minute has; of one with more, all up to the last of
them are, and the answer says until when.
"""


class MoveCause(StrEnum):
    """What keeps a fire the same one though its time is another."""

    JITTER = "jitter"
    """Its nominal time stays."""
    CLOCK = "clock"
    """The wall-clock time that it stands for stays: another zone, another choice for changes of the clock."""
    CALENDAR = "calendar"
    """The day that the expression names stays: the calendar takes it elsewhere."""


@dataclass(frozen=True, slots=True)
class Moved:
    """One fire, as it was and as it will be."""

    cause: MoveCause
    before: Fire
    after: Fire


@dataclass(frozen=True, slots=True)
class Effect:
    """What becomes of the fires that are due later than `since`, up to the nominal time `until`; each list by time.

    `is_cut`: `until` is earlier than was asked for, since more fires than are compared lie before that. `is_off`: the
    schedule is on neither before nor after, and what is compared is what it would fire if it were.
    """

    since: Instant
    until: Instant
    unchanged: int
    gained: tuple[Fire, ...]
    lost: tuple[Fire, ...]
    moved: tuple[Moved, ...]
    is_cut: bool
    is_off: bool

    @property
    def is_nothing(self) -> bool:
        """Whether every fire stays as it is."""
        return not (self.gained or self.lost or self.moved)


def effect_of(before: Timer | None, after: Timer, now: Instant) -> Effect:
    """What becomes of the fires after `now` when `before` (`None`: there was none) becomes `after`."""
    is_off = not _is_on(after) and (before is None or not _is_on(before))
    until = now + EFFECT
    news = _list(_to_come(after, now, is_off=is_off), until)
    olds = [] if before is None else _list(_had(before, after, now, is_off=is_off), until)
    cut_at = min([until, *(fires[MAX_COMPARED - 1].nominal_at for fires in (olds, news) if len(fires) > MAX_COMPARED)])
    old = {fire.nominal_at: fire for fire in olds if fire.nominal_at <= cut_at}
    new = {fire.nominal_at: fire for fire in news if fire.nominal_at <= cut_at}
    moved = [Moved(MoveCause.JITTER, old[at], new[at]) for at in old if at in new and old[at] != new[at]]
    unchanged = len(old.keys() & new.keys()) - len(moved)
    lost = {at: old[at] for at in old.keys() - new.keys()}
    gained = {at: new[at] for at in new.keys() - old.keys()}
    if before is not None and lost and gained:
        moved += _paired(before.trigger, after.trigger, lost, gained)
    return Effect(
        now,
        cut_at,
        unchanged,
        _by_time(gained.values()),
        _by_time(lost.values()),
        tuple(sorted(moved, key=lambda one: one.after.nominal_at)),
        is_cut=cut_at < until,
        is_off=is_off,
    )


def caught_up_count(timer: Timer) -> int:
    """How many fires of missed time wait in `timer` for their turn."""
    stretches = stretches_of(timer.backlog)
    return sum(len(latest_fires(timer.trigger, one.first_at - 1, one.last_at, MAX_CATCH_UP)) for one in stretches)


# --- the fires of one side -------------------------------------------------------------------------------------


def _is_on(timer: Timer) -> bool:
    """Whether it fires, be it from the end of its pause on."""
    is_to_resume = timer.status is Status.PAUSED and timer.pause is not None and timer.pause.until is not None
    return timer.status is Status.ACTIVE or is_to_resume


def _to_come(timer: Timer, now: Instant, *, is_off: bool) -> Iterator[Fire]:
    """What `timer` fires regularly from now on."""
    if is_off:
        yield from _named(timer, first_fire(timer, now))
    elif timer.status is Status.ACTIVE:
        yield from _named(timer, regular_fire(timer))
    elif timer.pause is not None and timer.pause.until is not None and _is_on(timer):
        yield from _named(timer, first_fire(timer, max(now, timer.pause.until)))


def _had(before: Timer, after: Timer, now: Instant, *, is_off: bool) -> Iterator[Fire]:
    """What `before` would fire without the change.

    If the change begins an epoch, that includes what is claimed ahead and not yet due: those fires will not run.
    """
    if is_off or before.status is not Status.ACTIVE or before.epoch == after.epoch:
        yield from _to_come(before, now, is_off=is_off)
        return
    since = max(now - before.jitter_seconds * SECOND, before.epoch_since)
    waits = before.nominal_at
    for fire in _named(before, first_fire(before, since)):
        is_claimed = waits is not None and fire.nominal_at < waits
        if is_under_way(fire, now) if is_claimed else fire.due_at > now:
            yield fire


def _named(timer: Timer, fire: Fire | None) -> Iterator[Fire]:
    while fire is not None:
        yield fire
        fire = first_fire(timer, fire.nominal_at)


def _until(fires: Iterator[Fire], until: Instant) -> Iterator[Fire]:
    for fire in fires:
        if fire.nominal_at > until:
            return
        yield fire


def _list(fires: Iterator[Fire], until: Instant) -> list[Fire]:
    """One more than is compared tells that there are more. What no longer computes is parked, and fires nothing."""
    found: list[Fire] = []
    with suppress(*UNCOMPUTABLE):
        found += islice(_until(fires, until), MAX_COMPARED + 1)
    return found


def _by_time(fires: Iterable[Fire]) -> tuple[Fire, ...]:
    return tuple(sorted(fires, key=lambda fire: fire.nominal_at))


# --- the same fire at another time -----------------------------------------------------------------------------


def _paired(before: Trigger, after: Trigger, lost: dict[Instant, Fire], gained: dict[Instant, Fire]) -> Iterator[Moved]:
    """Pairs of what stands for the same time; they are taken out of `lost` and `gained`."""
    yield from _pairs(MoveCause.CLOCK, _walls(before, lost), _walls(after, gained), lost, gained)
    if _only_calendars_differ(before, after):
        yield from _pairs(MoveCause.CALENDAR, _origins(before, lost), _origins(after, gained), lost, gained)


def _pairs(
    cause: MoveCause,
    olds: Iterable[tuple[int, Instant]],
    news: Iterable[tuple[int, Instant]],
    lost: dict[Instant, Fire],
    gained: dict[Instant, Fire],
) -> Iterator[Moved]:
    waiting = dict(olds)
    for mark, at in list(news):
        was = waiting.get(mark)
        if was in lost and at in gained:
            yield Moved(cause, lost.pop(was), gained.pop(at))


def _walls(trigger: Trigger, fires: Iterable[Instant]) -> list[tuple[int, Instant]]:
    """What the clock of the trigger's zone shows at each fire; nothing for a trigger that goes by no clock."""
    if not isinstance(trigger, CronTrigger | OneShotTrigger) or trigger.timezone is None:
        return []
    zone = zones.load(trigger.timezone)
    return [(zone.wall_at(at // SECOND), at) for at in fires]


def _only_calendars_differ(before: Trigger, after: Trigger) -> bool:
    if not isinstance(before, CronTrigger) or not isinstance(after, CronTrigger):
        return False
    same = (before.expression, before.timezone, before.dialect) == (after.expression, after.timezone, after.dialect)
    return same and before.calendar != after.calendar


def _origins(trigger: Trigger, fires: Iterable[Instant]) -> Iterator[tuple[int, Instant]]:
    """The wall times that the expression names by itself and the calendar takes to each fire."""
    if not isinstance(trigger, CronTrigger):
        return
    search = search_of(trigger)
    for wall, at in _walls(trigger, fires):
        day, second = divmod(wall, DAY_SECONDS)
        for origin in search.origins(day) if isinstance(search, CalendaredCron) else [day]:
            yield origin * DAY_SECONDS + second, at

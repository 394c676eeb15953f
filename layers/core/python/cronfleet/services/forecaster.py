"""The forecaster: a duty of the sweeper that reads the due index once an hour and counts what is ahead.

It reads shard by shard, each from its beginning to its end, for a limited time in each sweep; a shard that takes longer
is gone on with in the next. Nothing depends on what it finds but answers and the offsets of spread schedules.
"""

from collections.abc import Container, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.claim import DueItem, Fire
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.forecast import Counts, Lists, Tally, first_nominal
from cronfleet.domain.forecast_reading import (
    MOST_TENANTS,
    MOST_TENANTS_OF_ALL,
    Reading,
    Walk,
    next_walk,
    trimmed,
)
from cronfleet.domain.instant import LATEST, SECOND, Instant
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import JobStore
from cronfleet.services.asking import ask

ITEMS_PER_PAGE: Final = 1_000
MAX_PAGES: Final = 10_000
"""Of one shard in one sweep."""


class Forecaster:
    """Keeps the readings of all shards up, and the whole that they make together."""

    def __init__(self, *, store: JobStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._lists = Lists()

    def advance(self, until: Instant, shards: int) -> int:
        """Read on until it is `until`; how many shards were finished. Nothing but a read while no walk is due.

        Raises `NoAnswer` and `Damaged`: the next sweep goes on where the last one noted that it was.
        """
        before = ask(self._store.get_forecast_walk)
        walk = next_walk(before, self._clock.now(), shards)
        if walk is None:
            return 0
        first, self._lists = walk.shard, Lists()
        while walk.shard < walk.shards and self._clock.now() < until:
            walk = self._read(walk, until)
            if walk.cursor is not None:
                break
        if walk.shard >= walk.shards:
            self._add_up(walk)
            walk = replace(walk, finished_at=self._clock.now())
        noted = replace(walk, rev=walk.rev + 1)
        ask(lambda: self._store.put_forecast_walk(noted))  # Another sweep that was faster has read the same.
        return walk.shard - first

    def _read(self, walk: Walk, until: Instant) -> Walk:
        """Read the walk's shard on; done with, its reading is noted and the walk stands at the next."""
        if walk.counts is None:
            walk = replace(walk, shard_at=self._clock.now())
        counts, cursor = self._count(walk, until)
        if walk.counts is not None:
            counts.take_in(walk.counts)
        counts = trimmed(counts, MOST_TENANTS)
        if cursor is not None:
            return replace(walk, counts=counts, cursor=cursor)
        reading = Reading(walk.shard, walk.shard_at, self._clock.now(), counts)
        ask(lambda: self._store.put_forecast(reading))
        return walk.on_to_next()

    def _count(self, walk: Walk, until: Instant) -> tuple[Counts, str | None]:
        """What the shard holds from the walk's cursor on, and where it was left."""
        fresh = walk.new_counts()
        tally, seen, cursor = Tally(fresh.since, fresh.until, self._lists), set[str](), walk.cursor
        for _ in range(MAX_PAGES):
            page = ask(partial(self._store.due, walk.shard, LATEST, cursor, ITEMS_PER_PAGE))
            for timer in _schedules(page.items, walk, seen):
                seen.add(timer.key)
                tally.add(timer)
            cursor = page.cursor
            if cursor is None or self._clock.now() >= until:
                break
        return tally.counts(), cursor

    def _add_up(self, walk: Walk) -> None:
        """Note what all shards together hold."""
        whole, read_at = walk.new_counts(), self._clock.now()
        # Strongly: the last shard's was written a moment ago.
        for one in ask(lambda: self._store.list_forecasts(consistent=True)):
            if one.shard is not None and one.shard < walk.shards and one.counts.since == whole.since:
                whole.take_in(one.counts)
        reading = Reading(None, walk.started_at, read_at, trimmed(whole, MOST_TENANTS_OF_ALL))
        ask(lambda: self._store.put_forecast(reading))


def _schedules(items: Sequence[DueItem], walk: Walk, seen: Container[str]) -> list[Timer]:
    """The schedules among `items`, each once in the reading of a shard.

    One that fires while the shard is read stands further on in the index afterwards, and comes by a second time.
    """
    timers = [item for item in items if isinstance(item, Timer)]
    return [one for one in timers if one.key not in seen and not (walk.cursor and _has_fired(one, walk.shard_at))]


def _has_fired(timer: Timer, since: Instant) -> bool:
    """Whether `timer` waited for another fire at `since`: then it was counted in an earlier sweep."""
    first = first_nominal(timer)
    if first is None or timer.status is not Status.ACTIVE:
        return False  # A pause stands in the index at its end, and has not come by.
    try:
        waited = _waited_for(timer, since)
    except UNCOMPUTABLE:
        return False
    return waited is not None and waited.nominal_at < first


def _waited_for(timer: Timer, since: Instant) -> Fire | None:
    """The first fire of `timer` that is due after `since`: only its newest nominal till then can still be ahead."""
    begins = max(since - timer.jitter_seconds * SECOND, timer.start_at or 0)
    newest = latest_fires(timer.trigger, begins - 1, timer.capped(since), 1)
    fire = first_fire(timer, newest[0] - 1) if newest else None
    return first_fire(timer, since) if fire is None or fire.due_at <= since else fire

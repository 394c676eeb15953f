"""The self-watch: the installation's own incidents but for stopped shards, opened and ended with each sweep.

Of lag it reads what is overdue in each shard's due index; of the queues' age it takes what the sweep has read anyway.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from cronfleet.domain.incident import PLATFORM, Broken, IncidentKind, named
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.self_watch import (
    DEAD_LETTERS_QUIET,
    LAG_HEALS,
    QUEUE_AGE_HEALS,
    SCHEDULER,
    SWEEPS,
    State,
    Waiting,
    lag_broken,
    lag_state,
    queue_broken,
    queue_state,
    waits_for_claim,
)
from cronfleet.domain.watch import Watch
from cronfleet.ports.alerts import PutAlert
from cronfleet.ports.job_store import JobStore, Refused
from cronfleet.services.asking import ask
from cronfleet.services.incidents import Incidents

OVERDUE_PAGE: Final = 25
"""What is read of the head of a shard's due index, of what is overdue: most often nothing."""

MAX_KINDS: Final = 20
"""Standings of the scheduler that are read at once; there is one for each kind."""


class SelfWatch:
    """Opens and ends the incidents of the scheduler itself. Holds nothing between sweeps."""

    def __init__(self, *, store: JobStore, incidents: Incidents) -> None:
        self._store = store
        self._incidents = incidents

    def overdue(self, shard: int, now: Instant) -> Sequence[Waiting]:
        """What waits in `shard` for longer than it should to be claimed. Raises `NoAnswer`."""
        page = ask(lambda: self._store.due(shard, now - LAG_HEALS - 1, None, OVERDUE_PAGE))
        return [one for item in page.items if (one := waits_for_claim(item, shard)) is not None]

    def judge(
        self,
        overdue: Sequence[Waiting],
        unstarted: Sequence[Waiting],
        now: Instant,
        *,
        is_all_claims: bool,
        is_all: bool,
    ) -> None:
        """Tell what the sweep that began at `now` has found.

        What was found broken is told however much of the sweep was done; whole is what was looked at everywhere:
        `is_all_claims` says so of `overdue`, `is_all` of `unstarted`. Raises `NoAnswer`.
        """
        open_kinds = self._open_kinds()
        state = lag_state(overdue, now)
        if state is State.BROKEN:
            self._tell(IncidentKind.LAG, lag_broken(overdue), open_kinds)
        elif state is State.WHOLE and is_all_claims and IncidentKind.LAG in open_kinds:
            self._heal(IncidentKind.LAG, f"fires are claimed in time again, seen at {to_text(now)}")
        state = queue_state(unstarted, now)
        if state is State.BROKEN:
            aged = [one for one in unstarted if now - one.since_at > QUEUE_AGE_HEALS]
            self._tell(IncidentKind.QUEUE_AGE, queue_broken(aged), open_kinds)
        elif state is State.WHOLE and is_all and IncidentKind.QUEUE_AGE in open_kinds:
            self._heal(IncidentKind.QUEUE_AGE, f"workers start claimed fires in time again, seen at {to_text(now)}")
        if IncidentKind.DEAD_LETTERS in open_kinds:
            self._end_dead_letters(now)

    def beat(self, now: Instant) -> None:
        """Note that a whole sweep, begun at `now`, is done: one write. Raises `NoAnswer`."""
        known = ask(lambda: self._store.get_watch(PLATFORM, SWEEPS)) or Watch(PLATFORM, SWEEPS, now, now)
        try:
            ask(lambda: self._store.commit([PutAlert(known.judged(now))]))
        except Refused:
            return  # Another sweep, side by side with this one, noted it.

    def _open_kinds(self) -> frozenset[IncidentKind]:
        page = ask(lambda: self._store.list_standings(PLATFORM, subject=SCHEDULER, cursor=None, limit=MAX_KINDS))
        return frozenset(standing.kind for standing in page.items)

    def _tell(self, kind: IncidentKind, broken: Broken, open_kinds: frozenset[IncidentKind]) -> None:
        if kind not in open_kinds:
            self._incidents.open(PLATFORM, SCHEDULER, kind, broken)
        else:
            self._incidents.widen(PLATFORM, SCHEDULER, kind, partial(wider, names=frozenset(broken.schedules)))

    def _heal(self, kind: IncidentKind, text: str) -> None:
        self._incidents.heal(PLATFORM, SCHEDULER, kind, text)

    def _end_dead_letters(self, now: Instant) -> None:
        found = self._incidents.find_open(PLATFORM, SCHEDULER, IncidentKind.DEAD_LETTERS)
        if found is None:
            return
        last_at = int(found.broken.detail.get("last_at", found.opened_at))
        if now - last_at > DEAD_LETTERS_QUIET:
            self._heal(IncidentKind.DEAD_LETTERS, f"no message came to a dead-letter queue since {to_text(last_at)}")


def wider(broken: Broken, names: frozenset[str]) -> Broken:
    """With these schedules as well; past as many as are named the count is the least that it can be."""
    shown, count = named({*broken.schedules, *names})
    return replace(broken, schedules=shown, count=max(count, broken.count))

"""Dependants: what a run is to the schedules that run after its own.

When it begins, each of them gets a row that waits, with a timer for its deadline; when it ends, that is written into
those rows, in the same transaction. A schedule that nobody runs after pays nothing for it: its timer says so.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import Instant
from cronfleet.domain.join import arrived, flows, follows, key_after, opened, timer_of
from cronfleet.domain.run import Outcome, Run
from cronfleet.domain.schedule import Timer
from cronfleet.ports.job_store import InsertRun, InsertRunTimer, JobStore, Refused, ReplaceRun, Write
from cronfleet.services.asking import ask

MAX_OPENING_ROUNDS: Final = 5
"""How often a row is put anew because another parent was putting it."""


class Opening:
    """Puts the rows that wait, when a parent begins: from then on their deadlines hold, whatever becomes of it."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def open(self, run: Run, timer: Timer, now: Instant) -> None:
        """See that each dependant of `timer` has a row for what `run` names. Raises `NoAnswer` and `Contended`.

        Of a first attempt, or one that takes over from one that may have died before it got here.
        """
        if not timer.feeds or not flows(run) or not _is_first(run):
            return
        for dependant in following(self._store, run):
            self._open(run, dependant, now)

    def _open(self, run: Run, dependant: Timer, now: Instant) -> None:
        for _ in range(MAX_OPENING_ROUNDS):
            if ask(partial(self._store.get_run, key_after(dependant, run))) is not None:
                return
            row = opened(dependant, run, now)
            try:
                ask(partial(self._store.commit, [InsertRun(row), InsertRunTimer(timer_of(row, dependant))]))
            except Refused:
                continue
            return
        raise Contended(f"the row that waits for {run.key.run_id} was being put by others")


def _is_first(run: Run) -> bool:
    return run.attempt == 1 or run.attempts[-2].outcome is Outcome.LOST


def following(store: JobStore, run: Run) -> Iterator[Timer]:
    """The dependants that have a fire which `run` names, each as it stands now."""
    for name in ask(lambda: store.get_dependants(run.key.tenant, run.key.schedule_id)).names:
        dependant = ask(partial(store.get_timer, run.key.tenant, name))
        if dependant is not None and follows(dependant, run):
            yield dependant


class Dependants:
    """What follows for them from the end of a run."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def writes_for(self, _before: Run | None, after: Run, timer: Timer | None) -> Sequence[Write]:
        """As `Follower.writes_for`."""
        if timer is None or not timer.feeds or not after.is_terminal or not flows(after):
            return ()
        ended_at = after.finished_at or after.due_at
        return [write for one in following(self._store, after) for write in self._arrival(after, one, ended_at)]

    def _arrival(self, parent: Run, dependant: Timer, now: Instant) -> Iterator[Write]:
        row = self._store.get_run(key_after(dependant, parent))
        if row is None:
            # It ended before it began: it was cancelled, or refused.
            yield from self._late_opening(parent, dependant, now)
            return
        after = arrived(row, dependant, parent, now)
        if after is None:
            return  # Its turn has come already: what it made of the parents is decided.
        yield ReplaceRun(after)
        if after.due_at != row.due_at:
            yield InsertRunTimer(timer_of(after, dependant), replaces=True)

    def _late_opening(self, parent: Run, dependant: Timer, now: Instant) -> Iterator[Write]:
        row = opened(dependant, parent, now)
        after = arrived(row, dependant, parent, now)
        if after is not None:
            yield InsertRun(after)
            yield InsertRunTimer(timer_of(after, dependant))

"""Endings: what else is written, in the same transaction, when a row of the ledger becomes terminal.

Rows end in the worker, by a caller's cancellation, and with the sweeper. Whatever follows from an end (a dependant that
waited for it, say) hooks in here, so that it is written wherever the row ends, and whoever dies. An ordinary schedule
has nothing that follows: no read, no write, no request more.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, Protocol, TypeAlias

from cronfleet.domain.errors import Contended
from cronfleet.domain.run import Run
from cronfleet.domain.schedule import Timer
from cronfleet.ports.job_store import InsertRun, JobStore, Refused, ReplaceRun, Write
from cronfleet.ports.own_writes import proves_commit
from cronfleet.services.ancestry import SettlingAncestors
from cronfleet.services.asking import ask
from cronfleet.services.dependants import Dependants
from cronfleet.services.gates import LettingGo
from cronfleet.services.schedule_breakers import ScheduleBreakers
from cronfleet.services.telling import Telling

MAX_ENDING_ROUNDS: Final = 20
"""How often an end is written anew because what follows from it changed meanwhile."""

Commit: TypeAlias = Callable[[Sequence[Write]], None]
"""Commits a transaction as its caller asks: how often, and until when."""


class Follower(Protocol):
    """One thing that follows from the end of a run."""

    def writes_for(self, before: Run | None, after: Run, timer: Timer | None) -> Sequence[Write]:
        """As `Endings.writes_for`, of this thing alone."""
        ...


class Endings:
    """All that follows from the end of a run."""

    def __init__(self, store: JobStore, telling: Telling | None = None) -> None:
        self._store = store
        self._telling = telling
        self._followers: Sequence[Follower] = (
            LettingGo(store),
            Dependants(store),
            SettlingAncestors(store),
            ScheduleBreakers(store),
        )

    def writes_for(self, before: Run | None, after: Run, timer: Timer | None) -> list[Write]:
        """The writes that belong into the transaction that makes `before` (`None`: no row) the terminal `after`.

        `timer` is the schedule's, read after the run began. Empty, and without a read, for an ordinary schedule.
        Reads: raises `NoAnswer`.
        """
        return list(chain.from_iterable(one.writes_for(before, after, timer) for one in self._followers))

    def tell(self, writes: Sequence[Write]) -> None:
        """Tell what was committed, where its tenant asked for that."""
        if self._telling is not None:
            self._telling.committed(writes)

    def write(self, before: Run | None, after: Run, timer: Timer | None, commit: Commit | None = None) -> None:
        """Write the end `after` with all that follows from it, deciding again when that has changed meanwhile.

        Raises `Refused` with position 0 when the row itself is not as `before` says, `NoAnswer`, and `Contended`.
        """
        row = InsertRun(after) if before is None else ReplaceRun(after)
        for _ in range(MAX_ENDING_ROUNDS):
            writes = [row, *ask(lambda: self.writes_for(before, after, timer))]
            try:
                if commit is None:
                    ask(lambda: self._store.commit(writes))  # noqa: B023 - called at once, within the round
                else:
                    commit(writes)
            except Refused as refused:
                if refused.position == 0:
                    if proves_commit(row, refused.stored):
                        self.tell(writes)
                    raise
                continue
            self.tell(writes)
            return
        raise Contended(f"what follows from the end of {after.key.run_id} changed {MAX_ENDING_ROUNDS} times")

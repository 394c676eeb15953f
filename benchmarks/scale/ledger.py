"""Whether each fire that had to come was claimed and started, and each once: by counting in arrays, not by sampling."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.population import TIERS, Population, name_of, number_of
from benchmarks.scale.sent import Sent
from cronfleet.domain.attempt import Drop, Result, Start, decide_finish, decide_start
from cronfleet.domain.instant import SECOND
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Outcome, Run, RunKey, RunMessage, RunStatus

_RETRY: Final = Retry()


@dataclass(frozen=True, slots=True)
class Ledger:
    """What came of the fires that had to come."""

    expected: int
    succeeded: int
    copies: int
    """Messages beyond the first of a fire, whose start was refused."""
    missed: int
    """Fires that came too late for their misfire policy, and have an entry of the ledger that says so."""
    lost: NDArray[np.int64]
    """Neither run nor missed, as `number << 32 | second`."""
    invented: NDArray[np.int64]
    first: NDArray[np.bool_]
    """Of each message, in the order of `Sent`, whether it started its run."""

    @property
    def doubled(self) -> int:
        """Runs beyond the first of a fire."""
        return self.succeeded - (self.expected - self.missed - len(self.lost) + len(self.invented))

    @property
    def is_exact(self) -> bool:
        """Whether each that had to come ran once, or was missed and says so, and nothing else."""
        return not len(self.lost) and not len(self.invented) and self.succeeded + self.missed == self.expected


def closed(
    population: Population,
    expected: NDArray[np.int64],
    sent: Sent,
    started_ms: NDArray[np.int64],
    rows: Iterable[Run] = (),
) -> Ledger:
    """Every start and end, by the worker's own decisions, against what was `expected`; `rows` the dispatcher wrote.

    A claim that comes very late takes a nominal more, past the minutes that are watched: that is left out.
    """
    keys = np.asarray(sent.number).astype(np.int64) << 32 | np.asarray(sent.nominal)
    order = np.lexsort((started_ms, keys))
    order = order[np.asarray(sent.nominal)[order] < 60 * population.minutes]
    own = keys[order]
    is_first = np.concatenate([[True], own[1:] != own[:-1]]) if len(own) else np.zeros(0, dtype=bool)
    first = np.zeros(len(keys), dtype=bool)
    first[order] = is_first
    unique = own[is_first]
    succeeded = copies = 0
    row: Run | None = None
    for place, fresh in zip(order.tolist(), is_first.tolist(), strict=True):
        row, was_started = _handled(None if fresh else row, population, sent, place, int(started_ms[place]))
        succeeded += was_started and row is not None and row.status is RunStatus.SUCCEEDED
        copies += not was_started
    lost = np.setdiff1d(expected, unique, assume_unique=True)
    invented = np.setdiff1d(unique, expected, assume_unique=True)
    is_missed = _missed(population, lost, rows)
    return Ledger(len(expected), succeeded, copies, int(is_missed.sum()), lost[~is_missed], invented, first)


def _missed(population: Population, absent: NDArray[np.int64], rows: Iterable[Run]) -> NDArray[np.bool_]:
    """Which of the fires that did not run an entry stands for that says they were missed."""
    found = np.zeros(len(absent), dtype=bool)
    for row in rows:
        if row.status is RunStatus.MISSED:
            own = number_of(row.key.schedule_id) << 32
            ends = [own + (at - population.begins_at) // SECOND for at in (row.key.nominal_at, row.last_nominal_at)]
            found[np.searchsorted(absent, ends[0]) : np.searchsorted(absent, ends[1], side="right")] = True
    return found


def _handled(
    row: Run | None, population: Population, sent: Sent, place: int, started_ms: int
) -> tuple[Run | None, bool]:
    """The row after one message: what the worker decides at its start and its end."""
    begin, number = population.begins_at, sent.number[place]
    message = RunMessage(
        RunKey(
            population.tenants[population.tenant[number]].tenant_id, name_of(number), 1, _at(begin, sent.nominal[place])
        ),
        TIERS[sent.tier[place]],
        attempt=1,
        due_at=_at(begin, sent.due[place]),
        claimed_at=begin + sent.sent_ms[place],
        batch="0.1.1",
        version=1,
        timeout_seconds=60,
    )
    decided = decide_start(row, message, f"{place}", begin + started_ms)
    if isinstance(decided, Start):
        # It is never early: the lag that the row says is what the report counts.
        assert decided.run.lag_ms == begin + started_ms - message.due_at >= 0
        return decide_finish(decided.run, Result(Outcome.SUCCEEDED), _RETRY, begin + started_ms), True
    assert isinstance(decided, Drop)
    return row, False


def _at(begin: int, second: int) -> int:
    return begin + second * SECOND


def named(population: Population, keys: NDArray[np.int64]) -> Iterator[str]:
    """Fires in words."""
    for key in keys.tolist():
        yield f"{name_of(key >> 32)} at second {key & 0xFFFFFFFF} (trigger {population.trigger_of(key >> 32)})"

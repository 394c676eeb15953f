"""Breakers of targets at the worker: a dead target costs a bounded number of attempts, and its neighbours nothing.

An attempt whose target nothing is said of on the noticeboard reads and writes nothing, and neither does its success.
What cannot be read or written here is left: a breaker saves work, and no promise rests on it.
"""

from functools import partial
from typing import Final

from cronfleet.domain.attempt import End, Result, Wait
from cronfleet.domain.breaker import (
    LONGEST_WAIT,
    Breaker,
    Guarded,
    asked,
    comes_back_at,
    failed,
    given_up,
    guarded,
    held_since,
    is_news,
    known,
    leaves_alone,
    succeeded,
)
from cronfleet.domain.errors import Conflict
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.noticeboard import Topic, posted, sheet_of
from cronfleet.domain.run import Outcome, Run, RunStatus
from cronfleet.domain.schedule import Definition
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.clock import Clock, Ids
from cronfleet.ports.job_store import Damaged, JobStore, NoAnswer, Refused, Write
from cronfleet.ports.noticeboard import PutSheet
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask
from cronfleet.services.noticeboard import Noticeboard

MAX_ROUNDS: Final = 4
"""How often a breaker is written anew because others wrote it meanwhile; then this one attempt is not counted."""

COUNTED: Final = frozenset({Outcome.FAILED, Outcome.TIMED_OUT})
"""Outcomes that speak against a target."""


class TargetBreakers:
    """What the worker does about the breakers of its targets."""

    def __init__(self, *, store: JobStore, board: Noticeboard, clock: Clock, ids: Ids, telemetry: Telemetry) -> None:
        self._store = store
        self._board = board
        self._clock = clock
        self._ids = ids
        self._telemetry = telemetry

    def bars(self, run: Run, definition: Definition, now: Instant) -> Wait | End | None:
        """Whether the noticeboard says that the target is to be left alone: no read, no write."""
        if not definition.spec.policies.target_breaker:
            return None
        one = guarded(run.key.tenant, definition.spec.target)
        notice = self._board.breaker(one.notice)
        return self._waits(run, one, notice.at, now) if notice is not None and now < notice.at else None

    def asks(self, run: Run, definition: Definition, now: Instant) -> Wait | End | None:
        """Whether the attempt, which has all else that it needs, may call its target: as the probe, perhaps."""
        if not definition.spec.policies.target_breaker:
            return None
        one = guarded(run.key.tenant, definition.spec.target)
        notice = self._board.breaker(one.notice)
        if notice is None or not notice.at:
            return None
        try:
            until = self._asked(one, _name(run), now)
        except (NoAnswer, Damaged) as error:
            self._telemetry.event("breaker_unanswered", breaker=one.breaker_id, error=str(error))
            return None
        return None if until is None else self._waits(run, one, until, now)

    def _asked(self, one: Guarded, attempt: str, now: Instant) -> Instant | None:
        for _ in range(MAX_ROUNDS):
            stored = ask(partial(self._store.get_breaker, one))
            answer = asked(known(stored, now), attempt, now)
            if answer.breaker == stored or self._is_put(stored, answer.breaker, now):
                return answer.until
        return now + SECOND

    def _waits(self, run: Run, one: Guarded, until: Instant, now: Instant) -> Wait | End:
        held_at = held_since(run, now)
        if now - held_at >= LONGEST_WAIT:
            return End(RunStatus.DEAD, given_up(one, held_at))
        return Wait(comes_back_at(run.key.run_id, until), leaves_alone(one, held_at))

    def hears(self, run: Run, definition: Definition, result: Result, now: Instant) -> None:
        """Count what an attempt came to. A success is told only of a target that the noticeboard names."""
        if not definition.spec.policies.target_breaker:
            return
        one, attempt = guarded(run.key.tenant, definition.spec.target), _name(run)
        try:
            if result.outcome in COUNTED:
                self._count(one, attempt, result.error or result.outcome.value, now)
            elif result.outcome is Outcome.SUCCEEDED and self._board.breaker(one.notice) is not None:
                self._count(one, attempt, None, now)
        except (NoAnswer, Damaged) as error:
            self._telemetry.event("breaker_unanswered", breaker=one.breaker_id, error=str(error))

    def _count(self, one: Guarded, attempt: str, error: str | None, now: Instant) -> None:
        for _ in range(MAX_ROUNDS):
            stored = ask(partial(self._store.get_breaker, one))
            before = known(stored, now)
            after = succeeded(before, attempt, now) if error is None else failed(before, attempt, error, now)
            if after == stored or self._is_put(stored, after, now):
                return
        self._telemetry.count("breaker_counts_lost")

    def _is_put(self, before: Breaker, after: Breaker, now: Instant) -> bool:
        """Write the breaker, and what the noticeboard says of it; False when others wrote meanwhile."""
        put = written(before, after, self._ids.unique())
        if not is_news(before, after):
            return ask(partial(self._store.put_breaker, put.breaker))
        try:
            writes = [put, on_board(self._store, put.breaker, now)]
            ask(lambda: self._store.commit(writes))
        except Refused:
            return False
        except Conflict:
            # The board is full: this target is called as before, and the others are left alone.
            self._telemetry.alarm("noticeboard_full", breaker=after.guarded.breaker_id)
            return True
        self._telemetry.count("breakers_changed", state=after.state.value)
        self._telemetry.event("breaker_changed", breaker=after.guarded.breaker_id, state=after.state.value)
        self._board.look_again()
        return True


def written(before: Breaker, after: Breaker, change_id: str) -> PutBreaker:
    """The write that puts `after` in the place of `before`."""
    return PutBreaker(after.changed(before.rev, change_id))


def on_board(store: JobStore, breaker: Breaker, now: Instant) -> Write:
    """The write of what the noticeboard says of a breaker. Reads: raises `NoAnswer`, and `Conflict` when it is full."""
    name = breaker.guarded.notice
    sheet = ask(lambda: store.get_sheet(Topic.BREAKERS, sheet_of(name)))
    return PutSheet(posted(sheet, name, breaker.notice, now=now, change_id=breaker.change_id))


def _name(run: Run) -> str:
    return f"{run.key.run_id}#{run.attempt}"

"""Gates at the worker: of a schedule whose runs must not overlap, or of a group of them, one goes on at a time.

Where what comes too late is skipped, a gate is one blind write in and one out. Where runs wait for each other, the gate
is read and written on the condition that it is as it was read; whoever lets go wakes the first that waits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from cronfleet.domain.attempt import End, Wait
from cronfleet.domain.claim import RunTimer
from cronfleet.domain.errors import Contended
from cronfleet.domain.gate import (
    SHORT_WAIT,
    Enter,
    Gate,
    Skip,
    decide_entry,
    gate_of,
    is_plain,
    left,
    still_waits,
)
from cronfleet.domain.instant import SECOND, Instant, ceil_second, floor_second
from cronfleet.domain.overlap import in_the_way, waits_for
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.ports.gates import MoveRunTimer, PutGate
from cronfleet.ports.job_store import JobStore, NoAnswer, Write
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

MAX_GATE_ROUNDS: Final = 5
"""How often the gate is asked for, when others changed it meanwhile, or its holder turned out to be finished."""


@dataclass(frozen=True, slots=True)
class Turn:
    """The run waits: once its row says so, it gets its place in `gate`, which was read as `before`."""

    wait: Wait
    gate: Gate
    before: Gate
    cancels: tuple[str, ...] = ()


class Gates:
    """What the worker does about the gates of its runs. `cancel` is for those that enter: it cancels a run for a newer.

    Whoever only lets go needs none.
    """

    def __init__(
        self, store: JobStore, telemetry: Telemetry, cancel: Callable[[str, Run], None] = lambda _run_id, _newer: None
    ) -> None:
        self._store = store
        self._telemetry = telemetry
        self._cancel = cancel

    def enter(self, run: Run, timer: Timer, now: Instant) -> End | Turn | None:
        """Whether a started run may go on: `None` when it holds its gate, or needs none. Raises `NoAnswer`."""
        if is_plain(timer):
            holder = self._other_holder(run)
            return None if holder is None else End(RunStatus.SKIPPED, in_the_way(holder))
        name = gate_of(timer)
        if name is None:
            return None
        gate = Gate(name)
        for _ in range(MAX_GATE_ROUNDS):
            gate = ask(partial(self._store.get_gate, name))
            entry = decide_entry(gate, run, timer.overlap, self._rows(gate, run), now)
            if isinstance(entry, Skip):
                return End(RunStatus.SKIPPED, entry.reason)
            if not isinstance(entry, Enter):
                wait = Wait(entry.until, entry.reason, may_come_at=floor_second(now) + SECOND)
                return Turn(wait, entry.gate, gate, entry.cancels)
            if ask(partial(self._store.put_gate, entry.gate, gate)):
                return None
        # Many came at once. It is no use to ask on: one of them has got in.
        return Turn(Wait(ceil_second(now + SHORT_WAIT), waits_for(gate.holder)), gate, gate)

    def _rows(self, gate: Gate, run: Run) -> dict[str, Run]:
        others = [run_id for run_id in gate.run_ids if run_id != run.key.run_id]
        rows = {run_id: ask(partial(self._store.get_run, RunKey.parse(run_id))) for run_id in others}
        return {run_id: row for run_id, row in rows.items() if row is not None}

    def queue(self, waiting: Run, turn: Turn, attempt: int, now: Instant) -> None:
        """Give a run, whose row says that it waits for `attempt`, its place; cancel what is to be cancelled for it."""
        key = waiting.key
        has_place = turn.gate == turn.before or ask(partial(self._store.put_gate, turn.gate, turn.before))
        if not has_place:
            # The gate has moved on, and nobody who let go has seen this run wait: it looks again at once.
            ask(partial(self._store.wake_run, key, attempt, max(ceil_second(now), waiting.retry_at or 0)))
            return
        self._telemetry.count("runs_queued_at_gates")
        for run_id in turn.cancels:
            self._cancel(run_id, waiting)

    def _other_holder(self, run: Run) -> str | None:
        """Who is in the way of a run that must not overlap and waits for nobody; `None` when it holds the gate."""
        key, began_at = run.key, run.attempts[-1].started_at
        instead_of: str | None = None
        for _ in range(MAX_GATE_ROUNDS):
            take = partial(self._store.take_gate, key.tenant, key.schedule_id, key.run_id, began_at, instead_of)
            holder = ask(take)
            if holder is None or not self._was_over(holder, began_at):
                return holder
            instead_of = holder
        raise Contended(
            f"{key.run_id} found the gate of its schedule with another finished run {MAX_GATE_ROUNDS} times"
        )

    def _was_over(self, run_id: str, at: Instant) -> bool:
        """Whether the gate's holder had ended by then and its release was lost; its row was there before it took it.

        One that ended a moment later was still going, and the history would show the two side by side.
        """
        row = ask(lambda: self._store.get_run(RunKey.parse(run_id)))
        return row is None or (row.finished_at is not None and row.finished_at <= at)

    def release(self, run: Run, timer: Timer | None) -> None:
        """Free the plain gate of a run that may hold it and is over; others are let go of with the end itself."""
        ended_at = run.finished_at
        if ended_at is None or timer is None or not is_plain(timer):
            return
        try:
            ask(lambda: self._store.release_gate(run.key.tenant, run.key.schedule_id, run.key.run_id, ended_at))
        except NoAnswer:
            # Harmless: the next run finds that the gate's holder is finished, and takes its place.
            self._telemetry.count("gates_left")

    def give_way(self, run: Run, timer: Timer, now: Instant, ended_at: Instant | None = None) -> None:
        """Leave the line: the run waits for something else now, and who comes after it must not wait for that too.

        With `ended_at` it had got in already, and leaves the gate as well, which is free from then on.
        """
        name = gate_of(timer)
        if name is None or (is_plain(timer) and ended_at is None):
            return
        try:
            if is_plain(timer) and ended_at is not None:
                ask(partial(self._store.release_gate, name.tenant, name.schedule_id, run.key.run_id, ended_at))
                return
            for _ in range(MAX_GATE_ROUNDS):
                before = ask(partial(self._store.get_gate, name))
                step = let_go(self._store, before, run.key.run_id, ended_at, now)
                if step.gate == before or ask(partial(self._store.put_gate, step.gate, before)):
                    if step.woken is not None:
                        ask(partial(self._store.wake_run, step.woken.key, step.woken.attempt, step.woken.due_at))
                    return
        except NoAnswer:
            pass  # Whoever is next looks again by itself.
        self._telemetry.count("gates_left")


@dataclass(frozen=True, slots=True)
class Step:
    """What a gate becomes, and the timer of the run whose turn it is then, due at once."""

    gate: Gate
    woken: RunTimer | None = None
    was: RunTimer | None = None
    """The timer as it was read."""


def let_go(store: JobStore, gate: Gate, run_id: str, ended_at: Instant | None, now: Instant) -> Step:
    """The gate without the run, which leaves the line, and is not in the way from `ended_at` on.

    Reads: raises `NoAnswer`.
    """
    after = left(gate, run_id, ended_at)
    if after == gate or after.is_held:
        return Step(after)
    for number, place in enumerate(after.line):
        row = store.get_run(RunKey.parse(place.run_id))
        if row is None or not still_waits(place, row):
            continue
        timer = store.get_run_timer(row.key, place.attempt)
        trimmed = replace(after, line=after.line[number:])
        if timer is None:
            return Step(trimmed)  # It is on its way.
        # Never before the row says that it may come: another process's clock may be ahead of this one's.
        due_at = max(ceil_second(now), row.retry_at or 0)
        return Step(trimmed, replace(timer, due_at=min(due_at, timer.due_at)), timer)
    return Step(replace(after, line=()))


class LettingGo:
    """Of the end of a run: it lets go of its gate, and the next of the line is woken, in one transaction."""

    def __init__(self, store: JobStore) -> None:
        self._store = store

    def writes_for(self, before: Run | None, after: Run, timer: Timer | None) -> Sequence[Write]:  # noqa: ARG002 - as the others
        """Nothing, and no read, where nobody waits at the gate. Raises `NoAnswer`."""
        name = None if timer is None or is_plain(timer) else gate_of(timer)
        if name is None:
            return []
        gate = self._store.get_gate(name)
        step = let_go(self._store, gate, after.key.run_id, after.finished_at, after.finished_at or 0)
        if step.gate == gate:
            return []
        moved = [] if step.woken is None or step.was is None else [MoveRunTimer(step.woken, step.was)]
        return [PutGate(step.gate, gate), *moved]

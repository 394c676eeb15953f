"""Gates at the worker: of a schedule whose runs must not overlap, one goes on at a time."""

from functools import partial
from typing import Final

from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import Instant
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.run import Run, RunKey
from cronfleet.domain.schedule import Timer
from cronfleet.ports.job_store import JobStore, NoAnswer
from cronfleet.ports.telemetry import Telemetry
from cronfleet.services.asking import ask

MAX_GATE_ROUNDS: Final = 5
"""How often the gate is asked for, when the run that held it turned out to be finished."""


class Gates:
    """What the worker does about the gates of its runs."""

    def __init__(self, store: JobStore, telemetry: Telemetry) -> None:
        self._store = store
        self._telemetry = telemetry

    def other_holder(self, run: Run, timer: Timer) -> str | None:
        """Who is in the way of a run that must not overlap; `None` when it holds the gate, or needs none."""
        if timer.overlap is not Overlap.SKIP:
            return None
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
        """Free the gate of a run that may hold it and is over."""
        ended_at = run.finished_at
        if ended_at is None or timer is None or timer.overlap is not Overlap.SKIP:
            return
        try:
            ask(lambda: self._store.release_gate(run.key.tenant, run.key.schedule_id, run.key.run_id, ended_at))
        except NoAnswer:
            # Harmless: the next run finds that the gate's holder is finished, and takes its place.
            self._telemetry.count("gates_left")

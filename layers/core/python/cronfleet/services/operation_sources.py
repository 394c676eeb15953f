"""Sources: what an operation comes to, one candidate after another, by its kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol

from cronfleet.domain.claim import RunTimer, first_attempt
from cronfleet.domain.instant import Instant, floor_second
from cronfleet.domain.operation import Candidate, Operation
from cronfleet.domain.reason import Reason
from cronfleet.domain.rerun import Version
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.ports.job_store import JobStore, ScheduleKey
from cronfleet.services.asking import ask

MAX_NAMED: Final = 200
"""Candidates that one step looks at: what is passed over makes no run, and is written down with the step."""


@dataclass(frozen=True, slots=True)
class Named:
    """A candidate before it is decided about; `position` is the cursor behind it, `ancestor` what it would repeat."""

    position: str
    key: RunKey
    ancestor: Run | None = None


@dataclass(frozen=True, slots=True)
class Names:
    """Some candidates in their order; `is_last`: there are no more. `position` is how far was looked."""

    items: Sequence[Named]
    is_last: bool
    position: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """Candidates that are decided about; `is_last`: there are no more. `position` is how far was looked."""

    candidates: Sequence[Candidate]
    is_last: bool
    position: str


class Source(Protocol):
    """What an operation of one kind goes through. Reads raise `NoAnswer`."""

    def names(self, operation: Operation, cursor: str, limit: int) -> Names:
        """The next candidates after `cursor`, `limit` at most; the same whatever has become of them."""
        ...

    def draw(self, operation: Operation, runs: int, now: Instant) -> Drawn:
        """The next candidates after the operation's cursor, as runs or passed over; no more than `runs` runs."""
        ...

    def is_position(self, operation: Operation, text: str) -> bool:
        """Whether `text`, which comes back from a caller, is a position of this operation's."""
        ...

    def has_passed(self, operation: Operation, named: Named) -> bool:
        """Whether the operation has come by this candidate."""
        ...

    def reason_to_stop(self, operation: Operation) -> Reason | None:
        """Why the operation stops by itself, if it does."""
        ...


class Making:
    """Makes candidates into runs, under what their schedules say now. For one step of an operation."""

    def __init__(self, store: JobStore, operation: Operation, now: Instant) -> None:
        self._store = store
        self._operation = operation
        self._now = now
        self._timers: dict[ScheduleKey, Timer] = {}
        self._definitions: dict[tuple[str, int], Definition | None] = {}

    def know(self, schedule_ids: Sequence[str]) -> None:
        """Read the timers of these schedules together."""
        keys = [(self._operation.tenant, one) for one in dict.fromkeys(schedule_ids)]
        unknown = [key for key in keys if key not in self._timers]
        found = ask(partial(self._store.get_timers, unknown)) if unknown else {}
        self._timers |= {key: timer for key, timer in found.items() if isinstance(timer, Timer)}

    def timer_of(self, schedule_id: str) -> Timer | None:
        """The timer of a schedule that is there; `None` for one that is deleted, or cannot be read."""
        timer = self._timers.get((self._operation.tenant, schedule_id))
        return None if timer is None or timer.status is Status.CANCELLED else timer

    def passed_over(self, named: Named) -> Candidate:
        """The candidate, of which no run is made."""
        return Candidate(named.position)

    def run(self, named: Named, *, version: int | None, payload: Sequence[Any] = ()) -> Candidate:
        """The candidate as a run that is due now; with a `version`, pinned to it. `payload` holds one, or is empty.

        Passed over where its schedule, the life that it belongs to, or the version is gone.
        """
        timer = self.timer_of(named.key.schedule_id)
        if timer is None or named.key.epoch < timer.born_epoch:
            return self.passed_over(named)
        made = self._first(named.key, timer, version)
        if made is None:
            return self.passed_over(named)
        run, run_timer = made
        flows = bool(self._operation.asked.get("flow_on"))
        ancestor = "" if named.ancestor is None else named.ancestor.key.run_id
        asked_for = self._operation
        run = replace(run, ancestor=ancestor, operation=asked_for.operation_id, flows_on=flows, origin=asked_for.origin)
        if payload:
            run = replace(run, payload=payload[0], has_payload=True)
        return Candidate(named.position, run, run_timer)

    def _first(self, key: RunKey, timer: Timer, version: int | None) -> tuple[Run, RunTimer] | None:
        if version is None:
            return queued(key, timer, self._now)
        definition = self._definition(key, version)
        return None if definition is None else queued(key, timer, self._now, definition)

    def _definition(self, key: RunKey, version: int) -> Definition | None:
        place = (key.schedule_id, version)
        if place not in self._definitions:
            read = partial(self._store.get_definition, key.tenant, key.schedule_id, version)
            self._definitions[place] = ask(read)
        return self._definitions[place]


def queued(key: RunKey, timer: Timer, now: Instant, pinned: Definition | None = None) -> tuple[Run, RunTimer]:
    """A run that is due at `now` and its timer; with a definition, pinned to that."""
    due_at = floor_second(now)
    run_timer = first_attempt(key, timer, due_at)
    run = Run(key, RunStatus.QUEUED, due_at=due_at, tier=timer.tier, version=timer.version)
    if pinned is None:
        return run, run_timer
    timeout = pinned.spec.attempt_seconds
    run_timer = replace(run_timer, version=pinned.version, timeout_seconds=timeout)
    return replace(run, version=pinned.version, is_pinned=True), run_timer


def payload_of(asked: Mapping[str, Any]) -> Sequence[Any]:
    """The payload that was asked for instead of the schedules' own: one, in a list, or none."""
    said: list[Any] = asked.get("payload", [])
    return said


def remade(making: Making, named: Named, operation: Operation) -> Candidate:
    """The repetition of the row that `named` would repeat, as the operation was asked for it."""
    ancestor = named.ancestor
    if ancestor is None:
        return making.passed_over(named)
    payload = payload_of(operation.asked) or ([ancestor.payload] if ancestor.has_payload else [])
    if operation.asked["version"] == Version.NEWEST:
        return making.run(named, version=None, payload=payload)
    if not ancestor.version:
        return making.passed_over(named)
    return making.run(named, version=ancestor.version, payload=payload)

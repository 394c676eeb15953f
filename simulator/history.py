"""What happened, as the checkers see it: noted by the world, not by the product."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Request:
    """A caller's change, from outside: when it was asked and answered (true time), and what was said."""

    request_id: str
    tenant: str
    schedule_id: str
    action: str
    asked_at: int
    answered_at: int | None = None
    run_id: str = ""
    """Of the cancellation of one run."""
    answer: str = ""
    """`accepted`, `refused`, or `unknown`: a silence that may hide either."""
    missed: tuple[int, int | None, int] | None = None
    """Of a resume: how many of the fires held back are wanted, how old they may be (seconds), how many a minute."""


@dataclass(slots=True)
class Call:
    """A target being called, from outside."""

    run_id: str
    tenant: str
    schedule_id: str
    scheduled: bool
    attempt: int
    fence: int
    due_at: int
    row_started_at: int
    """When the row of this attempt was written (true time)."""
    began_at: int
    ended_at: int | None = None
    lease_until: int = 0
    is_cut_short: bool = True
    """Until it comes back: its worker may die."""


@dataclass(frozen=True, slots=True)
class Deferred:
    """A deferral that was written: when (true time), of which fire or attempt, until when and why."""

    at: int
    fire: str
    until: int
    code: str


@dataclass(slots=True)
class Frozen:
    """A freeze that a caller asked for, from outside: of a tenant, or (`None`) of all; of some labels, or of all."""

    request: Request
    tenant: str | None
    labels: dict[str, str] | None
    until: int
    freeze_id: str = ""
    thaws: list[Request] = field(default_factory=list)


@dataclass(slots=True)
class History:
    """One run of the simulator. `digest` is equal for equal histories, bit by bit."""

    requests: list[Request] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    frozen: list[Frozen] = field(default_factory=list)
    row_writes: list[tuple[int, str, str, int]] = field(default_factory=list)
    """True time, run id, status, fence of every write of a ledger row."""
    faults: Counter[str] = field(default_factory=Counter)
    alarms: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    invocations: Counter[str] = field(default_factory=Counter)
    effects: Counter[str] = field(default_factory=Counter)
    dead_letters: Counter[str] = field(default_factory=Counter)
    deferrals: dict[tuple[str, int], Deferred] = field(default_factory=dict)
    """By the fire and until when: one that was asked for again, its reply having been lost, is the same."""
    of_the_future: list[tuple[int, str]] = field(default_factory=list)
    """True time, and what was written then that only a wrong clock can have said."""
    landed_late: int = 0
    """Requests that arrived after the invocation that had sent them was dead."""
    announced: list[tuple[int, str]] = field(default_factory=list)
    """True time and id of every batch that was announced."""
    closed: list[tuple[int, str]] = field(default_factory=list)
    """True time and id of every batch that was closed."""
    won: dict[str, dict[str, int]] = field(default_factory=dict)
    """By batch: each message that a claim under it owes, and when (true time) it was first won."""
    noted_by: dict[str, set[str]] = field(default_factory=dict)
    """By batch: the run ids of the rows that claims which were won under it owe."""
    sent: dict[str, int] = field(default_factory=dict)
    """By message: when a queue first took it."""
    buried: list[tuple[int, str]] = field(default_factory=list)
    """True time and run id of every dead message that its consumer has finished with."""
    given_up: list[tuple[int, str]] = field(default_factory=list)
    """True time, and which run was given up as undelivered while a worker had it under a live lease."""
    traces: dict[str, str] = field(default_factory=dict)
    """By run id: the trace of which a worker first heard, or a target."""
    torn: list[tuple[int, str, str]] = field(default_factory=list)
    """True time, run id, and another trace that was heard of later."""
    requests_traces: set[str] = field(default_factory=set)
    """The traces of callers' requests."""
    sent_again: dict[str, int] = field(default_factory=dict)
    """By run id: when the sweeper last sent it."""
    _hash: Any = field(default_factory=hashlib.sha256)

    def heard(self, at: int, run_id: str, trace_id: str) -> None:
        """A worker, or a target, heard that `run_id` belongs to a trace."""
        if self.traces.setdefault(run_id, trace_id) != trace_id:
            self.torn.append((at, run_id, trace_id))

    def note(self, *what: object) -> None:
        """Add to the digest."""
        self._hash.update(repr(what).encode())

    @property
    def digest(self) -> str:
        """What was noted, as sixteen hexadecimal digits."""
        return str(self._hash.hexdigest()[:16])


class Notes:
    """The port `Telemetry`, kept in the history."""

    def __init__(self, history: History) -> None:
        self._history = history

    def count(self, metric: str, value: int = 1, **_: str) -> None:
        self._history.counts[metric] += value

    def tally(self, values: Mapping[str, int], **_: str) -> None:
        self._history.counts.update(values)

    def measure(self, metric: str, seconds: float, **_: str) -> None:
        self._history.note(metric, seconds)

    def about(self, **fields: object) -> AbstractContextManager[None]:  # noqa: ARG002 - lines name their run anyway
        return nullcontext()

    def event(self, name: str, **fields: object) -> None:
        self._history.note(name, sorted(fields.items(), key=lambda item: item[0]))

    def alarm(self, name: str, **fields: object) -> None:
        self._history.alarms[name] += 1
        self._history.note(name, sorted((key, str(value)) for key, value in fields.items()))

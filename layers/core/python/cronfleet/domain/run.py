"""Runs: a row of the ledger, its attempts, and every legal move of both.

A row is one run, one skip, or one range in which nothing fired. Decisions about a row are taken here, purely;
the worker writes what comes out on the condition that the row's `rev` is still the one decided on.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.errors import Invalid
from cronfleet.domain.execution import Execution
from cronfleet.domain.instant import DAY, EARLIEST, Instant, from_compact, to_compact
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.progress import Progress
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.settlement import Settlement
from cronfleet.domain.signature import Signature, signature_of
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.tenant import ID_PATTERN
from cronfleet.domain.time_limit import is_long
from cronfleet.domain.trace import TraceContext, span_id_of, trace_id_of

SCHEDULE_CAUSE: Final = "schedule"
MANUAL_CAUSE: Final = "manual"
RERUN_CAUSE: Final = "rerun"
BACKFILL_CAUSE: Final = "backfill"

OPERATION_MARK: Final = "o"
"""How the ids of operations begin; no other id does, so that a cause tells whether an operation asked for the run."""

MESSAGE_MAX_AGE: Final = 15 * DAY
"""Older messages are refused: queues keep theirs for 14 days, so an older claim is a stray copy."""

ROW_LIFE_DAYS: Final = 30
ROW_LIFE_SECONDS: Final = ROW_LIFE_DAYS * 24 * 3600
"""Rows live at least this long by TTL, longer than any message, however little of them a tenant is shown."""

LONG_QUEUE: Final = "long"
"""The run queue of what no worker function can carry, read by long workers."""

MAX_INTERRUPTIONS: Final = 10
"""Attempts of a run that may be interrupted without counting. What is interrupted more often is never done by luck."""

MAX_ERROR_CHARACTERS: Final = 400
"""Of an attempt's error, as it is kept: rows stay small."""

_CAUSE: Final = re.compile(rf"{SCHEDULE_CAUSE}|(?:{MANUAL_CAUSE}|{RERUN_CAUSE}|{BACKFILL_CAUSE})-[0-9a-z]{{1,40}}")


class Lane(StrEnum):
    """Which way a run takes to a worker."""

    LIVE = "live"
    """Its tier's queue: what is wanted now."""
    BACKFILL = "backfill"
    """A queue of its own, which yields to live traffic: what an operation asked for."""


def lane_of(cause: str) -> Lane:
    """The lane of runs of a cause."""
    word, _, said = cause.partition("-")
    return Lane.BACKFILL if word == BACKFILL_CAUSE or said.startswith(OPERATION_MARK) else Lane.LIVE


@dataclass(frozen=True, slots=True, order=True)
class RunKey:
    """What makes a run the same run: its text is the run id and the idempotency key.

    `cause` is `schedule`, or `manual-`, `rerun-` or `backfill-` and the id of the request or operation that asked for
    it.
    """

    tenant: str
    schedule_id: str
    epoch: int
    nominal_at: Instant
    cause: str = SCHEDULE_CAUSE

    @property
    def run_id(self) -> str:
        """`tenant~schedule~epoch~20261201T020000Z~schedule`; `parse` is its reverse."""
        return "~".join((self.tenant, self.schedule_id, str(self.epoch), to_compact(self.nominal_at), self.cause))

    @property
    def is_scheduled(self) -> bool:
        """Whether a fire of the trigger made it, and no request."""
        return self.cause == SCHEDULE_CAUSE

    @property
    def lane(self) -> Lane:
        """The lane of the run: an operation's runs yield to live traffic, and a single request's do not."""
        return lane_of(self.cause)

    @property
    def continues(self) -> bool:
        """Whether the run goes on in the trace of the request that asked for it, which asked for this run alone.

        Each of the many runs of an operation, and each fire, has a trace of its own.
        """
        return not self.is_scheduled and self.lane is Lane.LIVE

    def trace(self, origin: TraceContext | None = None) -> TraceContext:
        """The run's own span, which all its attempts stand below; `origin` is what the run came of, where it is known.

        `sampled` is what the request said, where the run continues its trace.
        """
        if origin is not None and self.continues:
            return origin.child("run", self.run_id)
        trace_id = trace_id_of(self.run_id)
        return TraceContext(trace_id, span_id_of(trace_id, "run", self.run_id))

    @classmethod
    def parse(cls, run_id: str) -> "RunKey":
        """The key that `run_id` encodes; raises `Invalid("run_id")` for any other text."""
        parts = run_id.split("~")
        if len(parts) != 5 or not _is_run_id(parts):
            raise _no_run_id()
        tenant, schedule_id, epoch, nominal, cause = parts
        try:
            key = cls(tenant, schedule_id, int(epoch), from_compact(nominal), cause)
        except ValueError as error:
            raise _no_run_id() from error
        if key.run_id != run_id:  # a run has one id: `01` is no epoch
            raise _no_run_id()
        return key


def _no_run_id() -> Invalid:
    return Invalid("run_id", "is not a run id; copy one from the schedule's history (GET /v1/schedules/{id}/runs)")


def _is_run_id(parts: list[str]) -> bool:
    tenant, schedule_id, epoch, _, cause = parts
    return bool(
        ID_PATTERN.fullmatch(tenant)
        and ID_PATTERN.fullmatch(schedule_id)
        and epoch.isascii()
        and epoch.isdecimal()
        and len(epoch) <= 9
        and _CAUSE.fullmatch(cause)
    )


class RunStatus(StrEnum):
    """The state of a ledger row. A run that is claimed and has no row yet is shown as `queued`."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    """For its next attempt."""
    SUCCEEDED = "succeeded"
    DEAD = "dead"
    """Out of attempts, with every attempt's reason."""
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """Claimed, and not started, for a reason."""
    MISSED = "missed"
    """A range in which nothing could fire in time."""
    PAUSED = "paused"
    """A range in which the schedule was paused."""
    HELD = "held"
    """A range in which the schedule was held."""
    SHADOW = "shadow"
    """What a held schedule would have fired: one nominal, or a range of them."""
    FROZEN = "frozen"
    """A range in which a freeze held the schedule, or a fire that was claimed when one came."""
    REFUSED = "refused"
    """The scheduler could not run it, for a reason."""


_R: Final = RunStatus
MOVES: Final[Mapping[RunStatus | None, frozenset[RunStatus]]] = {
    None: frozenset(
        {
            _R.QUEUED,
            _R.RUNNING,
            _R.SKIPPED,
            _R.MISSED,
            _R.PAUSED,
            _R.HELD,
            _R.SHADOW,
            _R.FROZEN,
            _R.CANCELLED,
            _R.REFUSED,
            _R.DEAD,
        }
    ),
    _R.QUEUED: frozenset({_R.QUEUED, _R.RUNNING, _R.CANCELLED, _R.REFUSED, _R.DEAD}),
    _R.RUNNING: frozenset(
        {_R.RUNNING, _R.WAITING, _R.SUCCEEDED, _R.DEAD, _R.CANCELLED, _R.SKIPPED, _R.FROZEN, _R.REFUSED}
    ),
    _R.WAITING: frozenset({_R.RUNNING, _R.CANCELLED, _R.REFUSED, _R.DEAD}),
    _R.SUCCEEDED: frozenset(),
    _R.DEAD: frozenset(),
    _R.CANCELLED: frozenset(),
    _R.SKIPPED: frozenset(),
    _R.MISSED: frozenset(),
    _R.PAUSED: frozenset(),
    _R.HELD: frozenset(),
    _R.SHADOW: frozenset(),
    _R.FROZEN: frozenset(),
    _R.REFUSED: frozenset(),
}
"""Every legal move of a row (`None`: no row). Running to running is a takeover or a version noted at start;
queued to queued a parent that has ended."""

TERMINAL: Final = frozenset(status for status, after in MOVES.items() if status is not None and not after)


FAILED: Final = frozenset({_R.DEAD, _R.REFUSED})
"""A run that ended so has not done its work, and is a dead letter until it is settled."""


class Outcome(StrEnum):
    """How an attempt ended; an attempt without one is still going."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    LOST = "lost"
    """Its lease ended without a word: the worker died, and another took over."""
    NOT_STARTED = "not_started"
    """Admission refused it before the target was called."""
    CANCELLED = "cancelled"
    """It gave up, or was stopped, because the run's cancellation had been asked for."""
    INTERRUPTED = "interrupted"
    """Its worker had to stop before it was done, and handed the run on: nobody's failure, so not counted as one."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try, under a lease and a fence that rises with each."""

    number: int
    fence: int
    owner: str
    started_at: Instant
    finished_at: Instant | None = None
    outcome: Outcome | None = None
    error: str | None = None
    execution: Execution | None = None
    """What was handed over for it, to go on elsewhere."""


@dataclass(frozen=True, slots=True)
class Run:
    """One row of the ledger.

    `lease_until` ends the lease of the running attempt; `retry_at` is when a waiting run is due again.
    A range row stands for each nominal from the key's `nominal_at` to `until_nominal_at`, both included.
    `rev` rises with every write; every write but the first is conditioned on it.
    """

    key: RunKey
    status: RunStatus
    due_at: Instant
    tier: str
    rev: int = 1
    version: int = 0
    batch: str = ""
    claimed_at: Instant | None = None
    fence: int = 0
    attempts: tuple[Attempt, ...] = ()
    lease_until: Instant | None = None
    retry_at: Instant | None = None
    started_at: Instant | None = None
    finished_at: Instant | None = None
    lag_ms: int | None = None
    reason: Reason | None = None
    until_nominal_at: Instant | None = None
    payload: Any = None
    has_payload: bool = False
    """True for a manual run whose caller overrode the payload (with `payload`, which may be null)."""
    resent_at: Instant | None = None
    """When the sweeper sent the message that started it, the first one having been lost or late."""
    late: Late | None = None
    """Of a run that was caught up: why it is late."""
    kept_days: int = ROW_LIFE_DAYS
    """How long the row is kept after its latest write."""
    ancestor: str = ""
    """The run id that this run repeats."""
    operation: str = ""
    """The id of the operation that asked for it."""
    flows_on: bool = False
    """Of a run that a request or an operation asked for: whether the schedules that run after it follow it."""
    joined: Mapping[str, RunStatus] | None = None
    """Of a run that parents name: how those ended that have, by their ids. `None` of any other run."""
    is_pinned: bool = False
    """Whether its first attempt keeps `version`, and does not take the one that is current when it starts."""
    signature: Signature | None = None
    """Of a run that is dead or refused: what its failure has in common with others."""
    settled: Settlement | None = None
    """Of a dead letter: what became of it."""
    cancel: CancelRequest | None = None
    """Asked for while it was running."""
    progress: Progress | None = None
    """What the latest attempt last told of itself."""
    origin: TraceContext | None = None
    """What the run came of, where that was traced: a request, or the parent's run."""

    @property
    def trace(self) -> TraceContext:
        """The span of this run: the same for all its attempts."""
        return self.key.trace(self.origin)

    @property
    def carried(self) -> TraceContext | None:
        """What timers and messages have to bring along of the trace: nothing where it is computed."""
        return self.origin if self.key.continues else None

    @property
    def own_due_at(self) -> Instant:
        """When it was due before its tenant's rate deferred it: a change that comes later does not drop it."""
        if self.late is not None and self.late.cause is Cause.RATE:
            return self.late.noticed_at
        return self.due_at

    @property
    def last_nominal_at(self) -> Instant:
        """The last nominal that this row stands for; its only one, if it is no range."""
        return self.key.nominal_at if self.until_nominal_at is None else self.until_nominal_at

    def is_over_since(self, instant: Instant) -> bool:
        """Whether all that this row tells of lies before `instant`, and nothing is to come."""
        latest_at = max(self.last_nominal_at, self.due_at, self.started_at or EARLIEST, self.finished_at or EARLIEST)
        return self.is_terminal and latest_at < instant

    def stands_for(self, nominal_at: Instant) -> bool:
        """Whether this row is the entry of `nominal_at`, or a range around it."""
        return self.key.nominal_at <= nominal_at <= self.last_nominal_at

    @property
    def is_terminal(self) -> bool:
        """Whether nothing will change in this row any more."""
        return self.status in TERMINAL

    @property
    def attempt(self) -> int:
        """The number of the latest attempt; 0 before the first."""
        return self.attempts[-1].number if self.attempts else 0

    @property
    def execution(self) -> Execution | None:
        """What goes on elsewhere for the attempt that is running."""
        return self.attempts[-1].execution if self.status is RunStatus.RUNNING and self.attempts else None

    @property
    def interruptions(self) -> int:
        """How many of its attempts were interrupted."""
        return sum(one.outcome is Outcome.INTERRUPTED for one in self.attempts)

    @property
    def tries(self) -> int:
        """How many of its attempts count, the latest among them: all but those that were interrupted."""
        return self.attempt - min(self.interruptions, MAX_INTERRUPTIONS)

    def moved(self, status: RunStatus, **changes: Any) -> "Run":
        """This row in `status`, one `rev` on. A move that the table does not list is a bug, hence `ValueError`."""
        if status not in MOVES[self.status]:
            raise ValueError(f"run {self.key.run_id} cannot go from {self.status} to {status}")
        return replace(self, status=status, rev=self.rev + 1, **changes)

    def noted(self, **changes: Any) -> "Run":
        """This row, one `rev` on, with something noted that changes nothing of what it did."""
        return replace(self, rev=self.rev + 1, **changes)

    def ended(self, status: RunStatus, now: Instant, reason: Reason | None = None, target: str = "") -> "Run":
        """This row in the terminal `status`; `target` is the kind of target that failed, where one did."""
        over = self.moved(status, finished_at=now, reason=reason, lease_until=None, retry_at=None)
        return replace(over, signature=_signature(over, target)) if status in FAILED else over

    def asked_to_cancel(self, request: CancelRequest) -> "Run":
        """This row once its cancellation is asked for: over, or still running and to be stopped by its worker.

        Not for one that is terminal; the first request stands.
        """
        if self.status is not RunStatus.RUNNING:
            return self.ended(RunStatus.CANCELLED, request.at, request.as_reason)
        return self if self.cancel is not None else self.moved(RunStatus.RUNNING, cancel=request)


def _signature(run: Run, target: str) -> Signature:
    """Of a run that has failed: the last attempt that was made says how, its reason where none was."""
    made = [attempt for attempt in run.attempts if attempt.outcome not in (None, Outcome.NOT_STARTED)]
    if made and run.status is RunStatus.DEAD:
        return signature_of(str(made[-1].outcome), made[-1].error, target)
    if run.reason is None:
        return signature_of(run.status, None)
    return signature_of(run.reason.code, run.reason.text)


def queue_of(key: RunKey, tier: str, timeout_seconds: int) -> str:
    """The run queue of a run: its tier's, or that of its lane where it yields to live traffic.

    What may take long goes to the long workers, whoever asked for it: nobody else can carry it.
    """
    if is_long(timeout_seconds):
        return LONG_QUEUE
    return tier if key.is_scheduled or key.lane is Lane.LIVE else key.lane.value


@dataclass(frozen=True, slots=True)
class RunMessage:
    """What travels through a run queue: enough to start the run, under a lease that fits, without a read before."""

    key: RunKey
    tier: str
    attempt: int
    due_at: Instant
    claimed_at: Instant
    batch: str
    version: int
    timeout_seconds: int
    resent_at: Instant | None = None
    """When the sweeper sent it again; `None` for the dispatcher's own."""
    late: Late | None = None
    kept_days: int = ROW_LIFE_DAYS
    """How long the run's row is kept."""
    slot: SlotLease | None = None
    """The slot it may run in; `None` where its tenant has no limit of runs at once."""
    trace: TraceContext | None = None
    """The request whose trace the run continues; `None` where the run's own trace is computed from its id."""

    @property
    def context(self) -> TraceContext:
        """The run's span."""
        return self.key.trace(self.trace)

    @property
    def queue(self) -> str:
        """The run queue through which it travels."""
        return queue_of(self.key, self.tier, self.timeout_seconds)

    @property
    def is_long(self) -> bool:
        """Whether only a long worker can carry it."""
        return is_long(self.timeout_seconds)


def range_row(
    key: RunKey, until_nominal_at: Instant, tier: str, status: RunStatus, now: Instant, reason: Reason
) -> Run:
    """One entry for a stretch in which nothing could fire; it counts for each nominal inside it."""
    return Run(
        key, status, due_at=key.nominal_at, tier=tier, until_nominal_at=until_nominal_at, finished_at=now, reason=reason
    )


def too_old(claimed_at: Instant, now: Instant) -> Reason | None:
    """Why a message claimed at `claimed_at` is refused, if it is."""
    if now - claimed_at <= MESSAGE_MAX_AGE:
        return None
    return Reason(Code.TOO_OLD, f"claimed more than {MESSAGE_MAX_AGE // DAY} days ago", {"claimed_at": claimed_at})

"""Operations: stored jobs that make runs of what is past, page by page: backfills, re-runs and redrives.

Decisions about an operation are taken here, purely. One transaction per page makes the page's runs and moves the
operation on, on the condition of its `rev`: whoever dies between two pages, each date is a run exactly once.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.claim import RunTimer
from cronfleet.domain.instant import DAY, MINUTE, SECOND, Instant
from cronfleet.domain.reason import Reason
from cronfleet.domain.run import BACKFILL_CAUSE, OPERATION_MARK, RERUN_CAUSE, Run, RunKey, RunStatus
from cronfleet.domain.trace import TraceContext

MAX_PAGE: Final = 45
"""Runs that one transaction makes: a row and a timer each, and the operation itself."""

DEFAULT_CONCURRENT: Final = 10
MAX_CONCURRENT: Final = 200
"""Runs of one operation that may be under way: their ids stand in its item."""

MAX_RATE_PER_MINUTE: Final = 6_000

BURST: Final = 10 * SECOND
"""How much of its rate an operation that stood still may make up for at once."""

SHORTEST_REST: Final = 5 * SECOND
LONGEST_REST: Final = MINUTE
REST_SHARE: Final = 4
"""An operation that waits for its runs looks again after a quarter of the time in which nothing has changed."""

MAX_RECENT: Final = 20
"""Ends of runs that an operation remembers, to see whether failures return."""

UNITS_PER_RUN: Final = 10
"""Write units of one run of an operation that succeeds at once, from its row to its end (docs/capacity.md)."""

KEPT_AFTER_END: Final = 45 * DAY
"""How long an operation is kept once it is over: longer than the rows of its runs."""

_DIGITS: Final = 20
_ANCESTOR_DIGITS: Final = 12

PASSED_OVER: Final = "passed_over"
"""Counted beside the states of runs: what the operation came to, and made no run of."""
FORGOTTEN: Final = "forgotten"
"""Counted beside the states of runs: runs whose rows have expired before their ends were seen."""


class Kind(StrEnum):
    """What an operation does."""

    BACKFILL = "backfill"
    """Runs of a schedule's nominal times of the past."""
    RERUN = "rerun"
    """Runs that repeat earlier ones."""
    REDRIVE = "redrive"
    """Runs that repeat dead letters."""


class Status(StrEnum):
    """How an operation stands."""

    RUNNING = "running"
    PAUSED = "paused"
    """By a caller: nothing new is begun, what was begun goes on."""
    STOPPED = "stopped"
    """By itself, for a reason; a resume goes on."""
    CANCELLED = "cancelled"
    """By a caller: its queued runs are cancelled, running ones go on."""
    FINISHED = "finished"
    """Everything was begun, and has come to its end."""


class Verb(StrEnum):
    """What callers do to operations."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"


VERBS: Final[Mapping[tuple[Status, Verb], Status]] = {
    (Status.RUNNING, Verb.PAUSE): Status.PAUSED,
    (Status.PAUSED, Verb.RESUME): Status.RUNNING,
    (Status.STOPPED, Verb.RESUME): Status.RUNNING,
    (Status.RUNNING, Verb.CANCEL): Status.CANCELLED,
    (Status.PAUSED, Verb.CANCEL): Status.CANCELLED,
    (Status.STOPPED, Verb.CANCEL): Status.CANCELLED,
}
"""What callers may do, and what comes of it. To do what is done already changes nothing, and is no mistake."""

OVER: Final = frozenset({Status.CANCELLED, Status.FINISHED})


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation. `asked` is what its caller said, as JSON; `cursor` is how far its source has been gone through.

    `open` are the ids of its runs that were not over when it last looked, `counts` how many came to which end.
    `total` is how many there are to be; `None`: they could not be counted beforehand. `line_at` is where the line
    stands that keeps its rate. `rev` rises with every write, `change_id` names the latest.
    """

    tenant: str
    operation_id: str
    kind: Kind
    asked: Mapping[str, Any]
    created_by: str
    created_at: Instant
    change_id: str
    reason: str = ""
    total: int | None = None
    max_concurrent: int = DEFAULT_CONCURRENT
    rate_per_minute: int | None = None
    status: Status = Status.RUNNING
    cursor: str = ""
    is_drawn: bool = False
    """Whether its source is exhausted."""
    open: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    recent: tuple[str, ...] = ()
    """How its last runs ended, oldest first: their statuses, with the signatures of failures."""
    excluded: tuple[str, ...] = ()
    """Failure signatures that it leaves out since it was resumed."""
    line_at: Instant = 0
    stopped: Reason | None = None
    changed_at: Instant = 0
    ended_at: Instant | None = None
    rev: int = 1
    origin: TraceContext | None = None
    """The request that asked for it, where that was traced: its runs are linked to it."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.ended_at is not None

    @property
    def begun(self) -> int:
        """How many of its candidates it has decided about."""
        return sum(self.counts.values()) + len(self.open)


@dataclass(frozen=True, slots=True)
class Candidate:
    """What an operation comes to next; `position` is the cursor behind it.

    `run` with its `timer` is the run that it becomes; `None` where it is passed over.
    """

    position: str
    run: Run | None = None
    timer: RunTimer | None = None
    settles: Run | None = None
    """The row, as it is then, of the dead letter that the run repeats."""


@dataclass(frozen=True, slots=True)
class Page:
    """The next step of an operation: `operation` as it is to be written, and the runs that are made with it."""

    operation: Operation
    made: tuple[Candidate, ...] = ()


def backfill_id(tenant: str, asked: Mapping[str, Any]) -> str:
    """The id of a backfill is a digest of what is asked: the same call again names the same one."""
    text = json.dumps([tenant, asked], sort_keys=True, separators=(",", ":"))
    return OPERATION_MARK + hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def operation_id(change_id: str) -> str:
    """The id of an operation that every call makes anew."""
    return OPERATION_MARK + hashlib.sha256(change_id.encode()).hexdigest()[:_DIGITS]


def backfill_key(tenant: str, schedule_id: str, epoch: int, nominal_at: Instant, operation: str) -> RunKey:
    """The run that a backfill makes of a nominal time."""
    return RunKey(tenant, schedule_id, epoch, nominal_at, f"{BACKFILL_CAUSE}-{operation}")


def rerun_key(ancestor: RunKey, operation: str) -> RunKey:
    """The run by which `operation` repeats `ancestor`; it stands beside it in the history."""
    digest = hashlib.sha256(ancestor.run_id.encode()).hexdigest()[:_ANCESTOR_DIGITS]
    return replace(ancestor, cause=f"{RERUN_CAUSE}-{operation}x{digest}")


# --- how far it may go -----------------------------------------------------------------------------------------


def room(operation: Operation, now: Instant) -> int:
    """How many runs it may begin at `now`, in one page."""
    if operation.status is not Status.RUNNING or operation.is_drawn:
        return 0
    return max(0, min(MAX_PAGE, operation.max_concurrent - len(operation.open), _allowed(operation, now)))


def _allowed(operation: Operation, now: Instant) -> int:
    if operation.rate_per_minute is None:
        return MAX_PAGE
    line_at = max(operation.line_at, now - BURST)
    return 0 if line_at > now else 1 + (now - line_at) * operation.rate_per_minute // MINUTE


def _line_after(operation: Operation, begun: int, now: Instant) -> Instant:
    if operation.rate_per_minute is None or not begun:
        return operation.line_at
    return max(operation.line_at, now - BURST) + begun * MINUTE // operation.rate_per_minute


def wakes_at(operation: Operation, now: Instant) -> Instant | None:
    """When it is to be looked at again, once there is nothing to do at `now`; `None`: not before somebody asks."""
    if operation.is_over:
        return None
    if not operation.open and operation.status in (Status.PAUSED, Status.STOPPED):
        return None
    rest = min(LONGEST_REST, max(SHORTEST_REST, (now - operation.changed_at) // REST_SHARE))
    has_more = operation.status is Status.RUNNING and not operation.is_drawn
    if operation.rate_per_minute is not None and has_more and len(operation.open) < operation.max_concurrent:
        return max(now + SECOND, min(now + rest, operation.line_at))
    return now + rest


# --- one step --------------------------------------------------------------------------------------------------


def settled(operation: Operation, rows: Mapping[RunKey, Run], gone: Iterable[RunKey], now: Instant) -> Operation:
    """`operation` after a look at the rows of its open runs; the same object when none of them has come to its end.

    `gone` are those of which there is no row any more.
    """
    counts, recent, still = Counter(operation.counts), list(operation.recent), list[str]()
    forgotten = frozenset(gone)
    for run_id in operation.open:
        key = RunKey.parse(run_id)
        row = rows.get(key)
        if row is not None and row.is_terminal:
            counts[row.status.value] += 1
            recent.append(ending(row))
        elif key in forgotten:
            counts[FORGOTTEN] += 1
        else:
            still.append(run_id)
    if len(still) == len(operation.open):
        return operation
    return replace(
        operation,
        open=tuple(still),
        counts=dict(counts),
        recent=tuple(recent[-MAX_RECENT:]),
        changed_at=now,
    )


def ending(row: Run) -> str:
    """How a run ended, as `recent` has it."""
    return row.status.value if row.signature is None else f"{row.status.value}:{row.signature.digest}"


def next_page(
    operation: Operation, candidates: Sequence[Candidate], position: str, *, is_last: bool, now: Instant
) -> Page:
    """The page that makes runs of `candidates`; its source was gone through up to `position`, the end if `is_last`.

    No more runs than `room` says may be among them; what is passed over is only counted.
    """
    made = tuple(one for one in candidates if one.run is not None)
    counts = Counter(operation.counts)
    if len(made) < len(candidates):
        counts[PASSED_OVER] += len(candidates) - len(made)
    after = replace(
        operation,
        cursor=position,
        is_drawn=operation.is_drawn or is_last,
        open=(*operation.open, *(one.run.key.run_id for one in made if one.run is not None)),
        counts=dict(counts),
        line_at=_line_after(operation, len(made), now),
    )
    if after != operation:
        after = replace(after, changed_at=now)
    return Page(after, made)


def ended(operation: Operation, now: Instant) -> Operation:
    """`operation`, over if nothing is left of it: cancelled and quiet, or drawn to the end and every run at its own."""
    if operation.is_over or operation.open:
        return operation
    if operation.status is Status.CANCELLED:
        return replace(operation, ended_at=now, changed_at=now)
    if operation.status is Status.RUNNING and operation.is_drawn:
        return replace(operation, status=Status.FINISHED, ended_at=now, changed_at=now)
    return operation


def stopped(operation: Operation, reason: Reason, now: Instant) -> Operation:
    """`operation`, which stops by itself for `reason`."""
    return replace(operation, status=Status.STOPPED, stopped=reason, changed_at=now)


def turned(operation: Operation, verb: Verb, now: Instant, excluded: Iterable[str] = ()) -> Operation | None:
    """`operation` after what a caller does to it; `None`: it may not be done to one that stands like this.

    The same object where there is nothing to do. `excluded` are signatures that a resumed redrive leaves out.
    """
    after = VERBS.get((operation.status, verb))
    if after is not None:
        recent = () if verb is Verb.RESUME else operation.recent
        left_out = tuple(sorted({*operation.excluded, *excluded}))
        turned_to = replace(operation, status=after, stopped=None, recent=recent, excluded=left_out, changed_at=now)
        return ended(turned_to, now)
    is_done = operation.status in {status for (_, done), status in VERBS.items() if done is verb}
    return operation if is_done else None


def written(operation: Operation, change_id: str) -> Operation:
    """`operation` as it is written next: one `rev` on, under the id of that write."""
    return replace(operation, rev=operation.rev + 1, change_id=change_id)


def is_cancellable(row: Run) -> bool:
    """Whether the cancellation of its operation ends the run: it is not under way."""
    return row.status in (RunStatus.QUEUED, RunStatus.WAITING)

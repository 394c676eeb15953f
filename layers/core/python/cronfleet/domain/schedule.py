"""Schedules: a standing order, its hot timer and its immutable definitions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.backlog import Backlog
from cronfleet.domain.errors import Conflict
from cronfleet.domain.execution import HAND_OVER_SECONDS
from cronfleet.domain.instant import EARLIEST, Instant
from cronfleet.domain.misfire import NONE_AFTER_PAUSE, Misfire
from cronfleet.domain.objective import Objectives
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Reason
from cronfleet.domain.retry import Retry
from cronfleet.domain.spread import Spread
from cronfleet.domain.target import RoleTarget, Target
from cronfleet.domain.time_limit import DEFAULT_TIMEOUT_SECONDS
from cronfleet.domain.trigger import Trigger
from cronfleet.domain.zone_stamp import ZoneStamp

MAX_EPOCH_STARTS: Final = 8
"""Epochs whose beginning a timer remembers: a fire that was overtaken by more changes than that does not run."""

MAX_FAILURES: Final = 100
"""Dead runs in a row that a schedule's breaker may wait for: each death reads as many rows."""
DEFAULT_COOLDOWN: Final = "10m"
SHORTEST_COOLDOWN_SECONDS: Final = 60
LONGEST_COOLDOWN_SECONDS: Final = 7 * 24 * 3600


class Status(StrEnum):
    """Where a schedule stands."""

    ACTIVE = "active"
    PAUSED = "paused"
    HELD = "held"
    """Imported and not yet on."""
    PARKED = "parked"
    """Refused by the scheduler, with a reason."""
    COMPLETED = "completed"
    """Nothing is left to fire."""
    CANCELLED = "cancelled"
    """Deleted; the timer stays as a tombstone so that its epoch goes on if the id comes back."""


class Change(StrEnum):
    """What may happen to a schedule."""

    CREATE = "create"
    EDIT = "edit"
    RETIME = "retime"
    """An edit that changes the trigger."""
    PAUSE = "pause"
    RESUME = "resume"
    PARK = "park"
    COMPLETE = "complete"
    CANCEL = "cancel"
    RUN = "run"
    """Run now: the status stays as it is."""
    SHADOW = "shadow"
    """Note from now on, or no longer, what a held schedule would have fired."""


_S: Final = Status
_C: Final = Change
TRANSITIONS: Final[Mapping[tuple[Status, Change], Status]] = {
    (_S.CANCELLED, _C.CREATE): _S.ACTIVE,
    (_S.ACTIVE, _C.EDIT): _S.ACTIVE,
    (_S.PAUSED, _C.EDIT): _S.PAUSED,
    (_S.HELD, _C.EDIT): _S.HELD,
    (_S.PARKED, _C.EDIT): _S.PARKED,
    (_S.COMPLETED, _C.EDIT): _S.COMPLETED,
    (_S.ACTIVE, _C.RETIME): _S.ACTIVE,
    (_S.PAUSED, _C.RETIME): _S.PAUSED,
    (_S.HELD, _C.RETIME): _S.HELD,
    (_S.PARKED, _C.RETIME): _S.ACTIVE,
    (_S.COMPLETED, _C.RETIME): _S.ACTIVE,
    (_S.ACTIVE, _C.PAUSE): _S.PAUSED,
    (_S.PAUSED, _C.PAUSE): _S.PAUSED,
    (_S.PAUSED, _C.RESUME): _S.ACTIVE,
    (_S.HELD, _C.RESUME): _S.ACTIVE,
    (_S.PARKED, _C.RESUME): _S.ACTIVE,
    (_S.ACTIVE, _C.PARK): _S.PARKED,
    (_S.HELD, _C.PARK): _S.HELD,
    (_S.PAUSED, _C.PARK): _S.PARKED,
    (_S.ACTIVE, _C.COMPLETE): _S.COMPLETED,
    (_S.PAUSED, _C.COMPLETE): _S.COMPLETED,
    (_S.ACTIVE, _C.CANCEL): _S.CANCELLED,
    (_S.PAUSED, _C.CANCEL): _S.CANCELLED,
    (_S.HELD, _C.CANCEL): _S.CANCELLED,
    (_S.PARKED, _C.CANCEL): _S.CANCELLED,
    (_S.COMPLETED, _C.CANCEL): _S.CANCELLED,
    (_S.ACTIVE, _C.RUN): _S.ACTIVE,
    (_S.PAUSED, _C.RUN): _S.PAUSED,
    (_S.HELD, _C.RUN): _S.HELD,
    (_S.COMPLETED, _C.RUN): _S.COMPLETED,
    (_S.HELD, _C.SHADOW): _S.HELD,
}
"""Every legal move of a schedule; what is not here is refused."""


_ASKED_FOR: Final[Mapping[Change, str]] = {
    _C.EDIT: "changed",
    _C.PAUSE: "paused",
    _C.RESUME: "resumed",
    _C.RUN: "run now",
    _C.SHADOW: "run in shadow",
    _C.CANCEL: "deleted",
}
"""The changes that callers ask for, in their words; the scheduler makes the others."""


def moved(status: Status, change: Change) -> Status:
    """The status after `change`; raises `Conflict` naming what a caller can do instead."""
    after = TRANSITIONS.get((status, change))
    if after is None:
        possible = [word for one, word in _ASKED_FOR.items() if (status, one) in TRANSITIONS]
        wanted = _ASKED_FOR.get(change, f"moved on by `{change}`")
        raise Conflict(f"a schedule that is {status} cannot be {wanted}; it can be {', '.join(possible) or 'created'}")
    return after


@dataclass(frozen=True, slots=True)
class Pause:
    """Who paused a schedule, when and why; with `until` it resumes by itself."""

    by: str
    at: Instant
    reason: str = ""
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Shadow:
    """Who had a held schedule's fires noted, and since when."""

    by: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Hold:
    """Who registered a schedule as held, and when; in `shadow`, what it would have fired is noted and never sent."""

    by: str
    at: Instant
    shadow: Shadow | None = None


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """After `failures` runs in a row that died the schedule is paused, by the scheduler, for `cooldown_seconds`."""

    failures: int
    cooldown_seconds: int


@dataclass(frozen=True, slots=True)
class Policies:
    """How a schedule behaves when things are late, overlap or fail."""

    misfire: Misfire = field(default_factory=Misfire)
    overlap: Overlap = Overlap.ALLOW
    jitter_seconds: int = 0
    retry: Retry = field(default_factory=Retry)
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
    after_pause: Misfire = NONE_AFTER_PAUSE
    """What of the fires that a pause held back still runs, unless the resume says otherwise."""
    concurrency_key: str = ""
    """The group of the tenant's schedules of which one runs at a time; empty: the schedule is in none."""
    breaker: BreakerPolicy | None = None
    target_breaker: bool = True
    """Whether the breaker of its target counts its failures, and holds its runs back."""
    heartbeat_seconds: int = 0
    """An attempt that does not beat for so long is stopped; 0: it need not beat."""
    spread: Spread | None = None
    """Puts every fire off by the same, in the place of jitter."""

    @property
    def delay_seconds(self) -> int:
        """How long at most a fire is put off; a spread one by just that."""
        return self.jitter_seconds if self.spread is None else self.spread.offset_seconds or 0

    @property
    def widest_delay_seconds(self) -> int:
        """How long at most a fire might be put off, whatever offset is drawn."""
        return self.jitter_seconds if self.spread is None else self.spread.window_seconds


@dataclass(frozen=True, slots=True)
class Spec:
    """What a caller asks for: all of a schedule that a version fixes."""

    trigger: Trigger
    target: Target
    owner: str = ""
    description: str = ""
    payload: Any = None
    policies: Policies = field(default_factory=Policies)
    labels: Mapping[str, str] = field(default_factory=dict)
    start_at: Instant | None = None
    end_at: Instant | None = None
    objectives: Objectives | None = None

    @property
    def attempt_seconds(self) -> int:
        """How long a worker has for an attempt: its time limit, unless it only hands something over."""
        return HAND_OVER_SECONDS if isinstance(self.target, RoleTarget) else self.policies.timeout_seconds


@dataclass(frozen=True, slots=True)
class Definition:
    """One immutable version of a schedule."""

    tenant: str
    schedule_id: str
    version: int
    spec: Spec
    author: str
    created_at: Instant
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Timer:
    """The hot item of a schedule: what the dispatcher needs, and nothing that a payload can blow up.

    `version` is the definition's number. `epoch` rises when old fires must no longer count; `epoch_starts` says
    since when, for the latest epochs (newest last), and `born_epoch` is the first of this life of the id.
    `rev` rises with every write but a claim. `nominal_at` is the calendar's next time, `due_at` when it is
    to be claimed (after jitter or deferral, or because the `backlog` has its turn; while paused, when to resume; while
    held, when to note it in shadow). Both are `None` when nothing waits; with a backlog alone, `nominal_at` is.
    `reserved_at` is the place in the tenant's line that the fire of `nominal_at` waits for; `deferred` says why.
    `caught_up_from` is the first nominal before this epoch that is caught up in it.
    `zone_data` says with which zone data `nominal_at` was worked out; `None` where no zone plays a part.
    `is_spread` says that fires are put off by just `jitter_seconds`, instead of by up to that.
    `labels` holds the hashes of the current version's labels; `None`: of a timer that is older than these.
    `claim_batch` names the batch that made the last claim; `change_id` the request that made the last change.
    """

    tenant: str
    schedule_id: str
    tier: str
    shard: int
    status: Status
    trigger: Trigger
    misfire: Misfire
    overlap: Overlap
    jitter_seconds: int
    timeout_seconds: int
    version: int
    epoch: int
    epoch_starts: tuple[Instant, ...]
    born_epoch: int
    rev: int
    nominal_at: Instant | None
    due_at: Instant | None
    start_at: Instant | None = None
    end_at: Instant | None = None
    pause: Pause | None = None
    hold: Hold | None = None
    parked: Reason | None = None
    deferred: Reason | None = None
    reserved_at: Instant | None = None
    backlog: Backlog | None = None
    caught_up_from: Instant | None = None
    after_pause: Misfire = NONE_AFTER_PAUSE
    zone_data: ZoneStamp | None = None
    labels: tuple[str, ...] | None = None
    claim_batch: str | None = None
    concurrency_key: str = ""
    breaker: BreakerPolicy | None = None
    is_spread: bool = False
    is_counted: bool = False
    """Whether it is in the tenant's count of schedules (`domain/schedule_count.py`); those older than counting, when
    they are found."""
    feeds: bool = False
    """Whether other schedules run after it."""
    is_watched: bool = False
    """Whether its current version has objectives: a change of it wakes the watch."""
    change_id: str = ""
    created_at: Instant = 0
    updated_at: Instant = 0

    @property
    def key(self) -> str:
        """What jitter is hashed from, and errors name: tenant and schedule."""
        return f"{self.tenant}~{self.schedule_id}"

    @property
    def is_shadow(self) -> bool:
        """Whether its fires are noted instead of sent."""
        is_held = self.status is Status.HELD and self.parked is None
        return is_held and self.hold is not None and self.hold.shadow is not None

    @property
    def epoch_since(self) -> Instant:
        """When the current epoch began."""
        return self.epoch_starts[-1] if self.epoch_starts else EARLIEST

    def epoch_ended_at(self, epoch: int) -> Instant | None:
        """When an earlier `epoch` ended; `None` while it is the current one, the beginning of time if forgotten."""
        if epoch >= self.epoch:
            return None
        position = len(self.epoch_starts) - (self.epoch - epoch)
        return self.epoch_starts[position] if position >= 0 else EARLIEST

    def capped(self, instant: Instant) -> Instant:
        """`instant`, or `end_at` where that is earlier."""
        return instant if self.end_at is None else min(instant, self.end_at)

    @property
    def etag(self) -> str:
        """The HTTP validator: it moves with every accepted change, never with a claim or a deferral."""
        return f'"{self.version}-{self.change_id}"'

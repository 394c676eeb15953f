"""Claims: what a dispatcher may turn into runs, and the batch it writes down before it claims anything."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import zip_longest
from typing import Final, TypeAlias

from cronfleet.domain.backlog import Backlog, first_of
from cronfleet.domain.errand import Errand
from cronfleet.domain.instant import Instant
from cronfleet.domain.late import Late
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import RunKey, RunMessage
from cronfleet.domain.schedule import Timer
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.trace import TraceContext
from cronfleet.domain.zone_stamp import ZoneStamp

MAX_FIRES_PER_CLAIM: Final = 60
"""Nominals that one claim takes: a one-second interval fires every second under a look-ahead of ten."""

MAX_BATCH_ENTRIES: Final = 100
"""Claims of one batch, and items of one page of the due index."""


class TimerKind(StrEnum):
    """What waits in the due index besides a schedule's own timer."""

    QUEUED = "queued"
    """The first attempt of a row that was written beforehand: run now, or a fire that a changed trigger left due."""
    RETRY = "retry"


@dataclass(frozen=True, slots=True)
class RunTimer:
    """A run that waits for a time: its first attempt, or its next one. Retired by its claim."""

    key: RunKey
    kind: TimerKind
    attempt: int
    due_at: Instant
    tier: str
    shard: int
    version: int
    timeout_seconds: int
    claim_batch: str | None = None
    reserved_at: Instant | None = None
    """`due_at`, where that is a place in its tenant's line that is reserved for it."""
    deferred: Reason | None = None
    trace: TraceContext | None = None
    """As `RunMessage.trace`."""


def first_attempt(key: RunKey, timer: Timer, due_at: Instant, trace: TraceContext | None = None) -> RunTimer:
    """The timer of a run whose row was written beforehand, under what the schedule's `timer` says now."""
    return RunTimer(
        key,
        TimerKind.QUEUED,
        attempt=1,
        due_at=due_at,
        tier=timer.tier,
        shard=timer.shard,
        version=timer.version,
        timeout_seconds=timer.timeout_seconds,
        trace=trace,
    )


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An item of the due index that cannot be read: it is parked, and poisons nothing.

    `partition` and `sort` are its stored key, `due_at` what the index said, `why` what was wrong with it.
    """

    partition: str
    sort: str
    due_at: Instant
    why: str


Claimable: TypeAlias = Timer | RunTimer | Unreadable
"""What a tick makes fires of, or parks."""

DueItem: TypeAlias = Claimable | Errand


def tenant_of(item: DueItem) -> str:
    """Whose it is."""
    if isinstance(item, RunTimer):
        return item.key.tenant
    return item.partition.partition("#")[0] if isinstance(item, Unreadable) else item.tenant


@dataclass(frozen=True, slots=True)
class Fire:
    """One moment a trigger names: the calendar's time, and ours after jitter or catch-up."""

    nominal_at: Instant
    due_at: Instant
    late: Late | None = None
    """Why it is caught up, for one that is."""


@dataclass(frozen=True, slots=True)
class SkippedRange:
    """Nominals from `first_at` to `last_at`, both included, that do not run, and why."""

    first_at: Instant
    last_at: Instant
    reason: Reason


@dataclass(frozen=True, slots=True)
class ScheduleClaim:
    """The claim of a schedule's due fires: one conditional write that advances its timer.

    Conditioned on `rev`, `nominal_at`, `due_at` and the backlog's `next_at` as they were read. `following` is what the
    timer waits for next, `backlog` what is still to be caught up besides; the schedule is completed when both are
    `None`, unless it is held. Of missed time `caught_up` has the fires whose turn it is, `skipped` what does not run.
    """

    tenant: str
    schedule_id: str
    tier: str
    rev: int
    epoch: int
    version: int
    timeout_seconds: int
    nominal_at: Instant | None
    due_at: Instant
    fires: tuple[Fire, ...]
    skipped: tuple[SkippedRange, ...]
    following: Fire | None
    zone_data: ZoneStamp | None = None
    """With which zone data `following` was worked out."""
    backlog_at: Instant | None = None
    caught_up: tuple[Fire, ...] = ()
    backlog: Backlog | None = None
    reserved_at: Instant | None = None
    """The place that is reserved for `following` …"""
    deferred: Reason | None = None
    """… and why it waits for it; `None` besides a place: the timer says so already."""
    slots: tuple[SlotLease, ...] = ()
    """The slots of its fires, then of those caught up; empty where the tenant has no limit of runs at once."""

    @property
    def wakes_at(self) -> Instant | None:
        """When the timer is to be claimed next; `None`: never again."""
        return soonest(self.following, self.backlog)

    @property
    def is_shadow(self) -> bool:
        """Whether it notes what a held schedule would have fired: it fires nothing, and leaves the schedule held."""
        return any(one.reason.code is Code.SHADOW for one in self.skipped)

    def run_key(self, nominal_at: Instant) -> RunKey:
        """The run that a fire of this claim becomes."""
        return RunKey(self.tenant, self.schedule_id, self.epoch, nominal_at)

    def messages(self, batch_id: str, claimed_at: Instant) -> Iterator[RunMessage]:
        """One message per fire, first attempts all."""
        fires = (*self.fires, *self.caught_up)
        for fire, slot in zip_longest(fires, self.slots[: len(fires)]):
            yield RunMessage(
                self.run_key(fire.nominal_at),
                self.tier,
                attempt=1,
                due_at=fire.due_at,
                claimed_at=claimed_at,
                batch=batch_id,
                version=self.version,
                timeout_seconds=self.timeout_seconds,
                late=fire.late,
                slot=slot,
            )


def claim_of(
    timer: Timer,
    *,
    following: Fire | None,
    zone_data: ZoneStamp | None,
    fires: tuple[Fire, ...] = (),
    skipped: Iterable[SkippedRange] = (),
    caught_up: tuple[Fire, ...] = (),
    backlog: Backlog | None = None,
    reserved_at: Instant | None = None,
) -> ScheduleClaim:
    """The claim of `timer` as it was read. Raises `ValueError` for one that waits for nothing."""
    if timer.due_at is None:
        raise ValueError(f"the timer of {timer.key} waits for nothing")
    return ScheduleClaim(
        timer.tenant,
        timer.schedule_id,
        timer.tier,
        timer.rev,
        timer.epoch,
        timer.version,
        timer.timeout_seconds,
        timer.nominal_at,
        timer.due_at,
        fires,
        tuple(skipped),
        following,
        zone_data,
        backlog_at=first_of(timer.backlog),
        caught_up=caught_up,
        backlog=backlog,
        reserved_at=reserved_at,
    )


def soonest(fire: Fire | None, backlog: Backlog | None) -> Instant | None:
    """When whatever comes first of a regular fire and the backlog's next turn is due."""
    if backlog is None:
        return None if fire is None else fire.due_at
    return min((one.due_at for one in (fire, backlog) if one is not None), default=None)


@dataclass(frozen=True, slots=True)
class RunClaim:
    """The claim of a run's own timer: one conditional write that retires it."""

    timer: RunTimer
    slot: SlotLease | None = None
    """Its slot, where the tenant has a limit of runs at once."""

    def messages(self, batch_id: str, claimed_at: Instant) -> Iterator[RunMessage]:
        """The one message that starts the attempt."""
        timer = self.timer
        yield RunMessage(
            timer.key,
            timer.tier,
            attempt=timer.attempt,
            due_at=timer.due_at,
            claimed_at=claimed_at,
            batch=batch_id,
            version=timer.version,
            timeout_seconds=timer.timeout_seconds,
            slot=self.slot,
            trace=timer.trace,
        )


Claim: TypeAlias = ScheduleClaim | RunClaim


def with_slots(claim: Claim, slots: Sequence[SlotLease]) -> Claim:
    """`claim`, its fires in `slots`; none for a tenant without a limit of runs at once."""
    if not slots:
        return claim
    if isinstance(claim, RunClaim):
        return replace(claim, slot=slots[0])
    return replace(claim, slots=tuple(slots))


def has_slots(claim: Claim) -> bool:
    """Whether any slot is named by `claim`."""
    return bool(claim.slot if isinstance(claim, RunClaim) else claim.slots)


class ClaimOutcome(StrEnum):
    """What the store said to one claim."""

    WON = "won"
    """It succeeded now, or the stored item says that this batch had won it before."""
    LOST = "lost"
    """Somebody else's claim or change came first. Normal, and counted."""
    IMPOSSIBLE = "impossible"
    """The store will never take this write (an item too large, a value it cannot hold): park the schedule."""
    UNANSWERED = "unanswered"
    """A throttle, a time-out or a conflict of transactions is no answer: ask again."""


@dataclass(frozen=True, slots=True)
class BatchId:
    """`shard.fence.number`: unique for ever, since a fence is never drawn twice and one owner counts its batches."""

    shard: int
    fence: int
    number: int

    def __str__(self) -> str:
        return f"{self.shard}.{self.fence}.{self.number}"

    @classmethod
    def parse(cls, text: str) -> "BatchId":
        """The reverse of `str`; raises `ValueError`."""
        shard, fence, number = map(int, text.split("."))
        return cls(shard, fence, number)

    @property
    def order(self) -> tuple[int, int]:
        """Batches of one shard in the order in which they were announced."""
        return self.fence, self.number


@dataclass(frozen=True, slots=True)
class Batch:
    """A shard's write-ahead record of what it is about to claim.

    `previous` links the announced batches of the shard: a batch that was written and never announced is on no
    chain, and nothing was claimed under its id. `previous_losers` are the positions of the claims of `previous`
    that somebody else won. They stand here, and in the lease once the last batch is closed, and not in the batch
    itself: both are written under the fence, so that a dispatcher that was overtaken cannot have its say.
    """

    batch_id: BatchId
    previous: BatchId | None
    claimed_at: Instant
    claims: tuple[Claim, ...]
    previous_losers: frozenset[int] = frozenset()

    def messages(self, losers: frozenset[int] = frozenset()) -> dict[int, RunMessage]:
        """A message for every fire that this batch turned into a run, by its position among all it names."""
        numbered: dict[int, RunMessage] = {}
        position, batch_id = 0, str(self.batch_id)
        for index, claim in enumerate(self.claims):
            for message in claim.messages(batch_id, self.claimed_at):
                if index not in losers:
                    numbered[position] = message
                position += 1
        return numbered

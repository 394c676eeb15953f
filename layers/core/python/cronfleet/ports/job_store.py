"""The job store, as the services need it: a few primitives, each atomic on one item or one transaction.

Rules that every store keeps (the contract suite in tests/integration/contracts proves them):
conditions are judged against the base item, never an index; a write whose reply was lost is recognised as one's
own when it is tried again; a throttle, a time-out or a conflict of transactions raises `NoAnswer`, which means
"ask again", and never counts as a refusal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.books import Books
from cronfleet.domain.calendar import Calendar, CalendarHead
from cronfleet.domain.claim import Batch, BatchId, Claim, ClaimOutcome, DueItem, RunTimer, Unreadable
from cronfleet.domain.heartbeat import Heartbeat, Ping
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.reason import Reason
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.run import Run, RunKey
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.ports.alerts import AlertStore, PutAlert
from cronfleet.ports.api_keys import ApiKeyStore, ListApiKey, PutApiKey
from cronfleet.ports.attempt_logs import AttemptLogStore
from cronfleet.ports.audit import AuditStore
from cronfleet.ports.breakers import BreakerStore
from cronfleet.ports.dead_letters import DeadLetterStore, SettleUnreadable
from cronfleet.ports.deletions import DeletionStore, InsertDeletion
from cronfleet.ports.dependencies import DependencyStore, PutDependants, PutDependencyMark
from cronfleet.ports.errands import ErrandStore, PutErrand
from cronfleet.ports.forecasts import ForecastStore
from cronfleet.ports.freezes import FreezeStore, PutFreezeDirectory, PutFreezeList
from cronfleet.ports.gates import GateStore, GuardWrite
from cronfleet.ports.noticeboard import NoticeStore, PutSheet, PutSwitch
from cronfleet.ports.operations import OperationStore, PutOperation
from cronfleet.ports.page import Page
from cronfleet.ports.peeking import PeekStore
from cronfleet.ports.rates import RateStore
from cronfleet.ports.schedule_counts import CountSchedules, ScheduleCountStore
from cronfleet.ports.slots import SlotStore
from cronfleet.ports.tenants import PutTenant, TenantStore
from cronfleet.ports.versions import VersionStore


class NoAnswer(Exception):
    """The store did not say whether it did it: a throttle, a time-out, a conflict of transactions. Ask again."""


class Damaged(ValueError):
    """A stored item cannot be read; the message names its key, `partition` and `sort`, and what is wrong with it."""

    def __init__(self, partition: str, sort: str, why: str) -> None:
        super().__init__(f"{partition} / {sort}: {why}")
        self.partition = partition
        self.sort = sort


class Refused(Exception):
    """A transaction was refused, whole: the write at `position` found its condition false. `stored` is that item."""

    def __init__(self, position: int, stored: Any) -> None:
        super().__init__(f"the condition of write {position} did not hold")
        self.position = position
        self.stored = stored


ScheduleKey: TypeAlias = tuple[str, str]
"""Tenant and schedule id."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A schedule in a list."""

    schedule_id: str
    status: Status
    version: int


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """What a POST with an Idempotency-Key answered. `request_digest` tells a repeat from another request."""

    tenant: str
    key: str
    request_digest: str
    answer: Mapping[str, Any]
    expires_at: Instant


# --- the writes of a transaction -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateTimer:
    """Put a timer where none is."""

    timer: Timer


@dataclass(frozen=True, slots=True)
class UpdateTimer:
    """Replace a timer, on the condition that `rev` and `nominal_at` are still those of `before`."""

    timer: Timer
    before: Timer


@dataclass(frozen=True, slots=True)
class InsertDefinition:
    """Put a version that is not there; versions are never changed."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class InsertRun:
    """Put a ledger row where none is."""

    run: Run


@dataclass(frozen=True, slots=True)
class ReplaceRun:
    """Replace a ledger row, on the condition that its `rev` is still `run.rev - 1`."""

    run: Run


@dataclass(frozen=True, slots=True)
class InsertRunTimer:
    """Put a run's timer where none waits; a retired one makes room: an attempt that was put off comes again.

    With `replaces`, whatever waits there: for a transaction that replaces the row of a run that has not begun. One that
    is claimed already comes a second time then, which is harmless, since a run is begun once.
    """

    timer: RunTimer
    replaces: bool = False


@dataclass(frozen=True, slots=True)
class InsertAudit:
    """Append to the audit log."""

    entry: AuditEntry


@dataclass(frozen=True, slots=True)
class InsertIdempotency:
    """Remember an answer where none is remembered (or the remembered one has expired)."""

    record: IdempotencyRecord


@dataclass(frozen=True, slots=True)
class InsertRetiming:
    """Put an open job where none of its id is open."""

    job: Retiming


@dataclass(frozen=True, slots=True)
class PutZoneRelease:
    """Replace the installation's zone release, on the condition that its `rev` is still `release.rev - 1` (0: none)."""

    release: ZoneRelease


@dataclass(frozen=True, slots=True)
class PutCalendarHead:
    """Put what stands first of a calendar, on the condition that it is still `before` (`None`: there is none)."""

    head: CalendarHead
    before: CalendarHead | None


@dataclass(frozen=True, slots=True)
class InsertCalendar:
    """Put a version that is not there; versions are never changed."""

    calendar: Calendar


@dataclass(frozen=True, slots=True)
class CheckCalendar:
    """Change nothing, on the condition that `version` is still the calendar's newest and it is not deleted.

    So a schedule that follows a calendar is there before the next version is, and found by its retiming.
    """

    tenant: str
    name: str
    version: int


@dataclass(frozen=True, slots=True)
class PutHeartbeat:
    """Put a heartbeat URL, on the condition that it is still `before` (`None`: there is none)."""

    heartbeat: Heartbeat
    before: Heartbeat | None


@dataclass(frozen=True, slots=True)
class InsertPing:
    """Put a ping; its id is its own."""

    ping: Ping


Put: TypeAlias = (
    CreateTimer
    | UpdateTimer
    | InsertDefinition
    | InsertRun
    | ReplaceRun
    | InsertRunTimer
    | InsertAudit
    | InsertIdempotency
    | InsertRetiming
    | PutZoneRelease
    | PutCalendarHead
    | InsertCalendar
    | PutHeartbeat
    | InsertPing
    | PutTenant
    | PutFreezeDirectory
    | PutFreezeList
    | PutSheet
    | PutSwitch
    | PutApiKey
    | ListApiKey
    | InsertDeletion
    | PutDependants
    | PutDependencyMark
    | PutOperation
    | PutAlert
    | PutErrand
    | SettleUnreadable
)
"""The writes that leave an item."""

Fixed: TypeAlias = Put | GuardWrite | CheckCalendar
"""The writes that say themselves which item they are about, and what it becomes."""

Write: TypeAlias = Fixed | CountSchedules


class TimedStore(Protocol):
    """A store that tells its time."""

    def skew_ms(self) -> int | None:
        """This process's clock minus the store's, by the Date header of its latest answers.

        0 while the difference is within what a header of whole seconds can tell; `None` before the first answer, and
        from when this process's clock was set until the next.
        """
        ...


class CalendarStore(Protocol):
    """Calendars. Every trigger that a store hands out has its calendar's content with it, kept by the process."""

    def get_calendar_head(self, tenant: str, name: str) -> CalendarHead | None:
        """What stands first of a calendar, read strongly; deleted ones too."""
        ...

    def get_calendar(self, tenant: str, name: str, version: int) -> Calendar | None:
        """A version; it never changes, so it is read once by a process. `None` for one that is not there, or that
        cannot be read.
        """
        ...

    def list_calendars(self, tenant: str, *, cursor: str | None, limit: int) -> Page[CalendarHead]:
        """A tenant's calendars by name, deleted ones left out; a page may be short and still have a cursor."""
        ...

    def list_following(self, tenant: str, name: str, *, cursor: str | None, limit: int) -> Page[Listed]:
        """The schedules whose trigger uses the calendar `name`, pinned ones too, tombstones left out.

        By an index, so what was written in the last moments may be missing.
        """
        ...


class ScheduleStore(TimedStore, CalendarStore, Protocol):
    """Timers, definitions, lists; and the one transaction that every change goes through."""

    def get_timer(self, tenant: str, schedule_id: str) -> Timer | None:
        """The timer, read strongly; tombstones too. Raises `Damaged`."""
        ...

    def get_definition(self, tenant: str, schedule_id: str, version: int) -> Definition | None:
        """A version; read eventually first (it never changes), strongly when that finds nothing."""
        ...

    def get_schedules(self, tenant: str, listed: Sequence[Listed]) -> Sequence[tuple[Timer, Definition]]:
        """Timers with their current definitions, in the order asked for; what is gone meanwhile is left out."""
        ...

    def list_schedules(
        self, tenant: str, *, prefix: str, status: Status | None, cursor: str | None, limit: int
    ) -> Page[Listed]:
        """A tenant's schedules by id, tombstones left out; `limit` items unless the list ends."""
        ...

    def commit(self, writes: Sequence[Write]) -> None:
        """Do all writes or none. Raises `Refused` (first failed condition) or `NoAnswer`."""
        ...

    def find_idempotency(self, tenant: str, key: str) -> IdempotencyRecord | None:
        """What was answered under this key, read strongly, if it has not expired."""
        ...


class RunStore(Protocol):
    """Ledger rows and the overlap gate."""

    def insert_run(self, run: Run) -> Run | None:
        """Put a row where none is: `None` when it is written now, else the row that is there (maybe one's own)."""
        ...

    def replace_run(self, run: Run) -> Run | None:
        """Replace the row if its `rev` is still `run.rev - 1`: `None` when done, else the row that is there.

        Raises `Refused` when there is no row.
        """
        ...

    def get_run(self, key: RunKey) -> Run | None:
        """The row, read strongly."""
        ...

    def get_runs(self, keys: Sequence[RunKey]) -> Mapping[RunKey, Run]:
        """Rows by batch reads, eventually consistent; absent ones are left out."""
        ...

    def list_runs(
        self,
        tenant: str,
        schedule_id: str,
        *,
        cursor: str | None,
        limit: int,
        through: tuple[int, Instant] | None = None,
    ) -> Page[Run]:
        """A schedule's history, newest first; with `through` from that epoch and nominal back."""
        ...

    def take_gate(
        self, tenant: str, schedule_id: str, run_id: str, began_at: Instant, instead_of: str | None
    ) -> str | None:
        """Take the schedule's gate for a run that started at `began_at`.

        It may if the gate has been free since then, or is held by itself or by `instead_of`. `None` when `run_id`
        holds it now, else the run id that does, or did until after `began_at`.
        """
        ...

    def release_gate(self, tenant: str, schedule_id: str, run_id: str, ended_at: Instant) -> None:
        """Free the gate from `ended_at` on if `run_id` holds it."""
        ...


class ShardStore(TimedStore, Protocol):
    """Shard leases, the dispatch log, the due index, claims, and the sweeper's books."""

    def take_lease(
        self, shard: int, slot_at: Instant, owner: str, until: Instant, now: Instant, *, known: int = 0
    ) -> ShardLease | None:
        """Take the shard for a slot: `None` when the slot was served, another's lease is live at `now`, or the shard
        was shut by a hold that is newer than the `rev` of the switch that is `known`.

        The lease returned holds the new fence and the batch that a predecessor left open.
        """
        ...

    def shut(self, shard: int, rev: int, raised_by: int = 1) -> None:
        """Keep from the shard whoever does not know of the hold that was written with `rev` of this region's switch.

        It raises the fence by so much: whoever has the shard announces nothing more, and what it has announced stays
        open. After the same hold it does nothing any more.
        """
        ...

    def get_lease(self, shard: int) -> ShardLease | None:
        """The lease item, read strongly; `None` before the first tick."""
        ...

    def raise_shards(self, shards: int) -> None:
        """Note in the lease of shard 0 that so many are served; never fewer, and nothing before its first tick."""
        ...

    def put_batch(self, batch: Batch) -> None:
        """Write a batch into the dispatch log; its id is its owner's alone."""
        ...

    def get_batch(self, batch_id: BatchId) -> Batch | None:
        """A batch of the log, read strongly."""
        ...

    def announce(self, lease: ShardLease, batch_id: BatchId, until: Instant) -> bool:
        """Make `batch_id` the shard's open batch, close the one before, renew the lease.

        False when `lease` (by owner and fence) has been taken by another, and for a late copy of an announcement: of a
        batch before, or of the last one after the shard was let go of. Then nothing was changed.
        """
        ...

    def release(self, lease: ShardLease, losers: frozenset[int]) -> bool:
        """Close the open batch, noting its losers in the lease, and let go of the shard.

        False when `lease` (by owner and fence) has been taken by another: then nothing was changed.
        """
        ...

    def due(self, shard: int, until: Instant, cursor: str | None, limit: int) -> Page[DueItem]:
        """A page of the due index up to and including `until`, oldest first. A hint: claims decide.

        Its timers hold what a claim needs; who claimed, changed, paused, parked or deferred them they do not say.
        """
        ...

    def claim(self, batch_id: BatchId, claims: Sequence[Claim]) -> Sequence[ClaimOutcome]:
        """Claim each on its own condition; outcomes in the order of `claims`. Never raises for a single claim."""
        ...

    def defer(self, item: Timer | RunTimer, due_at: Instant, reason: Reason) -> bool:
        """Move `due_at` to a place that is reserved for the fire, and raise the `rev` of a schedule's timer.

        On the condition of a non-claim write (`rev`, `nominal_at`), or for a run's timer that it waits as it was read.
        """
        ...

    def drop_unreadable(self, item: Unreadable, reason: Reason) -> bool:
        """Take an unreadable item out of the due index and mark it parked, if it is still as the index said."""
        ...

    def batches(self, shard: int, after: BatchId | None, through: BatchId, limit: int) -> Sequence[Batch]:
        """Batches of the log in (`after`, `through`], oldest first, orphans included."""
        ...

    def get_books(self, shard: int) -> Books:
        """The sweeper's books, read strongly; empty ones before the first sweep."""
        ...

    def put_books(self, books: Books) -> bool:
        """Replace the books if their `rev` is still `books.rev - 1`; False when another sweep was faster."""
        ...


class RetimingStore(Protocol):
    """Jobs that look at schedules again, the zone release in force, and the way through all schedules."""

    def open_retimings(self, limit: int) -> Sequence[Retiming]:
        """Jobs that are not finished, read strongly, by their ids."""
        ...

    def finished_retimings(self, limit: int) -> Sequence[Retiming]:
        """The newest finished jobs, read eventually, newest end first."""
        ...

    def put_retiming(self, job: Retiming) -> bool:
        """Replace an open job if its `rev` is still `job.rev - 1`; False when another was faster, or finished it."""
        ...

    def get_zone_release(self) -> ZoneRelease | None:
        """The installation's zone release, read strongly; `None` before the first sweep."""
        ...

    def list_everywhere(self, cursor: str | None, limit: int) -> Page[ScheduleKey]:
        """Schedules of all tenants, tombstones left out, in the store's own order, which does not change.

        A page may be short, or empty, and still have a cursor. A hint, as every index is.
        """
        ...

    def get_timers(self, keys: Sequence[ScheduleKey]) -> Mapping[ScheduleKey, Timer | Unreadable]:
        """Timers by batch reads, eventually consistent, with their calendars; absent ones are left out."""
        ...


class HeartbeatStore(Protocol):
    """Heartbeat URLs and their pings."""

    def get_heartbeat(self, name: str) -> Heartbeat | None:
        """The URL of this name, read strongly."""
        ...

    def list_pings(self, name: str, *, since: Instant, until: Instant, cursor: str | None, limit: int) -> Page[Ping]:
        """Pings of the URL of this name from `since` to `until`, both included, newest first."""
        ...


class JobStore(
    ScheduleStore,
    VersionStore,
    RunStore,
    AttemptLogStore,
    DeadLetterStore,
    ShardStore,
    RetimingStore,
    HeartbeatStore,
    TenantStore,
    ScheduleCountStore,
    RateStore,
    PeekStore,
    ForecastStore,
    FreezeStore,
    GateStore,
    BreakerStore,
    NoticeStore,
    SlotStore,
    ApiKeyStore,
    AuditStore,
    DeletionStore,
    DependencyStore,
    OperationStore,
    AlertStore,
    ErrandStore,
    Protocol,
):
    """All of it."""

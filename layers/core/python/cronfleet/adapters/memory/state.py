"""What the memory store holds: domain values under their keys, and one clock."""

from dataclasses import dataclass, field
from typing import TypeAlias

from cronfleet.adapters.memory.due_index import DueIndex, ItemKey
from cronfleet.domain.api_key import ApiKey
from cronfleet.domain.attempt_log import AttemptLog
from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.audit_chain import Chain, Head, Seal
from cronfleet.domain.books import Books
from cronfleet.domain.breaker import Breaker
from cronfleet.domain.calendar import Calendar, CalendarHead
from cronfleet.domain.claim import Batch, BatchId, RunTimer, Unreadable
from cronfleet.domain.deletion import Deletion
from cronfleet.domain.dependency import Dependants, DependencyMark
from cronfleet.domain.errand import Errand
from cronfleet.domain.forecast_reading import Reading, Walk
from cronfleet.domain.freeze import FreezeDirectory, FreezeList
from cronfleet.domain.gate import Waiting
from cronfleet.domain.heartbeat import Heartbeat, Ping
from cronfleet.domain.hold import Switch
from cronfleet.domain.instant import Instant
from cronfleet.domain.lease import ShardLease
from cronfleet.domain.noticeboard import Sheet, Topic
from cronfleet.domain.operation import Operation
from cronfleet.domain.retiming import Retiming
from cronfleet.domain.run import Run, RunKey
from cronfleet.domain.schedule import Definition, Timer
from cronfleet.domain.slot import Slot
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.undelivered import UnreadableMessage
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.ports.alerts import Alert
from cronfleet.ports.clock import Clock
from cronfleet.ports.job_store import IdempotencyRecord
from cronfleet.ports.target import Receipt

ScheduleKey: TypeAlias = tuple[str, str]
"""Tenant and schedule id."""


@dataclass(slots=True)
class State:
    """All tables of one installation."""

    clock: Clock
    due_index: DueIndex = field(default_factory=DueIndex)
    timers: dict[ScheduleKey, Timer] = field(default_factory=dict)
    run_timers: dict[ItemKey, RunTimer] = field(default_factory=dict)
    damaged: dict[ItemKey, Unreadable] = field(default_factory=dict)
    definitions: dict[tuple[ScheduleKey, int], Definition] = field(default_factory=dict)
    gates: dict[ScheduleKey, str] = field(default_factory=dict)
    """Which run holds each gate that is not free."""
    gates_free_since: dict[ScheduleKey, tuple[str, Instant]] = field(default_factory=dict)
    """Which run held each that is, and when that ended."""
    gate_lines: dict[ScheduleKey, tuple[tuple[Waiting, ...], int]] = field(default_factory=dict)
    """Who waits at each, and its `rev`."""
    runs: dict[RunKey, Run] = field(default_factory=dict)
    history: dict[ScheduleKey, list[RunKey]] = field(default_factory=dict)
    attempt_logs: dict[tuple[RunKey, int], AttemptLog] = field(default_factory=dict)
    letters: dict[str, set[RunKey]] = field(default_factory=dict)
    """By owner the rows that came to be its letters; those that have become another's since are passed over."""
    unreadable: dict[tuple[Instant, str], UnreadableMessage] = field(default_factory=dict)
    audit: dict[tuple[str, str], AuditEntry] = field(default_factory=dict)
    audit_heads: dict[Chain, Head] = field(default_factory=dict)
    seals: dict[str, list[Seal]] = field(default_factory=dict)
    """Each tenant's, in the order of their numbers."""
    idempotency: dict[tuple[str, str], IdempotencyRecord] = field(default_factory=dict)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    schedule_counts: dict[str, int] = field(default_factory=dict)
    counted_tenants: set[str] = field(default_factory=set)
    """Whose schedules older than counting were all counted, …"""
    counted_until: dict[str, str] = field(default_factory=dict)
    """… and how far those of others are."""
    api_keys: dict[str, ApiKey] = field(default_factory=dict)
    listed_keys: set[tuple[str, str]] = field(default_factory=set)
    """Tenants and ids of the keys that their tenants' lists hold."""
    leases: dict[int, ShardLease] = field(default_factory=dict)
    batches: dict[BatchId, Batch] = field(default_factory=dict)
    log: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """The order of each shard's batches."""
    books: dict[int, Books] = field(default_factory=dict)
    forecast_walk: Walk | None = None
    forecasts: dict[int | None, Reading] = field(default_factory=dict)
    """By shard; of all under `None`."""
    calendar_heads: dict[tuple[str, str], CalendarHead] = field(default_factory=dict)
    calendars: dict[tuple[str, str, int], Calendar] = field(default_factory=dict)
    receipts: dict[tuple[RunKey, str], Receipt] = field(default_factory=dict)
    open_retimings: dict[str, Retiming] = field(default_factory=dict)
    finished_retimings: dict[str, Retiming] = field(default_factory=dict)
    zone_release: ZoneRelease | None = None
    heartbeats: dict[str, Heartbeat] = field(default_factory=dict)
    """Heartbeat URLs by their names."""
    pings: dict[str, list[Ping]] = field(default_factory=dict)
    """The pings of each, oldest first."""
    lines: dict[str, int] = field(default_factory=dict)
    """Where the lines stand that keep rates, in µs."""
    freeze_directory: FreezeDirectory | None = None
    breakers: dict[tuple[str, str], Breaker] = field(default_factory=dict)
    """By tenant and id."""
    sheets: dict[tuple[Topic, int], Sheet] = field(default_factory=dict)
    switches: dict[str, Switch] = field(default_factory=dict)
    """By region, how its installation is held."""
    freeze_lists: dict[str, FreezeList] = field(default_factory=dict)
    alerts: dict[tuple[str, str, str], Alert] = field(default_factory=dict)
    """By tenant, what it is, and its name."""
    slots: dict[tuple[str, int], Slot] = field(default_factory=dict)
    """By tenant and number."""
    open_deletions: dict[str, Deletion] = field(default_factory=dict)
    ended_deletions: dict[str, Deletion] = field(default_factory=dict)
    operations: dict[tuple[str, str], Operation] = field(default_factory=dict)
    """By tenant and id."""
    dependants: dict[tuple[str, str], Dependants] = field(default_factory=dict)
    """By tenant and schedule."""
    dependency_marks: dict[str, DependencyMark] = field(default_factory=dict)
    errands: dict[ItemKey, Errand] = field(default_factory=dict)
    skew_ms: int | None = 0

"""What every job store promises about deletions: what a tenant owns is found, whatever it is, and nobody else's."""

from dataclasses import fields, replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.memory.state import State
from cronfleet.domain.api_key import ApiKey
from cronfleet.domain.attempt_log import AttemptLog, LogLine
from cronfleet.domain.audit import AuditEntry, schedule_subject, subject
from cronfleet.domain.breaker import Breaker, BreakerKind, Guarded
from cronfleet.domain.calendar import Calendar, CalendarHead
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.deletion import Deletion, Kind, Owned, Request, Stage
from cronfleet.domain.dependency import Dependants, DependencyMark
from cronfleet.domain.errand import Errand, ErrandKind, new_errand
from cronfleet.domain.freeze import Freeze, FreezeDirectory, FreezeList, TenantScope, with_freeze
from cronfleet.domain.heartbeat import Heartbeat, Ping
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.operation import Kind as OperationKind
from cronfleet.domain.operation import Operation
from cronfleet.domain.rate import line_of_key, line_of_slots, line_of_tenant
from cronfleet.domain.retiming import for_calendar
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Change, Status
from cronfleet.domain.slot import Slot
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.deletions import Found
from cronfleet.ports.job_store import (
    CountSchedules,
    CreateTimer,
    IdempotencyRecord,
    InsertAudit,
    InsertCalendar,
    InsertDefinition,
    InsertDeletion,
    InsertIdempotency,
    InsertPing,
    InsertRetiming,
    InsertRun,
    InsertRunTimer,
    ListApiKey,
    PutAlert,
    PutApiKey,
    PutCalendarHead,
    PutDependants,
    PutDependencyMark,
    PutErrand,
    PutFreezeDirectory,
    PutFreezeList,
    PutHeartbeat,
    PutOperation,
    PutTenant,
    Refused,
    Write,
)
from tests.support.alert_examples import EXAMPLES
from tests.support.builders import definition, every, timer
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

REQUEST = Request("ada", "key1", "home", "request-1", "contract ended")
MINUTELY = every(60)


def job(tenant: str = "acme", **changes: Any) -> Deletion:
    return Deletion(tenant, REQUEST, NOON, stage_since=NOON, **changes)


def schedule(tenant: str, schedule_id: str, status: Status = Status.ACTIVE, number: int = 0) -> list[Write]:
    """A schedule with a version, a finished run, a run's timer, a heartbeat URL and a ping, as its log names it."""
    key = RunKey(tenant, schedule_id, 1, NOON)
    waits = RunTimer(replace(key, cause="manual-1"), TimerKind.RETRY, 1, NOON, "standard", 0, 1, 60)
    due_at = NOON if status is Status.ACTIVE else None
    named = {"tenant": tenant, "schedule_id": schedule_id, "change_id": f"made-{schedule_id}"}
    made = timer(MINUTELY, due_at, status=status, **named)
    heartbeat = Heartbeat(tenant, schedule_id, 1, "digest", "ada", NOON, NOON, f"beat-{schedule_id}")
    filed = schedule_subject(schedule_id)
    entry = AuditEntry(tenant, f"01{number:02}", NOON, "ada", Change.CREATE, filed, f"r-{schedule_id}")
    return [
        CreateTimer(made),
        InsertDefinition(replace(definition(MINUTELY, schedule_id), tenant=tenant)),
        InsertRun(Run(key, RunStatus.SUCCEEDED, due_at=NOON, tier="standard", version=1, finished_at=NOON)),
        InsertRunTimer(waits),
        PutHeartbeat(heartbeat, None),
        InsertPing(Ping(tenant, schedule_id, "ping1", NOON)),
        InsertAudit(entry),
    ]


def furnished(engine: Engine, tenant: str) -> None:
    """Give `tenant` one of everything that can be stored of one."""
    store = engine.store
    record = Tenant(tenant, rev=1, change_id=f"made-{tenant}")
    key = ApiKey(f"key-{tenant}", "digest", record, change_id=f"key-{tenant}")
    store.commit([PutTenant(record, None), PutApiKey(key, None), ListApiKey(key)])
    store.commit([*schedule(tenant, "nightly"), CountSchedules(tenant, 1, 10)])
    store.commit(schedule(tenant, "deleted", Status.CANCELLED, number=1))
    store.take_gate(tenant, "nightly", "run-1", NOON, None)
    going = Run(RunKey(tenant, "nightly", 1, NOON + MINUTE), RunStatus.RUNNING, due_at=NOON, tier="standard", version=1)
    store.insert_run(going)
    engine.receipts.record(going.key, going.fence, "paid", 7, NOON)
    store.put_log(AttemptLog(going.key, 1, NOON, (LogLine(NOON, "INFO", "at work"),)))
    calendar = Calendar(tenant, "uk", 1, frozenset({5, 6}), (), 25_000)
    head = CalendarHead(tenant, "uk", 2, 25_000, "", NOON, f"uk-{tenant}", is_deleted=True)
    store.commit([PutCalendarHead(head, None), InsertCalendar(calendar), InsertCalendar(replace(calendar, version=2))])
    going, over = for_calendar(tenant, "uk", 2, NOON), for_calendar(tenant, "uk", 3, NOON)
    store.commit([InsertRetiming(going), InsertRetiming(over)])
    store.put_retiming(over.ended(NOON + MINUTE))
    asked_for = Operation(tenant, "o1", OperationKind.BACKFILL, {}, "ada", NOON, f"o1-{tenant}")
    over_now = replace(asked_for, operation_id="o2", change_id=f"o2-{tenant}", ended_at=NOON)
    store.commit([PutDependants(Dependants(tenant, "nightly", ("report",), 1))])
    store.commit([PutDependencyMark(DependencyMark(tenant, 1))])
    store.commit([PutOperation(asked_for, None), PutOperation(over_now, None)])
    watch = new_errand(tenant, ErrandKind.WATCH, "nightly", NOON, now=NOON, shards=2)
    page = new_errand(tenant, ErrandKind.OPERATION, "o1", NOON, now=NOON, shards=2)
    store.commit([PutErrand(watch), PutErrand(page)])
    store.commit([PutAlert(replace(one, tenant=tenant)) for one in EXAMPLES])
    store.put_breaker(Breaker(Guarded(tenant, BreakerKind.HANDLER, "billing"), failed_at=NOON, rev=1))
    store.take_slot(Slot(tenant, 1, fence=1, holder="run-1", until=NOON + HOUR, taken_at=NOON), Slot(tenant, 1))
    for line in (line_of_tenant(tenant), line_of_slots(tenant), line_of_key(key.key_id)):
        store.draw(line, 1_000, floor=NOON * 1_000)
    record_of = IdempotencyRecord(tenant, "once", "digest", {}, NOON + DAY)
    store.commit([InsertIdempotency(record_of)])
    freeze = Freeze("f1", TenantScope(tenant), "ada", NOON, suspends=True)
    directory = store.get_freeze_directory()
    after, marked = with_freeze(FreezeList(tenant), directory, freeze, now=NOON, change_id=f"f-{tenant}")
    store.commit([PutFreezeList(after), PutFreezeDirectory(marked)])
    entry = AuditEntry(tenant, "0199", NOON, "ada", "put_calendar", subject("calendar", "uk"), "r9")
    store.commit([InsertAudit(entry)])


def erased(store: Any, tenant: str = "acme", limit: int = 3) -> dict[str, int]:
    """Remove everything, stage by stage and page by page; how many things of each kind that were."""
    removed: dict[str, int] = {}
    for stage in Stage:
        cursor: str | None = None
        for _ in range(500):
            found: Found = store.owned(tenant, stage, cursor, limit)
            store.erase(found.items)
            for owned in found.items:
                removed[owned.kind.value] = removed.get(owned.kind.value, 0) + 1
            cursor = found.cursor
            if not found.items and cursor is None:
                break
        else:
            raise AssertionError(f"{stage} does not come to an end")
    return removed


ALL = {
    "api_keys": 1,
    "key_listings": 1,
    "schedules": 2,
    "versions": 2,
    "dependants": 1,
    "gates": 1,
    "run_timers": 2,
    "runs": 3,
    "receipts": 1,
    "attempt_logs": 1,
    "heartbeats": 2,
    "pings": 2,
    "calendars": 1,
    "calendar_versions": 2,
    "retimings": 2,
    "errands": 2,
    "operations": 2,
    "alerts": len(EXAMPLES),
    "breakers": 1,
    "slots": 1,
    "lines": 3,
    "remembered_answers": 1,
    "freeze_lists": 1,
    "audit_entries": 3,
    "audit_chains": 3,
}


@pytest.mark.parametrize("limit", [1, 3, 200])
def test_all_that_a_tenant_owns_is_found_and_removed_and_nothing_of_another(engine: Engine, limit: int) -> None:
    furnished(engine, "acme")
    furnished(engine, "acme-2")
    found = erased(engine.store, limit=limit)
    assert found.pop("counters") >= 1
    assert found == ALL
    assert set(erased(engine.store, limit=limit)) == set()
    assert traces(engine, "acme") == []
    kept = erased(engine.store, "acme-2", limit)
    assert kept.pop("counters") >= 1
    assert kept == ALL


BESIDE = ("clock", "tenants", "freeze_directory", "zone_release", "skew_ms")
HELD = tuple(one.name for one in fields(State) if one.name not in BESIDE)


def traces(engine: Engine, tenant: str) -> list[str]:
    """Where the store still names the tenant, besides in its record."""
    if engine.client is None:
        state = engine.store.state
        held = {name: getattr(state, name) for name in HELD}
        return [name for name, one in held.items() if _names(repr(one), tenant)]
    found = []
    for table in schema.TABLES:
        items = engine.client.scan(TableName=f"{engine.prefix}-{table.name}", Limit=1_000)["Items"]
        found += [str(item) for item in items if _names(str(item), tenant) and item["sk"]["S"] != "TENANT"]
    return found


def _names(text: str, tenant: str) -> bool:
    return tenant in text.replace(f"{tenant}-2", "")


def test_a_key_that_a_request_under_way_made_after_the_others_were_gone_goes_with_the_counts(engine: Engine) -> None:
    record = Tenant("acme", rev=1, change_id="made-acme")
    engine.store.commit([PutTenant(record, None)])
    assert engine.store.owned("acme", Stage.KEYS, None, 10).items == []
    for tenant in ("acme", "acme-2"):
        late = ApiKey(f"late-{tenant}", "digest", Tenant(tenant), change_id=f"late-{tenant}")
        engine.store.commit([PutApiKey(late, None), ListApiKey(late)])
    found = engine.store.owned("acme", Stage.COUNTS, None, 10).items
    assert {owned.kind for owned in found} == {Kind.API_KEYS, Kind.KEY_LISTINGS}
    engine.store.erase(found)
    assert engine.store.find_api_key("late-acme") is None
    assert engine.store.find_api_key("late-acme-2") is not None
    assert traces(engine, "acme") == []


def test_what_is_gone_already_can_be_removed_again(engine: Engine) -> None:
    furnished(engine, "acme")
    found = engine.store.owned("acme", Stage.SCHEDULES, None, 200)
    engine.store.erase(found.items)
    engine.store.erase(found.items)
    assert engine.store.get_timer("acme", "nightly") is None
    left = engine.store.due(0, NOON + DAY, None, 100).items
    assert [item for item in left if not isinstance(item, Errand)] == []


def test_a_deletion_is_kept_exactly_from_its_request_to_its_end(store: Any) -> None:
    assert store.get_deletion("acme") is None
    first = job()
    store.commit([InsertDeletion(first)])
    assert store.get_deletion("acme") == first
    assert store.open_deletions(10) == [first]
    page = [Owned(Kind.RUNS, ("runs", "acme#nightly", "x y")), Owned(Kind.SLOTS, ("slots", "acme", "S#1"))]
    second = replace(first, cursor="onwards").announcing(page)
    assert store.put_deletion(second)
    assert store.get_deletion("acme") == second
    third = second.in_next_stage(NOON + SECOND)
    assert store.put_deletion(third)
    assert store.get_deletion("acme").removed == {"runs": 1, "slots": 1}
    ended = third.ended(NOON + MINUTE)
    store.commit([InsertDeletion(ended)])
    assert store.get_deletion("acme") == ended
    store.close_deletion("acme")
    store.close_deletion("acme")
    assert store.open_deletions(10) == []
    assert store.get_deletion("acme") == ended


def test_a_second_deletion_of_a_tenant_is_refused_and_its_own_repeated_request_recognised(store: Any) -> None:
    store.commit([InsertDeletion(job())])
    store.commit([InsertDeletion(job())])
    with pytest.raises(Refused) as refused:
        store.commit([InsertDeletion(job(cursor="other"))])
    assert refused.value.stored == job()


def test_of_two_sweeps_that_carry_on_one_deletion_one_notes_its_page(store: Any) -> None:
    store.commit([InsertDeletion(job())])
    mine = job().announcing([Owned(Kind.RUNS, ("runs", "a", "b"))])
    other = job().announcing([Owned(Kind.RUNS, ("runs", "a", "c"))])
    assert store.put_deletion(mine)
    assert store.put_deletion(mine), "its first reply was lost"
    assert not store.put_deletion(other)
    assert store.get_deletion("acme") == mine


def test_deletions_of_several_tenants_are_read_by_tenant(store: Any) -> None:
    jobs = [job(tenant) for tenant in ("b", "a", "c")]
    for one in jobs:
        store.commit([InsertDeletion(one)])
    assert [one.tenant for one in store.open_deletions(2)] == ["a", "b"]


def test_a_row_is_forgotten_only_as_it_was_read(store: Any) -> None:
    row = Run(RunKey("acme", "nightly", 1, NOON), RunStatus.RUNNING, due_at=NOON, tier="standard", version=1)
    store.insert_run(row)
    assert not store.forget_run(replace(row, rev=row.rev + 1))
    assert store.get_run(row.key) == row
    assert store.forget_run(row)
    assert store.get_run(row.key) is None
    assert not store.forget_run(row)


def test_a_directory_of_freezes_is_not_the_tenant_s_own(store: Any) -> None:
    assert store.get_freeze_directory() == FreezeDirectory()
    assert store.owned("acme", Stage.COUNTS, None, 10) == Found([], None)

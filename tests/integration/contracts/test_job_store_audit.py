"""What every job store promises about reading the audit log."""

from dataclasses import replace
from typing import Any

from cronfleet.domain.audit import AuditEntry, Wanted, id_prefix, schedule_subject
from cronfleet.domain.instant import HOUR, MINUTE, Instant
from cronfleet.ports.job_store import InsertAudit
from tests.support.examples import TENANT
from tests.support.settable_clock import NOON


def entry(at: Instant, schedule_id: str = "nightly", tenant: str = TENANT) -> AuditEntry:
    return AuditEntry(
        tenant, f"{id_prefix(at)}{schedule_id:0>16}", at, "ada", "pause", schedule_subject(schedule_id), "r", reason="x"
    )


def read(store: Any, since: Instant, until: Instant, limit: int = 100) -> list[AuditEntry]:
    found: list[AuditEntry] = []
    cursor = None
    while True:
        page = store.list_audit(TENANT, Wanted(since, until, "schedule:nightly"), cursor=cursor, limit=limit)
        assert len(page.items) <= limit
        found += page.items
        cursor = page.cursor
        if cursor is None:
            return found


def test_one_schedules_entries_are_read_newest_first(store: Any) -> None:
    ours = [entry(NOON + number * MINUTE) for number in range(5)]
    store.commit([InsertAudit(one) for one in ours])
    store.commit([InsertAudit(entry(NOON, "other")), InsertAudit(entry(NOON, tenant="rival"))])
    assert read(store, NOON, NOON + HOUR) == ours[::-1]
    assert read(store, NOON, NOON + HOUR, limit=2) == ours[::-1]
    assert read(store, NOON + MINUTE, NOON + 3 * MINUTE) == ours[3:0:-1], "both ends are included"
    assert read(store, NOON + HOUR, NOON + 2 * HOUR) == []


def test_a_page_may_be_short_where_other_schedules_entries_lie_between(store: Any) -> None:
    first = entry(NOON)
    store.commit([InsertAudit(first)])
    for start in range(0, 240, 60):
        others = [entry(NOON + MINUTE + number, f"o{number}") for number in range(start, start + 60)]
        store.commit([InsertAudit(one) for one in others])
    assert read(store, NOON, NOON + HOUR, limit=1) == [first]


def test_an_entry_is_found_by_its_own_time_although_its_id_is_a_little_older(store: Any) -> None:
    late = replace(entry(NOON), at=NOON + 20_000)
    store.commit([InsertAudit(late)])
    assert read(store, NOON + 15_000, NOON + 25_000) == [late]
    assert read(store, NOON, NOON + 10_000) == []

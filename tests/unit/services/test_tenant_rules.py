"""Tenant rules: read rarely, never older than said, and never a reason to stand still."""

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.instant import SECOND
from cronfleet.domain.quota import DEFAULTS, Quotas, quotas_of
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services import tenant_rules
from cronfleet.services.tenant_rules import MAX_AGE, TenantRules
from tests.support.faults import Faulty
from tests.support.settable_clock import NOON, SettableClock


class Installation:
    def __init__(self) -> None:
        self.store = MemoryJobStore(SettableClock())
        self.calls = 0
        self.silent = False
        self.rules = TenantRules(Faulty(self.store, self._hear))  # type: ignore[arg-type]  # stands for any port

    def _hear(self, when: str, name: str) -> None:
        self.calls += when == "before"
        if self.silent:
            raise NoAnswer("silence")

    def put(self, tenant: Tenant) -> None:
        self.store.state.tenants[tenant.tenant_id] = tenant


def test_a_record_is_read_once_in_half_a_minute() -> None:
    here = Installation()
    here.put(Tenant("a", "priority", rev=1))

    for second in range(30):
        assert here.rules.of(["a", "b", "a"], NOON + second * SECOND)["a"].tier == "priority"
    here.put(Tenant("a", rev=2))

    assert here.calls == 1
    assert here.rules.of(["a"], NOON + MAX_AGE)["a"].rev == 2


def test_a_tenant_without_a_record_has_the_defaults() -> None:
    here = Installation()

    assert here.rules.of(["nobody"], NOON) == {"nobody": Tenant("nobody")}
    assert quotas_of(Tenant("nobody")) == DEFAULTS["standard"]


def test_while_the_store_is_silent_what_was_known_is_used_and_asked_for_again() -> None:
    here = Installation()
    here.put(Tenant("a", "priority", rev=1))
    here.rules.of(["a"], NOON)
    here.silent = True

    later = here.rules.of(["a", "new"], NOON + 2 * MAX_AGE)
    here.silent = False
    here.put(Tenant("new", "priority", rev=1))

    assert (later["a"].tier, later["new"].tier) == ("priority", "standard")
    assert here.rules.of(["new"], NOON + 2 * MAX_AGE)["new"].tier == "priority"


def test_a_clock_that_was_set_back_makes_no_record_young_for_ever() -> None:
    here = Installation()
    here.rules.of(["a"], NOON)
    here.put(Tenant("a", "priority", rev=1))

    assert here.rules.of(["a"], NOON - SECOND)["a"].tier == "priority"


def test_what_was_not_asked_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_rules, "MAX_KEPT", 2)
    here = Installation()

    for name in ("a", "b", "a", "c", "a", "b"):
        here.rules.of([name], NOON)

    assert here.calls == 4


def test_a_record_says_otherwise_quota_by_quota() -> None:
    tenant = Tenant("a", "priority", quotas=(("burst", 3), ("gone in a later release", 9)))

    priority = DEFAULTS["priority"]
    assert quotas_of(tenant) == Quotas(
        priority.schedules,
        priority.concurrent_runs,
        priority.fires_per_second,
        3,
        priority.payload_bytes,
        priority.retention_days,
        priority.backfill_fires,
        priority.requests_per_second,
    )


def test_none_of_those_asked_for_makes_room_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was known already, and longest, made room for those read with it, and had the defaults for a tick."""
    monkeypatch.setattr(tenant_rules, "MAX_KEPT", 3)
    here = Installation()
    for name in "abcd":
        here.put(Tenant(name, "priority", rev=1))
    here.rules.of("abc", NOON)

    found = here.rules.of("da", NOON + SECOND)

    assert {tenant.tier for tenant in found.values()} == {"priority"}
    assert here.rules.knows("a")

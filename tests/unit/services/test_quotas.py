"""Quotas at work: the count of schedules through crashes, races and upgrades; what retention shows."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.errors import Contended, NotFound, QuotaExceeded
from cronfleet.domain.instant import DAY, MINUTE
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.run import ROW_LIFE_DAYS, Outcome, RunStatus
from cronfleet.domain.schedule import Policies, Spec, Status
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services import quotas
from cronfleet.services.ledger import Ledger
from cronfleet.services.quotas import TenantQuotas
from cronfleet.services.runs import Runs
from cronfleet.services.schedules import Schedules
from tests.support.builders import cron, every
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.lived import SHARDS, LivedWorld
from tests.support.settable_clock import NOON, CountingIds
from tests.unit.services.test_runs import WithRuns
from tests.unit.services.test_schedules import ACME, NIGHTLY, Installation

SMALL = Tenant("acme", quotas=(("retention_days", 7), ("schedules", 2)), rev=1)
LONG = Tenant("acme", quotas=(("retention_days", 400),), rev=1)


class Counted(Installation):
    """An installation whose count is held against what is really there."""

    def __init__(self, tenant: Tenant = SMALL) -> None:
        super().__init__()
        self.store.state.tenants["acme"] = tenant

    @property
    def live(self) -> int:
        return sum(timer.status is not Status.CANCELLED for timer in self.store.state.timers.values())

    @property
    def count(self) -> int:
        return self.store.get_schedule_count("acme").use

    def forget_counting(self) -> None:
        """As it is in an installation that is older than counting."""
        state = self.store.state
        state.schedule_counts.clear()
        state.counted_tenants.clear()
        state.timers = {key: replace(timer, is_counted=False) for key, timer in state.timers.items()}

    def restart(self) -> None:
        """A new process serves."""
        store: Any = Faulty(self.store, self.hook)
        self.schedules = Schedules(store=store, clock=self.clock, ids=CountingIds(1_000), shards=4)

    def upgraded(self) -> TenantQuotas:
        """What a process of the new version begins with."""
        self.forget_counting()
        return TenantQuotas(self.store)


def created(here: Installation) -> None:
    here.create("one")


def put(here: Installation) -> None:
    here.schedules.put(ACME, "one", lambda *_: NIGHTLY)


def deleted(here: Installation) -> None:
    here.schedules.delete(ACME, "first")


def born_again(here: Installation) -> None:
    here.schedules.delete(ACME, "first")
    here.create("first")


@pytest.mark.parametrize("change", [created, put, deleted, born_again])
@pytest.mark.parametrize("fault", [Crash, lambda: NoAnswer("lost")])
def test_the_count_is_right_wherever_a_change_is_stopped(
    change: Callable[[Installation], None], fault: Callable[[], BaseException]
) -> None:
    def stopped_at(step: int | None) -> FaultAt:
        here = Counted()
        here.create("first")
        here.restart()
        stop = FaultAt(step, fault)
        here.fault = stop
        with suppress(Crash, Contended):
            change(here)
        assert here.count == here.live, f"stopped at {stop.moments[-1]}"
        return stop

    undisturbed = stopped_at(None)
    assert ("after", "commit") in undisturbed.moments
    for step, (_, name) in enumerate(undisturbed.moments):
        if name != "skew_ms":  # which asks this process alone
            stopped_at(step)


def test_the_last_place_is_given_once_and_a_deletion_gives_it_back() -> None:
    here = Counted()
    here.create("one")
    here.create("two")

    with pytest.raises(QuotaExceeded) as refused:
        here.create("three")
    here.schedules.delete(ACME, "one")
    here.create("three")

    assert (refused.value.quota, refused.value.use, refused.value.limit) == ("schedules", 2, 2)
    assert (here.count, here.live) == (2, 2)


def test_what_has_completed_counts_until_it_is_deleted() -> None:
    here = Counted()
    here.create("nightly")
    here.set(status=Status.COMPLETED, nominal_at=None, due_at=None)
    assert here.count == 1

    here.schedules.delete(ACME, "nightly")

    assert here.count == 0


def test_a_creation_whose_reply_was_lost_takes_one_place_be_it_the_last() -> None:
    here = Counted()
    here.create("one")
    lost: list[Any] = []

    def lose_first_reply(when: str, name: str) -> None:
        if (when, name) == ("after", "commit") and not lost:
            lost.append(name)
            raise NoAnswer("lost")

    here.fault = lose_first_reply
    answer = here.create("two")

    assert (lost, answer.created, here.count) == (["commit"], True, 2)


# --- what is older than counting ---------------------------------------------------------------------------------


def many(monkeypatch: pytest.MonkeyPatch, number: int) -> Counted:
    monkeypatch.setattr(quotas, "COUNTED_AT_ONCE", 3)
    here = Counted(Tenant("acme", rev=1))
    for one in range(number):
        here.create(f"s{one:03}")
    return here


def test_schedules_older_than_counting_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    here = many(monkeypatch, 10)
    here.schedules.delete(ACME, "s004")

    assert here.upgraded().schedules_of("acme") == 9
    assert TenantQuotas(here.store).schedules_of("acme") == 9
    assert all(timer.is_counted for timer in here.store.state.timers.values() if timer.status is Status.ACTIVE)


def test_a_dry_run_counts_what_is_older_than_counting_and_leaves_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    here = many(monkeypatch, 5)
    here.schedules.delete(ACME, "s004")
    here.forget_counting()
    before = repr(here.store.state)
    tried = here.schedules.tried().create(ACME, "new", lambda *_: NIGHTLY)
    assert tried.form["effect"]["quota"]["schedules"] == {"use": 4, "after": 5, "limit": 10_000}
    assert TenantQuotas(here.store, writes=False).seen("acme") == 4
    assert repr(here.store.state) == before
    # Half counted is no different.
    monkeypatch.setattr(quotas, "MAX_COUNTED_PAGES", 1)
    with suppress(Contended):
        TenantQuotas(here.store).schedules_of("acme")
    monkeypatch.setattr(quotas, "MAX_COUNTED_PAGES", 50)
    assert here.count == 3
    assert TenantQuotas(here.store, writes=False).seen("acme") == 4


def test_counting_that_was_stopped_anywhere_goes_on_and_counts_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped_at(step: int | None) -> FaultAt:
        here = many(monkeypatch, 7)
        here.forget_counting()
        here.restart()
        stop = FaultAt(step)
        here.fault = stop
        with suppress(Crash):
            here.create("new")
        assert TenantQuotas(here.store).schedules_of("acme") == here.live
        return stop

    for step in range(len(stopped_at(None).moments)):
        stopped_at(step)


def test_a_tenant_with_too_many_for_one_request_is_counted_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    here = many(monkeypatch, 10)
    monkeypatch.setattr(quotas, "MAX_COUNTED_PAGES", 2)
    here.forget_counting()
    here.restart()

    with pytest.raises(Contended):
        here.create("new")
    assert here.count == 6
    here.create("new")

    assert (here.count, here.live) == (11, 11)


def test_a_schedule_that_changes_while_it_is_counted_is_counted_as_it_is_then(monkeypatch: pytest.MonkeyPatch) -> None:
    here = many(monkeypatch, 3)
    seen = dict(here.store.state.timers)
    counting = here.upgraded()
    monkeypatch.setattr(
        here.store, "get_timers", lambda keys: {key: replace(seen[key], is_counted=False) for key in keys}
    )
    here.schedules.delete(ACME, "s001")
    here.schedules.pause(ACME, "s002", reason="quarter end")

    assert counting.schedules_of("acme") == 2


def test_one_that_nobody_found_is_counted_when_it_is_changed() -> None:
    here = Counted()
    here.create("nightly")
    here.store.state.schedule_counts["acme"] = 0
    here.set(is_counted=False)

    here.schedules.pause(ACME, "nightly", reason="quarter end")

    assert here.count == 1
    assert here.timer().is_counted


# --- for whom ------------------------------------------------------------------------------------------------------


def test_a_platform_admin_cannot_make_schedules_for_a_tenant_that_is_not_there() -> None:
    here = Installation()

    with pytest.raises(NotFound):
        here.schedules.create(replace(ACME, home_tenant="home"), "nightly", lambda *_: NIGHTLY)


# --- retention ---------------------------------------------------------------------------------------------------


def with_history(tenant: Tenant) -> WithRuns:
    """A daily schedule whose runs of the first ten days are in the ledger."""
    here = WithRuns()
    here.store.state.tenants["acme"] = tenant
    here.create(spec=Spec(cron("0 12 * * *"), NIGHTLY.target))
    for day in range(1, 11):
        here.clock.set(NOON + day * DAY)
        run = here.start(here.key(day * DAY // 1_000))
        ended = replace(run.attempts[-1], finished_at=here.clock.now(), outcome=Outcome.SUCCEEDED)
        assert (
            here.store.replace_run(run.moved(RunStatus.SUCCEEDED, attempts=(ended,), finished_at=here.clock.now()))
            is None
        )
    here.clock.set(NOON + 10 * DAY + MINUTE)
    here.set(nominal_at=NOON + 11 * DAY, due_at=NOON + 11 * DAY)
    return here


def test_history_goes_no_further_back_than_the_retention() -> None:
    here = with_history(SMALL)
    caller = replace(ACME, tenant=SMALL)

    page = here.runs.history(caller, "nightly", cursor=None, limit=100)
    first = here.runs.history(caller, "nightly", cursor=None, limit=5)
    last = here.runs.history(caller, "nightly", cursor=first.cursor, limit=5)

    assert len(page.items) == 7
    assert (len(first.items), len(last.items), last.cursor) == (5, 2, None)
    with pytest.raises(NotFound):
        here.runs.get(caller, here.key(3 * DAY // 1_000).run_id)
    assert here.runs.get(caller, here.key(4 * DAY // 1_000).run_id)["status"] == "succeeded"


def test_explain_and_the_ledger_go_no_further_back_either() -> None:
    here = with_history(SMALL)
    ledger = Ledger(store=here.store, clock=here.clock)
    caller = replace(ACME, tenant=SMALL)

    past = ledger.explain(caller, "nightly", NOON + 2 * DAY)
    shown = ledger.explain(caller, "nightly", NOON + 5 * DAY)
    entries = ledger.entries(caller, "nightly", from_at=NOON + DAY, to_at=NOON + 10 * DAY, cursor=None, limit=50).items

    assert (past["code"], shown["code"]) == ("forgotten", "ran")
    assert "7 days back" in past["text"]
    assert [one["code"] for one in entries] == ["forgotten", *["ran"] * 7]


def test_a_run_that_still_goes_on_is_shown_however_old_it_is() -> None:
    here = WithRuns()
    here.create(spec=Spec(cron("0 12 * * *"), NIGHTLY.target))
    here.clock.set(NOON + DAY)
    here.start(here.key(DAY // 1_000))
    here.clock.set(NOON + 20 * DAY)

    assert len(here.runs.history(replace(ACME, tenant=SMALL), "nightly", cursor=None, limit=5).items) == 1


@pytest.mark.parametrize(("tenant", "days"), [(SMALL, ROW_LIFE_DAYS), (LONG, 400)])
def test_a_row_is_kept_for_the_retention_and_never_less_than_the_scheduler_needs(tenant: Tenant, days: int) -> None:
    here = Installation()
    here.create()
    runs = Runs(store=here.store, clock=here.clock, ids=CountingIds(500))

    runs.run_now(replace(ACME, tenant=tenant), "nightly")

    assert [row.kept_days for row in here.rows] == [days]


def test_rows_of_the_dispatcher_and_the_worker_are_kept_as_long_and_so_are_those_sent_again() -> None:
    """A run, a stretch that an outage missed, and a run whose message was lost."""
    house = LivedWorld(NOON)
    record = house.store.state.tenants["acme"]
    quotas_then = dict(record.quotas) | {"retention_days": 400}
    house.store.state.tenants["acme"] = replace(record, quotas=tuple(sorted(quotas_then.items())))
    house.put(Spec(every(20, NOON), NIGHTLY.target, policies=Policies(Misfire(MisfirePolicy.SKIP, grace_seconds=10))))
    house.live(60)
    house.outage(300)
    house.live(20)
    house.outage(20)
    house.tick(shards=SHARDS)
    house.lose_messages()
    house.live(900)

    rows = list(house.store.state.runs.values())
    assert {row.status for row in rows} == {RunStatus.SUCCEEDED, RunStatus.MISSED}
    assert any(row.resent_at for row in rows)
    assert {row.kept_days for row in rows} == {400}

"""A tenant's schedules looked over: pages that lose none, and minutes counted as they will be."""

from collections import Counter
from dataclasses import replace

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.audit import Wanted
from cronfleet.domain.instant import DAY, HOUR, MINUTE
from cronfleet.domain.lint import WarningCode
from cronfleet.domain.outlook import fires_of
from cronfleet.domain.schedule import Policies, Spec, Status
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import Trigger
from cronfleet.services import lint
from cronfleet.services.access import Caller
from cronfleet.services.lint import LintService
from cronfleet.services.schedules import Schedules
from tests.support.builders import cron, every
from tests.support.settable_clock import NOON, CountingIds, SettableClock

ACME = Caller(Tenant("acme"), "demo", "request-1")
RIVAL = Caller(Tenant("rival"), "other", "request-2")


class Installation:
    """A store, with the services in front of it."""

    def __init__(self):
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.schedules = Schedules(store=self.store, clock=self.clock, ids=CountingIds(), shards=4)
        self.lint = LintService(store=self.store, clock=self.clock)

    def create(self, schedule_id: str, trigger: Trigger, jitter_seconds: int = 0) -> None:
        policies = Policies(jitter_seconds=jitter_seconds)
        spec = Spec(trigger, HandlerTarget("billing.nightly"), policies=policies)
        self.schedules.create(ACME, schedule_id, lambda _current, _now: spec)

    def set(self, schedule_id: str, **changes) -> None:
        """Change the stored timer behind the service's back."""
        timers = self.store.state.timers
        timers["acme", schedule_id] = replace(timers["acme", schedule_id], **changes)

    def found(self, code: WarningCode | None = None, limit: int = 2) -> dict[str, list[str]]:
        """The ids with warnings of all pages, and their codes."""
        found, cursor, looked_at = {}, None, 0
        while True:
            page = self.lint.page(ACME, code=code, cursor=cursor, limit=limit)
            assert page.looked_at <= limit
            looked_at += page.looked_at
            for one in page.found:
                found[one.timer.schedule_id] = [warning.code.value for warning in one.lint.warnings]
            cursor = page.cursor
            if cursor is None:
                return found


@pytest.fixture
def fleet() -> Installation:
    made = Installation()
    made.create("a-plain", cron("0 9 * * 1-5"))
    made.create("b-either", cron("0 0 13 * 5"))
    made.create("c-plain", every(10))
    made.create("d-midnight", cron("0 0 * * *"))
    made.create("e-spread", cron("0 0 * * *"), jitter_seconds=300)
    made.create("f-plain", cron("*/15 * * * *"))
    return made


def test_all_pages_together_show_each_schedule_with_warnings_once(fleet: Installation) -> None:
    expected = {"b-either": ["day_either", "crowded_time"], "d-midnight": ["crowded_time"]}
    for limit in (1, 2, 100):
        assert fleet.found(limit=limit) == expected
    assert fleet.found(WarningCode.DAY_EITHER) == {"b-either": ["day_either", "crowded_time"]}
    assert fleet.found(WarningCode.FAR_AWAY) == {}


def test_another_tenant_sees_nothing_of_it(fleet: Installation) -> None:
    page = fleet.lint.page(RIVAL, code=None, cursor=None, limit=100)
    assert (page.found, page.looked_at, page.cursor) == ([], 0, None)
    assert fleet.lint.crowding(RIVAL).looked_at == 0


def test_a_completed_schedule_is_not_warned_of_and_a_paused_one_is(fleet: Installation) -> None:
    fleet.set("b-either", status=Status.COMPLETED)
    fleet.set("d-midnight", status=Status.PAUSED)
    assert fleet.found() == {"d-midnight": ["crowded_time"]}


def test_one_whose_zone_is_gone_is_told_as_such_and_costs_the_others_nothing(fleet: Installation) -> None:
    fleet.set("a-plain", trigger=cron("0 9 * * 1-5", "Mars/Olympus"))
    assert fleet.found()["a-plain"] == ["uncomputable"]
    answer = fleet.schedules.get(ACME, "a-plain").form
    assert answer["words"] == "cron 0 9 * * 1-5, timezone Mars/Olympus"
    assert "Mars/Olympus" in answer["warnings"][0]["text"]
    assert fleet.lint.crowding(ACME).looked_at == 6


def test_the_words_and_warnings_are_answered_and_not_audited(fleet: Installation) -> None:
    answer = fleet.schedules.get(ACME, "b-either").form
    assert answer["words"].startswith("At 00:00 on day 13 of the month or on Friday (either one is enough)")
    assert [warning["code"] for warning in answer["warnings"]] == ["day_either", "crowded_time"]
    entries = fleet.store.list_audit("acme", Wanted(0, NOON + DAY, "schedule:b-either"), cursor=None, limit=10).items
    assert [("words" in entry.after, "warnings" in entry.after) for entry in entries] == [(False, False)]


def test_minutes_are_counted_as_the_schedules_will_be_due_in_them(fleet: Installation) -> None:
    crowding = fleet.lint.crowding(ACME)
    counted = Counter(
        fire.due_at - fire.due_at % MINUTE
        for (_, name), timer in fleet.store.state.timers.items()
        if name != "c-plain"
        for fire in fires_of(timer, NOON, NOON + DAY, 1_000)
    )
    assert {one.minute_at: one.schedules for one in crowding.minutes} == {
        minute_at: count for minute_at, count in counted.items() if count > 1
    }
    midnight = crowding.minutes[0]
    assert (midnight.minute_at, midnight.schedules, midnight.ids) == (NOON + 12 * HOUR, 2, ["d-midnight", "f-plain"])
    assert (crowding.frequent, crowding.looked_at, crowding.is_complete) == (1, 6, True)


def test_a_count_that_ends_early_says_so(fleet: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint, "LIST_PAGE", 2)
    monkeypatch.setattr(lint, "MOST_SCHEDULES_COUNTED", 4)
    crowding = fleet.lint.crowding(ACME)
    assert (crowding.looked_at, crowding.is_complete) == (4, False)


def test_what_is_not_active_is_not_counted(fleet: Installation) -> None:
    fleet.set("f-plain", status=Status.PAUSED)
    assert fleet.lint.crowding(ACME).minutes == []


def test_only_the_most_crowded_minutes_and_the_first_of_their_schedules_are_shown(fleet: Installation) -> None:
    for number in range(12):
        fleet.create(f"x-{number:02}", cron("30 3 * * *"))
    crowding = fleet.lint.crowding(ACME)
    first = crowding.minutes[0]
    assert (first.minute_at, first.schedules) == (NOON + 15 * HOUR + 30 * MINUTE, 13)
    assert first.ids == ["f-plain", *(f"x-{number:02}" for number in range(9))]
    assert len(crowding.minutes) <= lint.MINUTES_SHOWN

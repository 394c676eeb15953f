"""Bulk: one change of many schedules, counted first, each made by itself and only to what was meant."""

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.errors import ClockSkewed, Conflict, Invalid, Miscounted
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.schedule import Spec, Status
from cronfleet.domain.selection import Selection
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services import bulk as bulk_module
from cronfleet.services.access import Caller
from cronfleet.services.bulk import Asked, Bulk
from cronfleet.services.bulk_deeds import Cancelling, Labelling, Pausing, Resuming
from cronfleet.services.schedules import Schedules
from cronfleet.services.selecting import MAX_LOOKED_THROUGH
from tests.support.builders import every
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.settable_clock import NOON, CountingIds, SettableClock

ACME = Caller(Tenant("acme"), "demo", "request-1")
RIVAL = Caller(Tenant("rival"), "other", "request-2")
BILLING = Selection(labels={"team": "billing"})
EVERYTHING = Selection()


class Installation:
    """Six schedules of two teams, and one of somebody else."""

    def __init__(self):
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.fault = lambda when, name: None
        self.ids = CountingIds()
        faulty = Faulty(self.store, self.hook)
        self.schedules = Schedules(store=faulty, clock=self.clock, ids=self.ids, shards=1)
        self.bulk = Bulk(schedules=self.schedules, store=faulty, clock=self.clock, ids=self.ids)
        for number in range(4):
            self.add(f"billing-{number}", {"team": "billing", "stage": "prod" if number else "test"})
        self.add("ops-1", {"team": "ops"}, owner="ops")
        self.add("ops-2", {})
        self.add("billing-9", {"team": "billing"}, caller=RIVAL)

    def hook(self, when, name):
        if name != "skew_ms":  # asks nobody: it tells what was heard
            self.fault(when, name)

    def add(self, name, labels, owner="", caller=ACME, **more):
        spec = Spec(every(60), HandlerTarget("x.y"), labels=labels, owner=owner)
        self.schedules.create(caller, name, lambda *_: spec, **more)

    def do(self, deed, selection=BILLING, caller=ACME, **more):
        said = {"dry_run": False, "limit": 100, "cursor": None, "reason": "month end", "deadline_at": NOON + 10**9}
        return self.bulk.carry_out(caller, deed, Asked(selection, **{**said, **more}))

    def statuses(self):
        timers = self.store.state.timers.values()
        return {timer.schedule_id: timer.status.value for timer in timers if timer.tenant == "acme"}

    def labels(self, name):
        timer = self.store.get_timer("acme", name)
        return self.store.get_definition("acme", name, timer.version).spec.labels

    @property
    def reasons(self):
        return [entry.reason for entry in self.store.state.audit.values() if entry.action != "create"]


@pytest.fixture
def here():
    return Installation()


# --- which -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (BILLING, ["billing-0", "billing-1", "billing-2", "billing-3"]),
        (Selection(labels={"team": "billing", "stage": "test"}), ["billing-0"]),
        (Selection(owner="ops"), ["ops-1"]),
        (Selection(owner="", prefix="ops"), ["ops-2"]),
        (Selection(prefix="billing-1"), ["billing-1"]),
        (Selection(status=Status.ACTIVE, owner="ops"), ["ops-1"]),
        (Selection(labels={"team": "bill"}), []),
        (EVERYTHING, ["billing-0", "billing-1", "billing-2", "billing-3", "ops-1", "ops-2"]),
    ],
)
def test_those_are_meant_of_which_all_that_is_asked_for_is_true(here, selection, expected):
    counted = here.do(Pausing(), selection, dry_run=True)
    assert counted.matched == expected
    listed, cursor = [], None
    while True:
        page = here.schedules.list(ACME, selection, cursor=cursor, limit=2)
        assert len(page.items) <= 2
        listed += [form["id"] for form in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert listed == expected


def test_a_list_by_label_looks_through_so_many_and_goes_on(here):
    for number in range(MAX_LOOKED_THROUGH):
        here.add(f"m-{number:05}", {})
    first = here.schedules.list(ACME, Selection(owner="ops"), cursor=None, limit=10)
    assert (list(first.items), bool(first.cursor)) == ([], True)
    second = here.schedules.list(ACME, Selection(owner="ops"), cursor=first.cursor, limit=10)
    assert [form["id"] for form in second.items] == ["ops-1"]


def test_what_was_just_changed_and_stands_in_the_index_as_it_was_is_not_meant(here):
    here.schedules.pause(ACME, "billing-1", reason="x")
    stale = here.store.list_schedules

    def lagging(tenant, *, prefix, status, cursor, limit):
        return stale(tenant, prefix=prefix, status=None, cursor=cursor, limit=limit)

    here.store.list_schedules = lagging
    chosen = here.do(Pausing(), Selection(labels={"team": "billing"}, status=Status.ACTIVE), dry_run=True)
    assert chosen.matched == ["billing-0", "billing-2", "billing-3"]


# --- what is done ----------------------------------------------------------------------------------------------


def test_a_dry_run_counts_and_changes_nothing(here):
    report = here.do(Cancelling(), dry_run=True)
    assert (len(report.matched), report.changed, report.scanned, report.cursor) == (4, 0, 6, None)
    assert set(here.statuses().values()) == {"active"}
    assert here.reasons == []


def test_many_are_paused_and_resumed_each_with_its_own_audit_entry_that_names_the_bulk(here):
    paused = here.do(Pausing(NOON + MINUTE))
    assert (paused.changed, paused.failed) == (4, {})
    assert [name for name, status in here.statuses().items() if status == "paused"] == paused.matched
    assert here.reasons == [f"month end (bulk {paused.bulk_id})"] * 4
    assert here.schedules.get(ACME, "billing-1").form["paused"]["until"] == "2026-11-30T12:01:00Z"
    resumed = here.do(Resuming(), reason="")
    assert resumed.bulk_id != paused.bulk_id
    assert here.reasons[4:] == [f"bulk {resumed.bulk_id}"] * 4
    assert set(here.statuses().values()) == {"active"}


def test_a_resume_says_of_each_what_it_catches_up(here):
    here.do(Pausing())
    here.clock.advance(10 * MINUTE)
    here.do(Resuming(Misfire(MisfirePolicy.CATCH_UP, 3)))
    timers = [here.store.get_timer("acme", f"billing-{number}") for number in range(4)]
    assert all(timer.backlog is not None for timer in timers)


def test_many_are_deleted_and_nobody_elses(here):
    assert here.do(Cancelling()).changed == 4
    assert sorted(name for name, status in here.statuses().items() if status != "cancelled") == ["ops-1", "ops-2"]
    assert here.store.get_timer("rival", "billing-9").status is Status.ACTIVE


def test_labels_are_set_and_removed_and_what_has_them_so_is_left_alone(here):
    here.add("payments-1", {"team": "payments"}, owner="ops")
    report = here.do(Labelling({"team": "payments"}, frozenset({"stage"})), EVERYTHING)
    assert (report.changed, report.unchanged, len(report.matched)) == (6, 1, 7)
    assert here.labels("billing-1") == {"team": "payments"}
    assert here.store.get_timer("acme", "payments-1").version == 1
    assert here.store.get_timer("acme", "billing-1").version == 2
    again = here.do(Labelling({"team": "payments"}, frozenset({"stage"})), EVERYTHING)
    assert (again.changed, again.unchanged) == (0, 7)


def test_labels_drop_no_fire(here):
    before = here.store.get_timer("acme", "billing-1")
    here.do(Labelling({"new": "one"}))
    after = here.store.get_timer("acme", "billing-1")
    assert (after.epoch, after.nominal_at, after.due_at) == (before.epoch, before.nominal_at, before.due_at)


def test_one_that_would_have_too_many_labels_fails_and_costs_the_others_nothing(here):
    here.add("billing-full", {"team": "billing"} | {f"l{n}": "" for n in range(15)})
    report = here.do(Labelling({"one": "more"}))
    assert (report.changed, list(report.failed)) == (4, ["billing-full"])
    assert "17; 16 are allowed" in report.failed["billing-full"]


def test_what_changes_between_the_look_and_the_change_is_not_changed_and_says_so(here):
    def meddle(when, name):
        if (when, name) == ("after", "get_schedules"):
            here.fault = lambda when, name: None
            here.schedules.edit(ACME, "billing-2", lambda spec, _: Spec(spec.trigger, spec.target))

    here.fault = meddle
    report = here.do(Cancelling())
    assert (report.changed, list(report.failed)) == (3, ["billing-2"])
    assert "has changed" in report.failed["billing-2"]
    assert here.statuses()["billing-2"] == "active", "it has lost the label that it was meant by"


def test_held_ones_are_meant_only_when_asked_for_and_those_that_were_off_not_even_then(here):
    here.add("held-1", {"team": "billing"}, held=True)
    here.add("held-2", {"team": "billing", "import-state": "off"}, held=True)
    assert here.do(Resuming()).matched == []
    held = Selection(labels={"team": "billing"}, status=Status.HELD)
    report = here.do(Resuming(), held, dry_run=True)
    assert (report.matched, report.left_out) == (["held-1"], 1)
    assert here.do(Resuming(include_off=True), held, dry_run=True).matched == ["held-1", "held-2"]
    asked_for = Selection(labels={"import-state": "off"}, status=Status.HELD)
    assert here.do(Resuming(), asked_for).matched == ["held-2"]


@pytest.mark.parametrize(
    ("deed", "status", "possible"),
    [(Pausing(), Status.HELD, "active, paused"), (Resuming(), Status.ACTIVE, "paused, held, parked")],
)
def test_a_status_that_takes_no_such_change_is_refused_before_anything_is_done(here, deed, status, possible):
    with pytest.raises(Invalid, match=f"takes {possible}"):
        here.do(deed, Selection(status=status))


# --- counted first ---------------------------------------------------------------------------------------------


def test_with_another_number_than_was_counted_nothing_is_changed(here):
    with pytest.raises(Miscounted) as refused:
        here.do(Cancelling(), expected=3)
    assert (refused.value.expected, refused.value.count) == (3, 4)
    assert set(here.statuses().values()) == {"active"}
    assert here.do(Cancelling(), expected=4).changed == 4


def test_the_count_is_of_all_however_few_are_changed_at_a_time(here):
    first = here.do(Pausing(), expected=4, limit=2)
    assert (first.matched, bool(first.cursor)) == (["billing-0", "billing-1"], True)
    second = here.do(Pausing(), expected=4, limit=2, cursor=first.cursor)
    assert second.matched == ["billing-2", "billing-3"]
    assert second.bulk_id == first.bulk_id, "it is one change, over however many requests"
    assert set(here.reasons) == {f"month end (bulk {first.bulk_id})"}


def test_a_bulk_goes_on_to_its_end_by_its_cursors(here):
    seen, cursor = [], None
    for _ in range(20):
        report = here.do(Cancelling(), EVERYTHING, limit=1, cursor=cursor)
        seen += report.matched
        cursor = report.cursor
        if cursor is None:
            break
    assert seen == ["billing-0", "billing-1", "billing-2", "billing-3", "ops-1", "ops-2"]


def test_more_than_can_be_counted_is_refused_where_a_count_was_asked_for(here, monkeypatch):
    monkeypatch.setattr(bulk_module, "MAX_SCANNED", 100)
    for number in range(150):
        here.add(f"m-{number:03}", {"team": "billing"})
    with pytest.raises(Conflict, match="by prefix"):
        here.do(Cancelling(), expected=154)
    assert here.do(Cancelling(), Selection(prefix="m-00"), expected=10).changed == 10
    counted = here.do(Cancelling(), dry_run=True)
    assert (counted.scanned, bool(counted.cursor)) == (100, True)
    rest = here.do(Cancelling(), dry_run=True, cursor=counted.cursor)
    assert (len(counted.matched) + len(rest.matched), rest.cursor) == (144, None)


def test_when_its_time_is_up_a_bulk_stops_and_its_cursor_goes_on(here):
    def slow(when, name):
        if (when, name) == ("after", "commit"):
            here.clock.advance(3 * SECOND)

    here.fault = slow
    first = here.do(Pausing(), deadline_at=NOON + 5 * SECOND)
    assert first.matched == ["billing-0", "billing-1"]
    here.fault = lambda when, name: None
    rest = here.do(Pausing(), cursor=first.cursor)
    assert (rest.matched, rest.cursor) == (["billing-2", "billing-3"], None)


def test_under_a_clock_that_is_off_nothing_is_changed_and_no_schedule_is_to_blame(here):
    here.store.state.skew_ms = 60_000
    with pytest.raises(ClockSkewed):
        here.do(Pausing())
    assert here.reasons == []


@pytest.mark.parametrize("cursor", ["x", "WyJhIl0", "WyJhIiwiIl0", "WyJcdTAwMDAiLCJhIl0"])
def test_a_cursor_of_something_else_is_refused(here, cursor):
    with pytest.raises(Invalid, match="cursor"):
        here.do(Pausing(), cursor=cursor)
    assert here.reasons == []


# --- whatever dies ---------------------------------------------------------------------------------------------


def calls_of(deed):
    here = Installation()
    here.fault = counting = FaultAt(None)
    here.do(deed)
    return len(counting.moments)


@pytest.mark.parametrize("deed", [Pausing(), Cancelling(), Labelling({"x": "y"})], ids=lambda deed: deed.word)
def test_a_bulk_that_dies_at_any_call_and_is_asked_for_again_changes_each_once(deed):
    for step in range(calls_of(deed)):
        here = Installation()
        here.fault = FaultAt(step)
        with pytest.raises(Crash):
            here.do(deed)
        here.fault = lambda when, name: None
        report = here.do(deed)
        assert report.failed == {}
        assert len(here.reasons) == 4, f"one entry for each schedule, died at {step}"


@pytest.mark.parametrize("deed", [Pausing(), Cancelling(), Labelling({"x": "y"})], ids=lambda deed: deed.word)
def test_a_reply_that_is_lost_at_any_call_changes_nothing_about_a_bulk(deed):
    for step in range(calls_of(deed)):
        here = Installation()
        here.fault = FaultAt(step, NoAnswer)
        report = here.do(deed)
        assert (report.changed, report.failed, len(here.reasons)) == (4, {}, 4)

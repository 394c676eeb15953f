"""Versions: each change of what a schedule says is kept, can be compared, and brought back as a new one."""

from dataclasses import replace
from functools import partial

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.errors import Contended, Invalid, NotFound, Stale
from cronfleet.domain.form import spec_form
from cronfleet.domain.instant import DAY, MINUTE
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger, parse_trigger
from cronfleet.domain.version_diff import merged, written_form
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.access import Caller
from cronfleet.services.asking import MAX_ASKS
from cronfleet.services.calendars import Calendars
from cronfleet.services.changing import Conditions, Once
from cronfleet.services.schedules import Schedules
from cronfleet.services.versions import Versions
from tests.support.builders import cron, every
from tests.support.faults import Faulty
from tests.support.settable_clock import NOON, CountingIds, SettableClock

ACME = Caller(Tenant("acme"), "demo", "request-1")
RIVAL = Caller(Tenant("rival"), "other", "request-2")
NIGHTLY = Spec(cron("0 2 * * *", "Asia/Kolkata"), HandlerTarget("billing.nightly"), payload={"n": 1})
SECOND_ONE = replace(NIGHTLY, trigger=cron("30 2 * * *", "Asia/Kolkata"), owner="billing")
THIRD = replace(SECOND_ONE, payload={"n": 3}, labels={"team": "billing"}, policies=Policies(jitter_seconds=60))


def fine(_spec, _now):
    """Nothing has become wrong since."""


class Installation:
    """A schedule in three versions."""

    def __init__(self):
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.fault = lambda when, name: None
        self.ids = CountingIds()
        faulty = Faulty(self.store, self.hook)
        self.schedules = Schedules(store=faulty, clock=self.clock, ids=self.ids, shards=4)
        self.versions = Versions(store=faulty, clock=self.clock)
        for number, spec in enumerate((NIGHTLY, SECOND_ONE, THIRD), 1):
            self.put(spec, f"reason {number}")

    def hook(self, when, name):
        self.fault(when, name)

    def put(self, spec, reason="", caller=ACME):
        return self.schedules.put(caller, "nightly", lambda *_: spec, reason=reason)

    def roll_back(self, version, check=fine, caller=ACME, **more):
        return self.schedules.roll_back(caller, "nightly", version, check, **more)

    def spec(self, version=None):
        timer = self.store.get_timer("acme", "nightly")
        return self.store.get_definition("acme", "nightly", version or timer.version).spec


@pytest.fixture
def here():
    return Installation()


# --- reading ---------------------------------------------------------------------------------------------------


def test_versions_come_newest_first_each_with_what_it_changed(here):
    page = here.versions.list(ACME, "nightly", cursor=None, limit=10)
    assert [one["version"] for one in page.items] == [3, 2, 1]
    assert [one["changed"] for one in page.items] == [
        ["policies.jitter_seconds", "labels.team", "payload.n"],
        ["owner", "trigger.cron"],
        [],
    ]
    assert [one["is_current"] for one in page.items] == [True, False, False]
    assert {one["author"] for one in page.items} == {"demo"}
    assert [one["reason"] for one in page.items][:2] == ["reason 3", "reason 2"]


def test_versions_come_page_by_page_and_each_knows_the_one_before_it(here):
    seen, cursor = [], None
    while True:
        page = here.versions.list(ACME, "nightly", cursor=cursor, limit=1)
        seen += [(one["version"], len(one["changed"])) for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [(3, 3), (2, 2), (1, 0)]


@pytest.mark.parametrize("cursor", ["x", "WyJhIl0", "WyIxIiwiMiJd", "WyItMSJd", "WyIxMDAwMDAwMDAwMCJd"])
def test_a_cursor_of_something_else_is_refused(here, cursor):
    with pytest.raises(Invalid, match="cursor"):
        here.versions.list(ACME, "nightly", cursor=cursor, limit=1)


def test_a_version_is_told_whole(here):
    form = here.versions.get(ACME, "nightly", 2)
    assert {name: form[name] for name in spec_form(SECOND_ONE)} == spec_form(SECOND_ONE)
    assert form["words"] == "At 02:30 every day, in Asia/Kolkata"
    assert (form["version"], form["is_current"], form["reason"]) == (2, False, "reason 2")


def test_a_version_whose_zone_has_left_the_zone_data_is_told_all_the_same(here):
    gone = replace(NIGHTLY, trigger=CronTrigger("0 2 * * *", "Mars/Olympus"))
    stored, key = here.store.state.definitions, (("acme", "nightly"), 1)
    stored[key] = replace(stored[key], spec=gone)
    assert here.versions.get(ACME, "nightly", 1)["warnings"][0]["code"] == "uncomputable"


def test_a_difference_leads_either_way_and_to_the_current_version_when_none_is_named(here):
    forth = here.versions.diff(ACME, "nightly", 1, None)
    assert (forth["from"], forth["to"], forth["is_exact"]) == (1, 3, True)
    assert merged(written_form(NIGHTLY), forth["patch"]) == written_form(THIRD)
    back = here.versions.diff(ACME, "nightly", 3, 1)
    assert merged(written_form(THIRD), back["patch"]) == written_form(NIGHTLY)
    assert here.versions.diff(ACME, "nightly", 2, 2)["changes"] == []


def test_nobody_elses_versions_are_to_be_had_nor_those_of_what_is_not_there(here):
    for caller, schedule_id in ((RIVAL, "nightly"), (ACME, "absent")):
        for ask in (
            partial(here.versions.list, caller, schedule_id, cursor=None, limit=1),
            partial(here.versions.get, caller, schedule_id, 1),
            partial(here.versions.diff, caller, schedule_id, 1, 2),
        ):
            with pytest.raises(NotFound, match="schedule"):
                ask()
    with pytest.raises(NotFound, match="version '9'"):
        here.versions.get(ACME, "nightly", 9)
    with pytest.raises(NotFound, match="version '9'"):
        here.versions.diff(ACME, "nightly", 1, 9)


def test_an_id_that_was_deleted_and_comes_back_shows_the_versions_of_both_lives(here):
    here.schedules.delete(ACME, "nightly")
    with pytest.raises(NotFound):
        here.versions.list(ACME, "nightly", cursor=None, limit=10)
    here.put(NIGHTLY)
    listed = here.versions.list(ACME, "nightly", cursor=None, limit=10).items
    assert [one["version"] for one in listed] == [4, 3, 2, 1]


# --- rolling back ----------------------------------------------------------------------------------------------


def test_a_rollback_is_a_new_version_that_says_what_the_old_one_said(here):
    answer = here.roll_back(1, reason="the new time collides with the backup")
    assert answer.form["version"] == 4
    assert here.spec() == here.spec(1) == NIGHTLY
    assert here.spec(3) == THIRD, "and what lies between stays"
    entry = list(here.store.state.audit.values())[-1]
    assert (entry.action, entry.reason) == ("retime", "back to version 1: the new time collides with the backup")
    assert entry.after["trigger"] == {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}
    assert here.versions.list(ACME, "nightly", cursor=None, limit=1).items[0]["reason"] == entry.reason


def test_a_rollback_to_what_is_said_already_changes_nothing(here):
    before = here.schedules.get(ACME, "nightly")
    assert here.roll_back(3).etag == before.etag
    here.put(THIRD)
    assert here.schedules.get(ACME, "nightly").form["version"] == 3


def test_a_rollback_leaves_a_pause_and_a_hold_as_they_are(here):
    here.schedules.pause(ACME, "nightly", reason="month end")
    answer = here.roll_back(1)
    assert (answer.form["status"], answer.form["paused"]["reason"]) == ("paused", "month end")


def test_a_rollback_of_the_trigger_drops_what_the_current_one_named_and_was_not_yet_due(here):
    here.put(replace(NIGHTLY, trigger=every(60)))
    here.clock.advance(5 * MINUTE)
    here.roll_back(1)
    rows = {run.key.nominal_at: run.status for run in here.store.state.runs.values()}
    assert set(rows.values()) <= {RunStatus.QUEUED, RunStatus.SKIPPED}
    assert len(rows) == 5, "each minute that was due has its entry"


def test_a_rollback_brings_an_intervals_anchor_back(here):
    here.put(replace(NIGHTLY, trigger=every(3_600, NOON + 7)))
    here.put(replace(NIGHTLY, trigger=every(60, NOON)))
    here.roll_back(4)
    assert here.spec().trigger == every(3_600, NOON + 7)


def test_a_one_shot_that_is_past_does_not_come_back(here):
    here.put(replace(NIGHTLY, trigger=OneShotTrigger(NOON + DAY, "2026-12-01T12:00:00Z", None)))
    here.put(NIGHTLY)
    here.clock.advance(2 * DAY)
    with pytest.raises(Invalid) as refused:
        here.roll_back(4)
    assert refused.value.field == "version"
    assert "4 cannot come back: trigger.at names no time" in refused.value.reason
    assert here.schedules.get(ACME, "nightly").form["version"] == 5


def test_what_todays_rules_refuse_does_not_come_back(here):
    def refuse(spec, _now):
        raise Invalid("target.url", "is a private address")

    with pytest.raises(Invalid, match=r"1 cannot come back: target\.url is a private address"):
        here.roll_back(1, refuse)


@pytest.mark.parametrize("version", [4, 999_999_999])
def test_there_is_no_way_back_to_a_version_that_was_never_there(here, version):
    with pytest.raises(Invalid, match="the newest is 3"):
        here.roll_back(version)


def test_a_rollback_goes_by_what_its_caller_has_seen(here):
    seen = here.schedules.get(ACME, "nightly").etag
    here.put(NIGHTLY)
    with pytest.raises(Stale):
        here.roll_back(2, conditions=Conditions((seen,)))
    with pytest.raises(NotFound):
        here.roll_back(1, caller=RIVAL)
    assert here.spec() == NIGHTLY


def test_a_rollback_under_a_key_is_made_once(here):
    once = Once("key", "digest")
    first, second = here.roll_back(1, once=once), here.roll_back(1, once=once)
    assert first == second
    here.put(THIRD)
    assert here.roll_back(1, once=once) == first, "the first one's answer, however things stand by now"
    assert here.spec() == THIRD


def test_a_calendar_that_the_old_version_followed_comes_in_its_newest_version_and_a_pinned_one_in_its_own(here):
    calendars = Calendars(store=here.store, clock=here.clock, ids=here.ids)
    for holiday in ("2026-12-01", "2026-12-02"):
        content = parse_content({"holidays": [holiday]})
        calendars.put(ACME, "uk", lambda _now, content=content: content)

    def uses(**rule):
        fields = {"cron": "0 2 * * *", "timezone": "UTC", "calendar": {"name": "uk", "mode": "exclude", **rule}}
        return replace(NIGHTLY, trigger=parse_trigger(fields, NOON))

    here.put(uses(version=1))
    here.put(uses(version=1, pinned=True))
    here.put(NIGHTLY)
    assert here.roll_back(4).form["trigger"]["calendar"]["version"] == 2
    assert here.roll_back(5).form["trigger"]["calendar"]["version"] == 1


def test_a_store_that_stays_silent_is_told_and_nothing_is_changed(here):
    def silent(when, name):
        if when == "before" and name == "commit":
            raise NoAnswer

    here.fault = silent
    with pytest.raises(Contended):
        here.roll_back(1)
    here.fault = lambda when, name: None
    assert here.spec() == THIRD
    asked = []

    def lost(when, name):
        if when == "after" and name == "commit" and len(asked) < MAX_ASKS - 1:
            asked.append(name)
            raise NoAnswer

    here.fault = lost
    assert here.roll_back(1).form["version"] == 4, "the reply was lost, and the change was made once"
    assert here.spec() == NIGHTLY

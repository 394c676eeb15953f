"""Schedules: every change is one transaction with its audit item, and answers for itself when it is repeated."""

from dataclasses import replace

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.attempt import decide_start
from cronfleet.domain.claim import BatchId
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.errors import ClockSkewed, Conflict, Contended, Exists, Invalid, KeyReused, NotFound, Stale
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Spec, Status
from cronfleet.domain.selection import Selection
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.access import Caller
from cronfleet.services.asking import MAX_ASKS
from cronfleet.services.changing import ANSWERS_KEPT, Conditions, Once
from cronfleet.services.schedules import Schedules
from tests.support.builders import backlog_of, cron, every, message
from tests.support.faults import Faulty
from tests.support.settable_clock import NOON, CountingIds, SettableClock

ACME = Caller(Tenant("acme"), "demo", "request-1")
RIVAL = Caller(Tenant("rival"), "other", "request-2")
NIGHTLY = Spec(cron("0 2 * * *", "Asia/Kolkata"), HandlerTarget("billing.nightly"))


def always(spec):
    return lambda _current, _now: spec


class Installation:
    """A store with a service in front, and faults that a test sets off."""

    def __init__(self):
        self.clock = SettableClock()
        self.store = MemoryJobStore(self.clock)
        self.fault = lambda when, name: None
        ids = CountingIds()
        faulty = Faulty(self.store, self.hook)
        self.schedules = Schedules(store=faulty, clock=self.clock, ids=ids, shards=4)

    def hook(self, when, name):
        self.fault(when, name)

    def create(self, schedule_id="nightly", spec=NIGHTLY, once=None):
        return self.schedules.create(ACME, schedule_id, always(spec), once)

    def timer(self, schedule_id="nightly"):
        return self.store.state.timers["acme", schedule_id]

    def set(self, **changes):
        """Change the stored timer behind the service's back."""
        self.store.state.timers["acme", "nightly"] = replace(self.timer(), **changes)

    def claim(self):
        """What a dispatcher does."""
        claim = claim_schedule(self.timer(), self.clock.now())
        self.store.claim(BatchId(0, 1, 1), [claim])

    @property
    def audit(self):
        return [(entry.action, entry.reason) for entry in self.store.state.audit.values()]

    @property
    def rows(self):
        return list(self.store.state.runs.values())


@pytest.fixture
def here():
    return Installation()


# --- creating --------------------------------------------------------------------------------------------------


def test_a_created_schedule_has_its_definition_and_its_audit_item(here):
    answer = here.create()
    assert answer.created
    assert answer.form["next_fire_at"] == "2026-11-30T20:30:00Z"
    assert here.store.get_definition("acme", "nightly", 1).spec == NIGHTLY
    (entry,) = here.store.state.audit.values()
    assert (entry.actor, entry.action, entry.request_id, entry.before) == ("demo", "create", "request-1", None)
    told = {"jitter": "none", "words": "At 02:00 every day, in Asia/Kolkata", "warnings": [], "frozen": None}
    assert entry.after | told == answer.form, "what is told of it now is not kept"
    assert not told.keys() & entry.after.keys()


def test_a_schedule_without_an_id_gets_one(here):
    first, second = here.create(None), here.create(None)
    assert first.form["id"] != second.form["id"]


def test_an_id_that_is_taken_is_not_taken_again(here):
    here.create()
    with pytest.raises(Exists):
        here.create()
    assert here.audit == [("create", "")]


def test_another_tenants_schedule_cannot_be_seen_and_its_id_is_free(here):
    here.create()
    with pytest.raises(NotFound):
        here.schedules.get(RIVAL, "nightly")
    assert here.schedules.create(RIVAL, "nightly", always(NIGHTLY)).created


def test_a_deleted_id_can_be_created_again_and_its_numbers_go_on(here):
    here.create()
    here.schedules.delete(ACME, "nightly", reason="gone")
    answer = here.create()
    assert (answer.created, answer.form["version"], answer.form["status"]) == (True, 2, "active")


# --- held, and in shadow ---------------------------------------------------------------------------------------


def test_a_schedule_that_is_registered_as_held_waits_for_nothing_until_it_is_resumed(here):
    answer = here.schedules.create(ACME, "nightly", always(NIGHTLY), held=True)
    assert (answer.form["status"], answer.form["next_fire_at"]) == ("held", None)
    assert answer.form["hold"] == {"by": "demo", "at": "2026-11-30T12:00:00Z", "shadow": None}
    assert here.timer().due_at is None
    here.clock.advance(49 * HOUR)
    here.schedules.resume(ACME, "nightly")
    (row,) = here.rows
    assert (row.status, row.reason.code, row.key.nominal_at) == (RunStatus.HELD, Code.NOT_ON, NOON + 8.5 * HOUR)
    assert row.until_nominal_at == NOON + 32.5 * HOUR
    assert (here.timer().status, here.timer().nominal_at) == (Status.ACTIVE, NOON + 56.5 * HOUR)
    assert here.timer().hold is None


def test_a_held_schedule_cannot_be_paused_and_says_what_it_can(here):
    here.schedules.create(ACME, "nightly", always(NIGHTLY), held=True)
    with pytest.raises(Conflict, match="held cannot be paused; it can be changed, resumed, run now"):
        here.schedules.pause(ACME, "nightly", reason="no")


def test_shadow_is_for_a_held_schedule_alone(here):
    with pytest.raises(Invalid, match="held: true"):
        here.schedules.create(ACME, "nightly", always(NIGHTLY), shadow=True)
    here.create()
    with pytest.raises(Conflict, match="active cannot be run in shadow"):
        here.schedules.shadow(ACME, "nightly", is_on=True)


def test_shadow_is_turned_on_and_off_with_who_and_since_when_and_in_the_audit_log(here):
    here.schedules.create(ACME, "nightly", always(NIGHTLY), held=True)
    here.clock.advance(HOUR)
    answer = here.schedules.shadow(ACME, "nightly", is_on=True, reason="a week beside the old one")
    assert answer.form["hold"]["shadow"] == {"by": "demo", "at": "2026-11-30T13:00:00Z"}
    assert here.timer().due_at == here.timer().nominal_at == NOON + 8.5 * HOUR
    assert here.schedules.shadow(ACME, "nightly", is_on=True).etag == answer.etag
    here.schedules.shadow(ACME, "nightly", is_on=False)
    assert here.timer().due_at is None
    assert here.audit == [("create", ""), ("shadow", "a week beside the old one"), ("shadow", "")]


def test_each_stretch_of_a_held_schedule_has_one_row_under_what_it_was_then(here):
    here.schedules.create(ACME, "nightly", always(NIGHTLY), held=True)
    for is_on in (True, False):
        here.clock.advance(24 * HOUR)
        here.schedules.shadow(ACME, "nightly", is_on=is_on)
    here.clock.advance(24 * HOUR)
    here.schedules.delete(ACME, "nightly")
    assert [(row.status, row.key.nominal_at, row.last_nominal_at) for row in here.rows] == [
        (status, NOON + hours * HOUR, NOON + hours * HOUR)
        for status, hours in ((RunStatus.HELD, 8.5), (RunStatus.SHADOW, 32.5), (RunStatus.HELD, 56.5))
    ]


def test_a_held_schedule_has_missed_nothing_that_a_resume_could_catch_up(here):
    here.schedules.create(ACME, "nightly", always(NIGHTLY), held=True)
    here.clock.advance(49 * HOUR)
    with pytest.raises(Invalid, match="another system's to run"):
        here.schedules.resume(ACME, "nightly", missed=Misfire(MisfirePolicy.FIRE_ONCE))


def test_a_put_creates_a_held_schedule_and_refuses_to_hold_one_that_is_on(here):
    assert here.schedules.put(ACME, "nightly", always(NIGHTLY), held=True, shadow=True).created
    assert not here.schedules.put(ACME, "nightly", always(NIGHTLY), held=True, shadow=True).created
    here.schedules.resume(ACME, "nightly")
    with pytest.raises(Invalid, match="pause"):
        here.schedules.put(ACME, "nightly", always(NIGHTLY), held=True)


# --- put and edit ----------------------------------------------------------------------------------------------


def test_putting_the_same_twice_makes_one_version(here):
    first = here.schedules.put(ACME, "nightly", always(NIGHTLY))
    second = here.schedules.put(ACME, "nightly", always(NIGHTLY))
    assert (first.created, second.created) == (True, False)
    assert (first.etag, second.form["version"]) == (second.etag, 1)
    assert len(here.audit) == 1


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, False)])
def test_values_that_python_takes_for_equal_are_a_change_all_the_same(here, one, other):
    here.schedules.put(ACME, "nightly", always(replace(NIGHTLY, payload=one)))
    assert here.schedules.put(ACME, "nightly", always(replace(NIGHTLY, payload=other))).form["version"] == 2


def test_putting_with_if_none_match_changes_nothing_that_is_there(here):
    here.create()
    with pytest.raises(Exists):
        here.schedules.put(ACME, "nightly", always(replace(NIGHTLY, owner="me")), Conditions(only_new=True))
    assert here.timer().version == 1


def test_putting_with_if_match_creates_nothing(here):
    with pytest.raises(Stale):
        here.schedules.put(ACME, "nightly", always(NIGHTLY), Conditions(('"1-x"',)))
    assert here.store.get_timer("acme", "nightly") is None


def test_an_etag_of_yesterday_changes_nothing(here):
    etag = here.create().etag
    here.schedules.edit(ACME, "nightly", always(replace(NIGHTLY, owner="me")), Conditions((etag,)))
    with pytest.raises(Stale):
        here.schedules.edit(ACME, "nightly", always(replace(NIGHTLY, owner="you")), Conditions((etag,)))
    assert here.store.get_definition("acme", "nightly", 2).spec.owner == "me"
    assert here.timer().version == 2


def test_a_claim_does_not_move_the_etag(here):
    etag = here.create(spec=replace(NIGHTLY, trigger=every(10, NOON))).etag
    here.clock.advance(10 * SECOND)
    here.claim()
    assert here.schedules.get(ACME, "nightly").etag == etag


def test_an_edit_that_a_claim_overtakes_is_decided_again(here):
    here.create(spec=replace(NIGHTLY, trigger=every(10, NOON)))
    here.clock.advance(10 * SECOND)

    def overtaken(when, name):
        if (when, name) == ("before", "commit"):
            here.fault = lambda when, name: None
            here.claim()

    here.fault = overtaken
    answer = here.schedules.edit(ACME, "nightly", always(replace(NIGHTLY, trigger=cron("0 9 * * *"))))
    assert answer.form["version"] == 2
    (row,) = here.rows
    assert (row.status, row.key.nominal_at) == (RunStatus.SKIPPED, NOON + 20 * SECOND)
    assert row.reason.code is Code.SUPERSEDED, "what was due was won by the claim, and is not queued a second time"


def test_a_fire_that_a_worker_started_while_the_trigger_changed_does_not_fire_again_under_the_new_one(here):
    """O35: never both old and new. The worker's clock was ahead, or it was faster than the change was written."""
    here.create(spec=replace(NIGHTLY, trigger=every(10, NOON)))
    here.clock.advance(5 * SECOND)
    here.claim()

    def started(when, name):
        if (when, name) == ("before", "commit"):
            here.fault = lambda when, name: None
            decision = decide_start(None, message(NOON + 10 * SECOND), "worker", NOON + 10 * SECOND)
            here.store.insert_run(decision.run)

    here.fault = started
    here.schedules.edit(ACME, "nightly", always(replace(NIGHTLY, trigger=every(5, NOON))))
    assert here.timer().nominal_at == NOON + 15 * SECOND
    assert [(row.status, row.key.nominal_at) for row in here.rows] == [(RunStatus.RUNNING, NOON + 10 * SECOND)]


def test_a_change_that_is_overtaken_for_ever_gives_up_without_a_trace(here):
    here.create()

    def overtaken(when, name):
        if (when, name) == ("before", "commit"):
            here.set(rev=here.timer().rev + 1)

    here.fault = overtaken
    with pytest.raises(Contended):
        here.schedules.pause(ACME, "nightly", reason="x")
    assert here.audit == [("create", "")]


def test_what_was_due_when_the_trigger_changed_is_queued_in_the_same_transaction(here):
    here.create(spec=replace(NIGHTLY, trigger=every(10, NOON)))
    here.clock.advance(20 * SECOND)
    here.schedules.edit(ACME, "nightly", always(replace(NIGHTLY, trigger=cron("0 9 * * *"))), reason="slower")
    assert [row.status for row in here.rows] == [RunStatus.QUEUED] * 2
    assert len(here.store.state.run_timers) == 2
    assert here.audit[-1] == ("retime", "slower")


# --- lost replies ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("silences", range(1, MAX_ASKS))
def test_a_change_whose_reply_is_lost_is_made_once(here, when, silences):
    left = [silences]

    def silent(moment, name):
        if (moment, name) == (when, "commit") and left[0]:
            left[0] -= 1
            raise NoAnswer

    here.fault = silent
    here.create()
    here.schedules.pause(ACME, "nightly", reason="x")
    assert (here.timer().status, here.timer().rev) == (Status.PAUSED, 2)
    assert here.audit == [("create", ""), ("pause", "x")]


def test_a_store_that_stays_silent_is_said_to_be_so(here):
    def silent(_when, _name):
        raise NoAnswer

    here.fault = silent
    with pytest.raises(Contended):
        here.schedules.get(ACME, "nightly")
    with pytest.raises(Contended):
        here.create()


# --- idempotency -----------------------------------------------------------------------------------------------


def test_a_repeated_request_gets_the_first_ones_answer(here):
    once = Once("key-1", "digest")
    first = here.create(None, once=once)
    here.clock.advance(60 * SECOND)
    assert here.create(None, once=once) == first
    assert len(here.store.state.timers) == 1


def test_a_key_that_belongs_to_another_request_is_refused(here):
    here.create(None, once=Once("key-1", "digest"))
    with pytest.raises(KeyReused):
        here.create(None, once=Once("key-1", "another"))


def test_a_key_is_each_tenants_own(here):
    once = Once("key-1", "digest")
    here.create(once=once)
    assert here.schedules.create(RIVAL, "nightly", always(NIGHTLY), once).created


def test_a_key_is_forgotten_after_a_day(here):
    once = Once("key-1", "digest")
    first = here.create(None, once=once)
    here.clock.advance(ANSWERS_KEPT)
    assert here.create(None, once=once).form["id"] != first.form["id"]


def test_two_requests_under_one_key_at_the_same_time_are_done_once(here):
    once = Once("key-1", "digest")

    def twin(when, name):
        if (when, name) == ("before", "commit"):
            here.fault = lambda when, name: None
            here.twin = here.create(None, once=once)

    here.fault = twin
    answer = here.create(None, once=once)
    assert answer == here.twin
    assert len(here.store.state.timers) == 1


def test_a_request_that_was_refused_leaves_its_key_free(here):
    once = Once("key-1", "digest")
    with pytest.raises(NotFound):
        here.schedules.pause(ACME, "nightly", reason="x", once=once)
    here.create()
    assert here.schedules.pause(ACME, "nightly", reason="x", once=once).form["status"] == "paused"


# --- pause, resume, delete -------------------------------------------------------------------------------------


def test_a_paused_schedule_says_who_why_and_until_when(here):
    here.create()
    form = here.schedules.pause(ACME, "nightly", reason="month end", until=NOON + HOUR).form
    assert form["paused"] == {
        "by": "demo",
        "reason": "month end",
        "at": "2026-11-30T12:00:00Z",
        "until": "2026-11-30T13:00:00Z",
    }
    assert form["next_fire_at"] is None


def test_a_pause_cannot_end_in_the_past(here):
    here.create()
    with pytest.raises(Invalid) as refused:
        here.schedules.pause(ACME, "nightly", reason="x", until=NOON)
    assert refused.value.field == "until"


def test_a_resume_writes_what_the_pause_held_back(here):
    here.create(spec=replace(NIGHTLY, trigger=cron("* * * * *")))
    here.schedules.pause(ACME, "nightly", reason="x")
    here.clock.advance(3600 * SECOND)
    wanted = Misfire(MisfirePolicy.CATCH_UP, 2)
    here.schedules.resume(ACME, "nightly", missed=wanted)
    (row,) = here.rows
    assert (row.status, row.until_nominal_at) == (RunStatus.PAUSED, NOON + HOUR - 2 * MINUTE)
    assert here.timer().nominal_at == NOON + HOUR + MINUTE
    assert backlog_of(here.timer()) == [NOON + HOUR - MINUTE, NOON + HOUR]


def test_an_active_schedule_cannot_be_resumed_and_nothing_is_written(here):
    here.create()
    with pytest.raises(Conflict):
        here.schedules.resume(ACME, "nightly")
    assert here.audit == [("create", "")]


def test_a_deleted_schedule_is_gone_and_deleting_it_again_finds_nothing(here):
    here.create()
    here.schedules.delete(ACME, "nightly", reason="done with it")
    with pytest.raises(NotFound):
        here.schedules.get(ACME, "nightly")
    with pytest.raises(NotFound):
        here.schedules.delete(ACME, "nightly")
    *_, entry = here.store.state.audit.values()
    assert (entry.action, entry.reason, entry.after) == ("cancel", "done with it", None)
    assert entry.before["id"] == "nightly"


# --- reading ---------------------------------------------------------------------------------------------------


def test_a_list_comes_in_pages_and_leaves_out_what_is_deleted(here):
    for name in ("a1", "a2", "a3", "b1"):
        here.create(name)
    here.schedules.delete(ACME, "a2")
    seen, cursor = [], None
    for _ in range(3):
        page = here.schedules.list(ACME, Selection(prefix="a"), cursor=cursor, limit=1)
        seen += [form["id"] for form in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == ["a1", "a3"]


def test_a_list_can_be_of_one_status(here):
    here.create("one")
    here.create("two")
    here.schedules.pause(ACME, "two", reason="x")
    page = here.schedules.list(ACME, Selection(status=Status.PAUSED), cursor=None, limit=10)
    assert [form["id"] for form in page.items] == ["two"]


def test_the_fires_ahead_have_the_schedules_own_jitter(here):
    policies = replace(NIGHTLY.policies, jitter_seconds=60)
    here.create(spec=replace(NIGHTLY, policies=policies))
    found = here.schedules.fires(ACME, "nightly", from_at=None, to_at=None, limit=3)
    assert found[0].nominal_at == here.timer().nominal_at
    assert found[0].due_at == here.timer().due_at
    assert all(0 <= fire.due_at - fire.nominal_at <= 60 * SECOND for fire in found)


def test_fires_are_asked_for_from_and_to_both_included(here):
    here.create(spec=replace(NIGHTLY, trigger=every(10, NOON)))
    found = here.schedules.fires(ACME, "nightly", from_at=NOON + 10 * SECOND, to_at=NOON + 30 * SECOND, limit=10)
    assert [fire.nominal_at - NOON for fire in found] == [10_000, 20_000, 30_000]


@pytest.mark.parametrize("skew_ms", [3_600_000, -3_600_000])
def test_an_api_process_whose_clock_is_off_changes_nothing(skew_ms):
    """A resume decided an hour ahead would put an hour of fires into a pause that is over."""
    made = Installation()
    made.create()
    before, audited = made.timer(), len(made.audit)
    made.store.state.skew_ms = skew_ms
    made.clock.advance(skew_ms)
    with pytest.raises(ClockSkewed):
        made.schedules.pause(ACME, "nightly", reason="maintenance")
    with pytest.raises(ClockSkewed):
        made.create("another")
    assert made.timer() == before
    assert len(made.audit) == audited

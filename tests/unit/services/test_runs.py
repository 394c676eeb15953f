"""Runs: run now, cancel, and what a fire is called that is claimed and has no row yet."""

from dataclasses import replace

import pytest

from cronfleet.domain.attempt import decide_start
from cronfleet.domain.attempt_log import AttemptLog, LogLine, LogPlace
from cronfleet.domain.claim import BatchId, TimerKind
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.errors import Conflict, Invalid, NotFound
from cronfleet.domain.instant import DAY, HOUR, SECOND, to_text
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import MESSAGE_MAX_AGE, RunKey, RunStatus, range_row
from cronfleet.domain.schedule import Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.changing import Once
from cronfleet.services.runs import Override, Runs
from tests.support.builders import every, message
from tests.support.faults import Faulty
from tests.support.settable_clock import NOON, CountingIds
from tests.unit.services.test_schedules import ACME, RIVAL, Installation

EVERY_TEN = Spec(every(10, NOON), HandlerTarget("billing.nightly"))


class WithRuns(Installation):
    def __init__(self):
        super().__init__()
        faulty = Faulty(self.store, self.hook)
        self.runs = Runs(store=faulty, clock=self.clock, ids=CountingIds(1_000))

    def status(self, key):
        return self.runs.get(ACME, key.run_id)["status"]

    def key(self, seconds, epoch=1):
        return RunKey("acme", "nightly", epoch, NOON + seconds * SECOND)

    def start(self, key):
        """What a worker does."""
        start = decide_start(None, message(key.nominal_at, key=key), "worker", self.clock.now())
        self.store.insert_run(start.run)
        return start.run


@pytest.fixture
def here():
    made = WithRuns()
    made.create(spec=EVERY_TEN)
    return made


# --- run now ---------------------------------------------------------------------------------------------------


def test_a_run_now_is_a_row_its_timer_and_an_audit_item(here):
    here.clock.advance(3_400)
    form = here.runs.run_now(ACME, "nightly", reason="month end").form
    (row,) = here.rows
    (run_timer,) = here.store.state.run_timers.values()
    assert (row.status, row.key.nominal_at, row.key.run_id) == (RunStatus.QUEUED, NOON + 3 * SECOND, form["run_id"])
    assert (run_timer.kind, run_timer.key, run_timer.attempt) == (TimerKind.QUEUED, row.key, 1)
    assert run_timer.due_at <= here.clock.now()
    assert here.audit[-1] == ("run", "month end")


def test_fifty_runs_in_one_second_are_fifty_runs(here):
    """O70."""
    ids = {here.runs.run_now(ACME, "nightly").form["run_id"] for _ in range(50)}
    assert len(ids) == len(here.rows) == 50


def test_the_same_key_gives_the_same_run_even_later(here):
    """O70."""
    once = Once("key-1", "digest")
    first = here.runs.run_now(ACME, "nightly", once=once)
    here.clock.advance(90 * SECOND)
    assert here.runs.run_now(ACME, "nightly", once=once) == first
    assert len(here.rows) == 1


def test_a_run_now_carries_its_own_payload_even_if_that_is_null(here):
    here.runs.run_now(ACME, "nightly", override=Override(None))
    here.runs.run_now(ACME, "nightly")
    assert [(row.has_payload, row.payload) for row in here.rows] == [(True, None), (False, None)]


def test_a_paused_schedule_can_be_run_now_and_a_deleted_one_cannot(here):
    here.schedules.pause(ACME, "nightly", reason="x")
    assert here.runs.run_now(ACME, "nightly").form["status"] == "queued"
    here.schedules.delete(ACME, "nightly")
    with pytest.raises(NotFound):
        here.runs.run_now(ACME, "nightly")


def test_a_run_now_of_another_tenants_schedule_finds_nothing(here):
    with pytest.raises(NotFound):
        here.runs.run_now(RIVAL, "nightly")


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_run_now_whose_reply_is_lost_is_one_run(here, when):
    lost = []

    def silent(moment, name):
        if (moment, name) == (when, "commit") and not lost:
            lost.append(name)
            raise NoAnswer

    here.fault = silent
    here.runs.run_now(ACME, "nightly")
    assert len(here.rows) == 1
    assert [action for action, _ in here.audit] == ["create", "run"]


# --- claimed, and no row yet -----------------------------------------------------------------------------------


def test_a_fire_that_is_claimed_and_has_no_row_is_queued(here):
    here.clock.advance(10 * SECOND)
    here.claim()
    form = here.runs.get(ACME, here.key(10).run_id)
    assert (form["status"], form["due_at"], form["attempts"]) == ("queued", "2026-11-30T12:00:10Z", [])


def test_a_fire_that_is_not_claimed_yet_is_not_found(here):
    here.clock.advance(10 * SECOND)
    with pytest.raises(NotFound):
        here.runs.get(ACME, here.key(10).run_id)


@pytest.mark.parametrize("seconds", [-10, 0, 13, 5_000])
def test_a_time_that_the_trigger_never_named_or_has_not_reached_is_not_found(here, seconds):
    here.clock.advance(30 * SECOND)
    here.claim()
    with pytest.raises(NotFound):
        here.runs.get(ACME, here.key(seconds).run_id)


def test_a_claimed_one_shot_is_queued_after_its_schedule_is_completed(here):
    here.create("shot", replace(EVERY_TEN, end_at=NOON + 10 * SECOND))
    timer = here.timer("shot")
    here.clock.advance(10 * SECOND)
    here.store.claim(BatchId(0, 1, 1), [claim_schedule(timer, here.clock.now())])
    assert here.timer("shot").nominal_at is None
    assert here.status(RunKey("acme", "shot", 1, NOON + 10 * SECOND)) == "queued"


def test_a_fire_of_an_epoch_that_is_over_is_not_taken_for_claimed(here):
    here.clock.advance(10 * SECOND)
    here.claim()
    here.schedules.pause(ACME, "nightly", reason="x")
    here.schedules.resume(ACME, "nightly")
    with pytest.raises(NotFound):
        here.runs.get(ACME, here.key(10).run_id)


def test_a_fire_inside_a_missed_range_is_not_taken_for_claimed(here):
    here.set(misfire=Misfire(MisfirePolicy.SKIP))
    here.clock.advance(3_600 * SECOND)
    claim = claim_schedule(here.timer(), here.clock.now())
    here.claim()
    reason = Reason(Code.MISSED, "nothing fired")
    (skipped,) = claim.skipped
    first, last = skipped.first_at, skipped.last_at
    key = claim.run_key(first)
    here.store.insert_run(range_row(key, last, "standard", RunStatus.MISSED, here.clock.now(), reason))
    with pytest.raises(NotFound):
        here.runs.get(ACME, RunKey("acme", "nightly", 1, last).run_id)
    assert here.status(key) == "missed"
    assert here.status(RunKey("acme", "nightly", 1, claim.fires[0].nominal_at)) == "queued"


def test_of_the_fires_a_pause_held_back_only_the_wanted_ones_are_queued(here):
    here.schedules.pause(ACME, "nightly", reason="x")
    here.clock.advance(60 * SECOND)
    here.schedules.resume(ACME, "nightly", missed=Misfire(MisfirePolicy.CATCH_UP, 2, per_minute=60))
    here.claim()
    assert here.status(here.key(50, epoch=2)) == "queued"
    with pytest.raises(NotFound):
        here.runs.get(ACME, here.key(60, epoch=2).run_id)
    here.clock.advance(SECOND)
    here.claim()
    assert here.status(here.key(60, epoch=2)) == "queued"
    with pytest.raises(NotFound):
        here.runs.get(ACME, here.key(40, epoch=2).run_id)


def test_a_fire_whose_message_would_be_refused_by_now_is_not_queued(here):
    here.clock.advance(10 * SECOND)
    here.claim()
    here.clock.advance(MESSAGE_MAX_AGE + DAY)
    with pytest.raises(NotFound):
        here.runs.get(ACME, here.key(10).run_id)


# --- cancel ----------------------------------------------------------------------------------------------------


def test_a_queued_run_can_be_cancelled_once(here):
    run_id = here.runs.run_now(ACME, "nightly").form["run_id"]
    form = here.runs.cancel(ACME, run_id, reason="wrong day").form
    assert (form["status"], form["reason"]["text"]) == ("cancelled", "cancelled by demo: wrong day")
    assert here.audit[-1] == ("cancel_run", "wrong day")
    with pytest.raises(Conflict, match="over"):
        here.runs.cancel(ACME, run_id)


def test_cancelling_a_claimed_fire_writes_its_row_so_that_no_worker_starts_it(here):
    here.clock.advance(10 * SECOND)
    here.claim()
    key = here.key(10)
    here.runs.cancel(ACME, key.run_id)
    row = here.store.get_run(key)
    assert (row.status, row.due_at) == (RunStatus.CANCELLED, key.nominal_at)
    assert type(decide_start(row, message(key.nominal_at, key=key), "w", here.clock.now())).__name__ == "Drop"


def test_of_a_run_that_a_worker_starts_first_the_cancellation_is_asked_for(here):
    here.clock.advance(10 * SECOND)
    here.claim()
    key = here.key(10)

    def overtaken(when, name):
        if (when, name) == ("before", "commit"):
            here.fault = lambda when, name: None
            here.start(key)

    here.fault = overtaken
    form = here.runs.cancel(ACME, key.run_id).form
    row = here.store.get_run(key)
    assert (form["status"], row.status, row.cancel.by) == ("running", RunStatus.RUNNING, "demo")


def test_a_run_that_waits_for_a_retry_can_be_cancelled_and_lets_go_of_the_gate(here):
    key = here.key(10)
    running = here.start(key)
    here.store.replace_run(running.moved(RunStatus.WAITING, retry_at=NOON + HOUR, lease_until=None))
    here.store.take_gate("acme", "nightly", key.run_id, NOON, None)
    assert here.runs.cancel(ACME, key.run_id).form["retry_at"] is None
    assert here.store.state.gates == {}


def test_a_gate_that_cannot_be_freed_now_does_not_undo_the_cancellation(here):
    run_id = here.runs.run_now(ACME, "nightly").form["run_id"]

    def silent(_when, name):
        if name == "release_gate":
            raise NoAnswer

    here.fault = silent
    assert here.runs.cancel(ACME, run_id).form["status"] == "cancelled"


def test_of_a_running_run_the_cancellation_is_asked_for_once_and_audited(here):
    key = here.start(here.key(10)).key
    form = here.runs.cancel(ACME, key.run_id, reason="wrong day").form
    asked_at = here.clock.now()
    assert (form["status"], form["finished_at"]) == ("running", None)
    assert form["cancel_requested"] == {"at": to_text(asked_at), "by": "demo", "reason": "wrong day"}
    assert here.audit[-1] == ("cancel_run", "wrong day")
    entries = len(here.audit)
    here.clock.advance(SECOND)
    again = here.runs.cancel(ACME, key.run_id, reason="again").form
    assert again["cancel_requested"] == form["cancel_requested"]
    assert len(here.audit) == entries


def test_a_run_that_ends_while_its_cancellation_is_being_asked_for_stays_what_it_is(here):
    running = here.start(here.key(10))

    def overtaken(when, name):
        if (when, name) == ("before", "commit"):
            here.fault = lambda when, name: None
            here.store.replace_run(running.ended(RunStatus.SUCCEEDED, here.clock.now()))

    here.fault = overtaken
    with pytest.raises(Conflict, match="over"):
        here.runs.cancel(ACME, running.key.run_id)
    assert here.store.get_run(running.key).status is RunStatus.SUCCEEDED


def test_a_fire_that_is_not_claimed_cannot_be_cancelled(here):
    with pytest.raises(NotFound):
        here.runs.cancel(ACME, here.key(10).run_id)
    assert here.rows == []


def test_another_tenants_run_cannot_be_seen_or_cancelled(here):
    run_id = here.runs.run_now(ACME, "nightly").form["run_id"]
    for ask in (here.runs.get, here.runs.cancel):
        with pytest.raises(NotFound):
            ask(RIVAL, run_id)


@pytest.mark.parametrize("run_id", ["", "x", "a~b~c~d~e", "acme~nightly~1~20261130T120010Z~manual-"])
def test_a_text_that_is_no_run_id_is_said_to_be_none(here, run_id):
    with pytest.raises(Invalid) as refused:
        here.runs.get(ACME, run_id)
    assert refused.value.field == "run_id"


# --- history ---------------------------------------------------------------------------------------------------


def test_the_history_is_newest_first_in_pages_and_has_ranges(here):
    here.schedules.pause(ACME, "nightly", reason="x")
    here.clock.advance(60 * SECOND)
    here.schedules.resume(ACME, "nightly")
    for _ in range(2):
        here.clock.advance(SECOND)
        here.runs.run_now(ACME, "nightly")
    first = here.runs.history(ACME, "nightly", cursor=None, limit=2)
    second = here.runs.history(ACME, "nightly", cursor=first.cursor, limit=2)
    assert [form["nominal_at"] for form in first.items] == ["2026-11-30T12:01:02Z", "2026-11-30T12:01:01Z"]
    (paused,) = second.items
    assert (paused["status"], paused["until_nominal_at"]) == ("paused", "2026-11-30T12:01:00Z")
    assert second.cursor is None


def test_a_deleted_schedules_history_can_still_be_read_and_an_unknown_ones_cannot(here):
    here.runs.run_now(ACME, "nightly")
    here.schedules.delete(ACME, "nightly")
    assert len(here.runs.history(ACME, "nightly", cursor=None, limit=10).items) == 1
    with pytest.raises(NotFound):
        here.runs.history(ACME, "never", cursor=None, limit=10)


# --- logs ------------------------------------------------------------------------------------------------------


def test_the_log_of_an_attempt_is_shown_with_a_link_to_all_of_it(here):
    key = here.start(here.key(10)).key
    place = LogPlace("eu-west-1", "/aws/lambda/worker", "2026/12/01/[$LATEST]a")
    here.store.put_log(AttemptLog(key, 1, NOON, (LogLine(NOON, "INFO", "at work"),), False, place))
    form = here.runs.log(ACME, key.run_id)
    assert (form["attempt"], form["is_whole"]) == (1, False)
    assert form["lines"] == [{"at": to_text(NOON), "level": "INFO", "text": "at work"}]
    assert form["place"]["url"].startswith(
        "https://eu-west-1.console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logsV2:log-groups/log-group/"
        "$252Faws$252Flambda$252Fworker/log-events/2026$252F12$252F01$252F$255B$2524LATEST$255Da$3FfilterPattern$3D$2522acme~"
    )
    assert here.runs.log(ACME, key.run_id, 1) == form
    with pytest.raises(Invalid, match="has had 1 attempts"):
        here.runs.log(ACME, key.run_id, 2)
    with pytest.raises(NotFound):
        here.runs.log(RIVAL, key.run_id)

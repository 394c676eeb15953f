"""What a timer becomes when its schedule changes, and what goes into the ledger for it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.change import cancelled, created, edited, parked, paused, resumed
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.errors import Conflict, Contended, Invalid
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.left_behind import MAX_FIRES_PER_CHANGE
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import RunKey, RunStatus
from cronfleet.domain.schedule import Pause, Policies, Spec, Status
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger, fires
from tests.support.builders import at, backlog_of, cron, definition, every, timer

NOON = at("2026-11-30 12:00")
NINE = cron("0 9 * * *")
THREE = cron("0 15 * * *")
MINUTELY = cron("* * * * *")
PAUSE = Pause("ops", NOON, "maintenance")
SKIP = Misfire(MisfirePolicy.SKIP)
ONCE = Misfire(MisfirePolicy.FIRE_ONCE)


def catch_up(most):
    return Misfire(MisfirePolicy.CATCH_UP, most)


def spec(trigger, **changes):
    return Spec(trigger, **{"target": HandlerTarget("billing.nightly"), **changes})


def create(trigger, tombstone=None, now=NOON, **changes):
    return created(
        spec(trigger, **changes),
        tenant=Tenant("acme", "priority"),
        schedule_id="nightly",
        shards=64,
        now=now,
        change_id="c1",
        author="demo",
        tombstone=tombstone,
    )


def edit(before, trigger, now=NOON, **changes):
    old = definition(before.trigger, start_at=before.start_at, end_at=before.end_at)
    return edited(before, old, spec(trigger, **changes), now=now, change_id="c2", author="demo", reason="because")


def hold(before, now=NOON, pause=PAUSE):
    return paused(before, pause, now=now, change_id="p1")


def resume(before, now, wanted=None):
    return resumed(before, now=now, change_id="r1", catch_up=wanted)


def ranges(rows):
    return [(row.status, row.key.epoch, row.key.nominal_at, row.until_nominal_at) for row in rows]


# --- created ---------------------------------------------------------------------------------------------------


def test_a_new_schedule_waits_for_its_first_time_after_now():
    made, first = create(THREE)
    assert (made.nominal_at, made.due_at) == (at("2026-11-30 15:00"), at("2026-11-30 15:00"))
    assert (made.status, made.version, made.epoch, made.rev) == (Status.ACTIVE, 1, 1, 1)
    assert (made.epoch_since, made.created_at, made.updated_at, made.change_id) == (NOON, NOON, NOON, "c1")
    assert (made.tier, first.version, first.author) == ("priority", 1, "demo")


def test_a_time_that_is_now_does_not_count():
    made, _ = create(cron("0 12 * * *"))
    assert made.nominal_at == at("2026-12-01 12:00")


def test_a_schedule_whose_id_comes_back_goes_on_with_the_numbers_of_the_one_before():
    before, _ = create(THREE)
    tombstone, _ = cancelled(replace(before, claim_batch="0.1.1"), now=NOON + HOUR, change_id="x")
    made, again = create(NINE, tombstone, now=NOON + 2 * HOUR)
    assert (made.version, again.version, made.claim_batch) == (2, 2, "0.1.1")
    assert made.epoch > tombstone.epoch
    assert made.rev > tombstone.rev
    assert made.created_at == NOON + 2 * HOUR


def test_what_an_earlier_life_left_claimed_or_queued_cannot_start_in_the_new_one():
    earlier, _ = create(THREE)
    tombstone, _ = cancelled(earlier, now=NOON, change_id="x")
    made, _ = create(NINE, tombstone, now=NOON + HOUR)
    assert made.born_epoch > earlier.epoch
    resumed_later, _ = resumed(replace(made, status=Status.PAUSED), now=NOON + 2 * HOUR, change_id="y", catch_up=None)
    assert resumed_later.born_epoch == made.born_epoch


def test_a_fire_knows_when_its_epoch_ended_however_many_changes_came_after():
    timer, _ = create(THREE)
    for number in range(1, 12):
        paused_timer = replace(timer, status=Status.PAUSED)
        timer, _ = resumed(paused_timer, now=NOON + number * HOUR, change_id=f"c{number}", catch_up=None)
    assert timer.epoch_ended_at(timer.epoch) is None
    assert timer.epoch_ended_at(timer.epoch - 1) == NOON + 11 * HOUR
    assert timer.epoch_ended_at(timer.epoch - 8) == NOON + 4 * HOUR
    assert timer.epoch_ended_at(1) == 0, "forgotten: whatever it named has been overtaken often enough"


def test_a_schedule_that_would_never_fire_is_refused():
    with pytest.raises(Invalid, match=r"trigger\.at: names no time"):
        create(OneShotTrigger(NOON, "2026-11-30T12:00:00Z", None))


def test_a_schedule_that_ends_before_its_first_time_is_refused_with_its_end():
    with pytest.raises(Invalid) as refused:
        create(THREE, end_at=NOON + HOUR)
    assert refused.value.field == "end_at"


def test_a_start_puts_the_first_time_off_and_may_be_the_first_time_itself():
    made, _ = create(THREE, start_at=at("2026-12-24 15:00"))
    assert made.nominal_at == at("2026-12-24 15:00")


# --- edited ----------------------------------------------------------------------------------------------------


def test_an_edit_that_leaves_the_trigger_alone_moves_nothing_but_the_version():
    before = timer(THREE, at("2026-11-30 15:00"), rev=7)
    after, new, rows, run_timers = edit(before, THREE, payload={"a": 1})
    assert (after.nominal_at, after.due_at, after.epoch, after.epoch_since) == (before.nominal_at, before.due_at, 1, 0)
    assert (after.version, new.version, after.rev, after.change_id, new.reason) == (2, 2, 8, "c2", "because")
    assert rows == run_timers == ()


def test_an_edit_takes_over_the_policies_that_the_dispatcher_needs():
    policies = Policies(misfire=SKIP, jitter_seconds=30, timeout_seconds=5)
    after, *_ = edit(timer(THREE, at("2026-11-30 15:00")), THREE, policies=policies)
    assert (after.misfire, after.jitter_seconds, after.timeout_seconds) == (SKIP, 30, 5)


def test_moving_a_time_to_earlier_today_fires_tomorrow_and_never_at_once():
    """O33: at 12:00, 15:00 becomes 09:00."""
    after, _, rows, run_timers = edit(timer(THREE, at("2026-11-30 15:00")), NINE)
    assert after.nominal_at == after.due_at == at("2026-12-01 09:00")
    assert (after.epoch, after.epoch_since) == (2, NOON)
    assert rows == run_timers == ()


def test_what_was_due_and_not_yet_claimed_still_runs_after_its_trigger_was_changed():
    before = timer(every(10), NOON - 20 * SECOND)
    after, new, rows, run_timers = edit(before, NINE)
    assert [row.key.nominal_at for row in rows] == [NOON - 20 * SECOND, NOON - 10 * SECOND, NOON]
    assert {(row.status, row.key.epoch, row.version) for row in rows} == {(RunStatus.QUEUED, 1, new.version)}
    assert [run_timer.key for run_timer in run_timers] == [row.key for row in rows]
    assert all(run_timer.due_at <= after.epoch_since for run_timer in run_timers)


def test_what_was_missed_before_the_trigger_was_changed_is_written_down():
    before = timer(MINUTELY, NOON - HOUR, misfire=SKIP)
    _, _, rows, run_timers = edit(before, NINE)
    missed, *queued = rows
    assert missed.status is RunStatus.MISSED
    assert missed.key.nominal_at == NOON - HOUR
    accounted = {row.key.nominal_at for row in queued}
    assert accounted == set(range(missed.until_nominal_at + MINUTE, NOON + 1, MINUTE))
    assert len(run_timers) == len(queued)


def test_a_nominal_that_jitter_had_not_made_due_is_dropped_with_a_row():
    before = timer(MINUTELY, NOON, due_at=NOON + 40 * SECOND, jitter_seconds=50)
    _, _, (row,), run_timers = edit(before, NINE, now=NOON + 20 * SECOND)
    assert (row.status, row.reason.code, row.key.nominal_at) == (RunStatus.SKIPPED, Code.SUPERSEDED, NOON)
    assert run_timers == ()


def test_a_deferred_fire_is_kept_when_its_trigger_is_changed():
    """Promise 5: a tenant over its rate keeps its fires."""
    deferred = Reason(Code.TENANT_RATE, "over its share")
    before = timer(MINUTELY, NOON, due_at=NOON + 25 * SECOND, reserved_at=NOON + 25 * SECOND, deferred=deferred)
    after, _, (row,), (run_timer,) = edit(before, NINE, now=NOON + 5 * SECOND)
    assert (row.status, run_timer.due_at) == (RunStatus.QUEUED, NOON + 5 * SECOND)
    assert row.due_at <= after.epoch_since, "else the worker would drop it as superseded"


def test_more_due_fires_than_a_transaction_holds_are_left_to_the_dispatcher_first():
    before = timer(every(1), NOON - MAX_FIRES_PER_CHANGE * SECOND)
    with pytest.raises(Contended, match="again"):
        edit(before, NINE)
    edit(timer(every(1), NOON - (MAX_FIRES_PER_CHANGE - 1) * SECOND), NINE)


def test_a_changed_trigger_of_a_paused_schedule_accounts_for_what_the_pause_held_back():
    before = hold(timer(MINUTELY, NOON + MINUTE), pause=replace(PAUSE, until=NOON + DAY))
    after, _, rows, _ = edit(before, NINE, now=NOON + HOUR)
    assert ranges(rows) == [(RunStatus.PAUSED, 1, NOON + MINUTE, NOON + HOUR)]
    assert (after.status, after.nominal_at, after.due_at) == (Status.PAUSED, at("2026-12-01 09:00"), NOON + DAY)


def test_a_completed_schedule_with_a_new_trigger_is_active_again():
    after, *_ = edit(timer(NINE, None, status=Status.COMPLETED, due_at=None), THREE)
    assert (after.status, after.nominal_at) == (Status.ACTIVE, at("2026-11-30 15:00"))


def test_an_edit_does_not_wake_a_completed_schedule():
    after, *_ = edit(timer(NINE, None, status=Status.COMPLETED, due_at=None), NINE, payload=1)
    assert (after.status, after.nominal_at) == (Status.COMPLETED, None)


def test_a_changed_trigger_that_never_fires_again_is_refused():
    with pytest.raises(Invalid) as refused:
        edit(timer(NINE, at("2026-12-01 09:00")), NINE, end_at=NOON + HOUR)
    assert refused.value.field == "end_at"


def test_a_new_end_counts_as_a_new_trigger():
    after, *_ = edit(timer(NINE, at("2026-12-01 09:00")), NINE, end_at=NOON + 3 * DAY)
    assert (after.epoch, after.end_at) == (2, NOON + 3 * DAY)


# --- paused and resumed ----------------------------------------------------------------------------------------


def test_a_pause_leaves_the_due_index_and_remembers_where_it_began():
    after = hold(timer(THREE, at("2026-11-30 15:00"), rev=3))
    assert (after.status, after.due_at, after.nominal_at) == (Status.PAUSED, None, at("2026-11-30 15:00"))
    assert (after.pause, after.rev, after.epoch) == (PAUSE, 4, 1)


def test_a_pause_with_an_end_wakes_itself_and_never_early():
    after = hold(timer(THREE, at("2026-11-30 15:00")), pause=replace(PAUSE, until=NOON + 1))
    assert after.due_at == NOON + SECOND


def test_pausing_what_is_paused_changes_the_reason_and_nothing_else():
    once = hold(timer(THREE, at("2026-11-30 15:00")))
    twice = hold(once, pause=replace(PAUSE, reason="longer", until=NOON + DAY))
    assert (twice.nominal_at, twice.pause.reason, twice.due_at) == (once.nominal_at, "longer", NOON + DAY)


def test_a_weekend_of_pause_is_not_missed_unless_somebody_asks():
    """O25."""
    after, rows = resume(hold(timer(MINUTELY, NOON + MINUTE)), NOON + 3 * DAY)
    assert (after.status, after.nominal_at) == (Status.ACTIVE, NOON + 3 * DAY + MINUTE)
    assert ranges(rows) == [(RunStatus.PAUSED, 1, NOON + MINUTE, NOON + 3 * DAY)]
    assert rows[0].reason.text == "paused by ops: maintenance"
    assert (after.epoch, after.epoch_since, after.pause) == (2, NOON + 3 * DAY, None)


def test_a_resume_before_the_next_time_writes_nothing():
    after, rows = resume(hold(timer(THREE, at("2026-11-30 15:00"))), NOON + HOUR)
    assert (after.nominal_at, rows) == (at("2026-11-30 15:00"), ())


@pytest.mark.parametrize(("wanted", "kept"), [(ONCE, 1), (catch_up(3), 3), (catch_up(1000), 60)])
def test_a_resume_catches_up_the_newest_that_it_is_asked_for(wanted, kept):
    """O28: what the caller says wins over the stored policy, for this once."""
    before = hold(timer(MINUTELY, NOON + MINUTE, misfire=SKIP))
    now = NOON + HOUR
    after, rows = resume(before, now, wanted)
    assert after.nominal_at == now + MINUTE
    assert (after.due_at, after.caught_up_from, after.misfire) == (now, now - (kept - 1) * MINUTE, SKIP)
    (stretch,) = after.backlog.stretches
    assert (stretch.first_at, stretch.last_at) == (after.caught_up_from, now)
    assert stretch.late == Late(Cause.PAUSE, NOON + MINUTE, now, now)
    last_dropped = now - kept * MINUTE
    expected = [(RunStatus.PAUSED, 1, NOON + MINUTE, last_dropped)] if kept < 60 else []
    assert ranges(rows) == expected


def test_a_one_shot_held_back_and_not_wanted_completes_the_schedule():
    shot = OneShotTrigger(NOON + HOUR, "2026-11-30T13:00:00Z", None)
    before = hold(timer(shot, NOON + HOUR))
    after, rows = resume(before, NOON + 2 * HOUR)
    assert (after.status, after.nominal_at, after.due_at) == (Status.COMPLETED, None, None)
    assert ranges(rows) == [(RunStatus.PAUSED, 1, NOON + HOUR, NOON + HOUR)]


def test_a_one_shot_held_back_and_wanted_fires_at_once():
    shot = OneShotTrigger(NOON + HOUR, "2026-11-30T13:00:00Z", None)
    after, rows = resume(hold(timer(shot, NOON + HOUR)), NOON + 2 * HOUR, ONCE)
    assert (after.status, after.nominal_at, after.due_at, rows) == (Status.ACTIVE, None, NOON + 2 * HOUR, ())
    assert after.backlog.next_at == NOON + HOUR


def test_nothing_after_the_end_counts_as_held_back():
    before = hold(timer(MINUTELY, NOON + MINUTE, end_at=NOON + 5 * MINUTE))
    after, rows = resume(before, NOON + HOUR)
    assert after.status is Status.COMPLETED
    assert ranges(rows) == [(RunStatus.PAUSED, 1, NOON + MINUTE, NOON + 5 * MINUTE)]


def test_due_times_are_whole_seconds_even_when_a_resume_comes_in_between():
    after, _ = resume(hold(timer(MINUTELY, NOON + MINUTE)), NOON + HOUR + 345, ONCE)
    assert after.due_at % SECOND == 0
    assert after.due_at <= NOON + HOUR + 345


def test_what_runs_cannot_be_resumed():
    with pytest.raises(Conflict, match="that is active cannot be resumed"):
        resume(timer(MINUTELY, NOON), NOON)


# --- cancelled and parked --------------------------------------------------------------------------------------


def test_a_cancelled_schedule_is_a_tombstone_in_no_index():
    after, rows = cancelled(timer(THREE, at("2026-11-30 15:00"), rev=2), now=NOON, change_id="x")
    assert (after.status, after.nominal_at, after.due_at) == (Status.CANCELLED, None, None)
    assert (after.epoch, after.epoch_since, after.rev, rows) == (2, NOON, 3, ())


def test_what_was_due_when_a_schedule_was_cancelled_has_one_row():
    _, rows = cancelled(timer(every(10), NOON - 30 * SECOND), now=NOON + 1, change_id="x")
    assert ranges(rows) == [(RunStatus.CANCELLED, 1, NOON - 30 * SECOND, NOON)]


def test_what_a_pause_held_back_has_its_row_when_the_schedule_is_cancelled():
    _, rows = cancelled(hold(timer(MINUTELY, NOON + MINUTE)), now=NOON + HOUR, change_id="x")
    assert ranges(rows) == [(RunStatus.PAUSED, 1, NOON + MINUTE, NOON + HOUR)]


def test_a_parked_schedule_waits_for_nothing_and_says_why():
    reason = Reason(Code.UNREADABLE, "the zone is gone")
    after = parked(timer(MINUTELY, NOON), reason, now=NOON, change_id="k")
    assert (after.status, after.due_at, after.parked, after.rev) == (Status.PARKED, None, reason, 2)


def test_a_schedule_whose_trigger_no_longer_computes_can_still_be_cancelled():
    broken = parked(
        timer(cron("0 9 * * *", "Gone/Zone"), NOON), Reason(Code.UNREADABLE, "gone"), now=NOON, change_id="k"
    )
    after, rows = cancelled(broken, now=NOON + HOUR, change_id="x")
    assert after.status is Status.CANCELLED
    assert ranges(rows) == [(RunStatus.REFUSED, 1, NOON, NOON + HOUR)]


def test_a_parked_schedule_with_a_new_trigger_goes_on_and_accounts_for_what_it_left_out():
    broken = parked(
        timer(cron("0 9 * * *", "Gone/Zone"), NOON), Reason(Code.UNREADABLE, "gone"), now=NOON, change_id="k"
    )
    after, _, rows, _ = edit(broken, THREE, now=NOON + HOUR)
    assert (after.status, after.parked, after.nominal_at) == (Status.ACTIVE, None, at("2026-11-30 15:00"))
    assert ranges(rows) == [(RunStatus.REFUSED, 1, NOON, NOON + HOUR)]


@pytest.mark.parametrize("what", ["edit", "resume", "cancel"])
def test_a_fire_that_is_claimed_ahead_gets_its_row_from_the_change_that_overtakes_it(what):
    """O35: claimed ten seconds ahead, overtaken five before it is due: exactly one of old and new may run."""
    now = NOON + 5 * SECOND
    before = timer(every(10, NOON), NOON + 20 * SECOND)
    if what == "edit":
        after, _, rows, _ = edit(before, every(5, NOON), now=now)
    elif what == "resume":
        held = paused(before, Pause("ada", now - SECOND), now=now - SECOND, change_id="p")
        after, rows = resumed(held, now=now, change_id="r", catch_up=None)
        assert after.nominal_at == NOON + 10 * SECOND
    else:
        after, rows = cancelled(before, now=now, change_id="c")
    (row,) = rows
    assert row.key == RunKey("acme", "nightly", 1, NOON + 10 * SECOND)
    assert row.is_terminal
    assert row.reason.code is (Code.CANCELLED if what == "cancel" else Code.SUPERSEDED)


@pytest.mark.parametrize("pace", [{"is_spread": True}, {"schedule_id": "jittered-3"}])
def test_a_fire_that_ran_before_its_schedule_was_put_off_by_more_stands_in_no_changes_way(pace):
    now = NOON + 5 * MINUTE
    before = timer(cron("0 * * * *"), NOON + HOUR, jitter_seconds=2_700, **pace)
    assert first_fire(before, NOON - SECOND).due_at > now + MINUTE, "else this test is about nothing"
    _, rows = cancelled(before, now=now, change_id="c")
    _, _, superseded, _ = edit(before, THREE, now=now)
    assert (rows, superseded) == ((), ())


def test_two_processes_whose_clocks_differ_never_make_time_go_back():
    before = replace(timer(every(10, NOON), NOON + 20 * SECOND), updated_at=NOON + 12 * SECOND)
    after, _, _, _ = edit(before, every(5, NOON), now=NOON + 11 * SECOND)
    assert after.epoch_since == NOON + 12 * SECOND
    assert after.nominal_at == NOON + 15 * SECOND


# --- promise 1, for any moment ---------------------------------------------------------------------------------

triggers = st.one_of(
    st.sampled_from([MINUTELY, NINE, cron("*/7 * * * *"), cron("30 2 * * *", "America/New_York")]),
    st.integers(10, 5_000).map(lambda seconds: every(seconds, NOON + 7 * SECOND)),
)
misfires = st.one_of(st.just(SKIP), st.just(ONCE), st.integers(1, 5).map(catch_up))


@given(
    triggers, misfires, st.integers(0, 40), st.integers(0, 3 * 86_400), st.sampled_from(["edit", "resume", "cancel"])
)
def test_every_nominal_up_to_a_change_is_accounted_for_exactly_once(trigger, misfire, jitter, late, what):
    first = trigger.next_after(NOON)
    now = first + late * SECOND + 123
    before = timer(trigger, first, misfire=misfire, jitter_seconds=jitter)
    after, rows = before, ()
    if what == "edit":
        try:
            after, _, rows, _ = edit(before, cron("1 1 1 1 *"), now=now)
        except Contended:
            return
    elif what == "resume":
        after, rows = resume(hold(before, now=NOON), now, misfire)
    else:
        after, rows = cancelled(before, now=now, change_id="x")
    named = list(fires(trigger, first - 1, now))
    covered = [nominal for nominal in named for row in rows if _accounts_for(row, nominal)]
    covered += backlog_of(after)
    assert sorted(covered) == named


def _accounts_for(row, nominal):
    last = row.key.nominal_at if row.until_nominal_at is None else row.until_nominal_at
    return row.key.nominal_at <= nominal <= last


@pytest.mark.parametrize("chosen", [{"gap": Gap.SKIP}, {"overlap": Repeat.BOTH}, {"overlap": Repeat.SECOND}])
def test_an_edit_that_changes_only_what_a_changed_clock_does_is_a_retime(chosen: dict) -> None:
    trigger = CronTrigger("30 2 * * *", "Europe/Berlin")
    before, held = definition(trigger), timer(trigger, at("2026-11-30 01:30"))
    spec = replace(before.spec, trigger=replace(trigger, **chosen))
    after, *_ = edited(held, before, spec, now=at("2026-11-29 12:00"), change_id="x", author="ops", reason="")
    assert (after.epoch, after.trigger) == (held.epoch + 1, spec.trigger)

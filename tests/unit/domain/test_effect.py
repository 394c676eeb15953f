"""What a change gains, loses and moves, against a plain look at both sides."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronfleet.domain.beginning import Beginning, begun
from cronfleet.domain.calendar import Calendar, CalendarRule, DateKind, Dates, Mode
from cronfleet.domain.change import created, edited, paused, resumed
from cronfleet.domain.claim import Fire
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.effect import EFFECT, MAX_COMPARED, Effect, MoveCause, caught_up_count, effect_of
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.outlook import fires_of
from cronfleet.domain.schedule import Definition, Hold, Pause, Policies, Spec, Status, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger
from tests.support.builders import at, cron, every
from tests.support.settable_clock import NOON

TARGET = HandlerTarget("billing.nightly")


def spec(trigger: Any, jitter_seconds: int = 0, **changes: Any) -> Spec:
    return Spec(trigger, TARGET, policies=Policies(jitter_seconds=jitter_seconds), **changes)


def registered(wanted: Spec, now: Instant = NOON) -> tuple[Timer, Definition]:
    return created(
        wanted,
        tenant=Tenant("acme"),
        schedule_id="nightly",
        shards=1,
        now=now,
        change_id="created",
        author="demo",
        tombstone=None,
    )


def change(timer: Timer, definition: Definition, wanted: Spec, now: Instant = NOON) -> Timer:
    return edited(timer, definition, wanted, now=now, change_id="edited", author="demo", reason="")[0]


def effect(before: Spec, after: Spec, now: Instant = NOON) -> Effect:
    """Of an edit from `before`, registered at noon, to `after`."""
    timer, definition = registered(before)
    return effect_of(timer, change(timer, definition, after, now), now)


def nominals(fires: Any) -> list[Instant]:
    return [fire.nominal_at for fire in fires]


# --- gained and lost -------------------------------------------------------------------------------------------


def test_a_new_schedule_gains_all_that_it_fires_in_thirty_days() -> None:
    timer, _ = registered(spec(cron("0 2 * * *")))
    found = effect_of(None, timer, NOON)
    assert nominals(found.gained) == [at("2026-12-01 02:00") + day * DAY for day in range(30)]
    assert (found.lost, found.moved, found.unchanged, found.until) == ((), (), 0, NOON + EFFECT)
    assert not found.is_off
    assert not found.is_cut


def test_another_time_of_day_is_as_many_fires_lost_as_gained() -> None:
    found = effect(spec(cron("0 2 * * *")), spec(cron("30 2 * * *")))
    assert (len(found.gained), len(found.lost), len(found.moved), found.unchanged) == (30, 30, 0, 0)


def test_what_both_name_is_unchanged() -> None:
    found = effect(spec(cron("0 2 * * *")), spec(cron("0 2 * * 1-5")))
    assert (len(found.lost), found.unchanged, found.gained) == (8, 22, ()), "four weekends and more"
    assert {to_weekday(fire) for fire in found.lost} == {5, 6}


def to_weekday(fire: Fire) -> int:
    return (fire.nominal_at // DAY + 3) % 7


def test_an_edit_of_something_else_changes_no_fire() -> None:
    found = effect(spec(every(60), jitter_seconds=30), spec(every(60), jitter_seconds=30, owner="billing"))
    assert found.is_nothing
    assert found.unchanged == EFFECT // MINUTE


def test_an_earlier_end_loses_what_lies_behind_it() -> None:
    found = effect(spec(cron("0 2 * * *")), spec(cron("0 2 * * *"), end_at=NOON + 10 * DAY))
    assert (len(found.lost), found.unchanged) == (20, 10)


def test_a_later_start_loses_what_lies_before_it() -> None:
    found = effect(spec(every(3_600)), spec(every(3_600), start_at=NOON + DAY))
    assert len(found.lost) == 23, "from one o'clock to eleven the next day; noon itself is in"


def test_fires_that_are_claimed_ahead_are_lost_by_a_new_trigger_and_stay_with_any_other_edit() -> None:
    timer, definition = registered(spec(every(5)))
    claimed = claim_schedule(timer, NOON)
    assert claimed.following is not None
    ahead = replace(timer, nominal_at=claimed.following.nominal_at, due_at=claimed.following.due_at)
    retimed = change(ahead, definition, spec(every(10)))
    found = effect_of(ahead, retimed, NOON + SECOND)
    assert nominals(found.lost)[:2] == [NOON + 5 * SECOND, NOON + 15 * SECOND], "the first of them is claimed"
    described = change(ahead, definition, replace(spec(every(5)), description="the same times"))
    assert effect_of(ahead, described, NOON + SECOND).is_nothing


def test_a_fire_that_ran_before_its_schedule_was_put_off_by_more_is_not_lost() -> None:
    timer, definition = registered(spec(every(3_600)))
    later = replace(timer, nominal_at=NOON + 2 * HOUR, due_at=NOON + 2 * HOUR, jitter_seconds=3_000, is_spread=True)
    now = NOON + HOUR + MINUTE
    found = effect_of(later, change(later, definition, spec(cron("0 2 * * *")), now), now)
    assert found.lost[0].nominal_at == NOON + 2 * HOUR


def test_a_nominal_time_that_jitter_has_not_made_due_yet_is_lost_by_a_new_trigger() -> None:
    timer, definition = registered(spec(every(3_600), jitter_seconds=1_800))
    assert timer.nominal_at is not None
    assert timer.due_at is not None
    now = timer.nominal_at + SECOND
    assert now < timer.due_at, "else this test is about nothing"
    found = effect_of(timer, change(timer, definition, spec(cron("0 2 * * *")), now), now)
    assert found.lost[0] == Fire(timer.nominal_at, timer.due_at)


# --- moved -----------------------------------------------------------------------------------------------------


def test_jitter_moves_fires_and_leaves_them_their_nominal_times() -> None:
    found = effect(spec(every(3_600)), spec(every(3_600), jitter_seconds=600))
    assert (found.gained, found.lost) == ((), ())
    assert {one.cause for one in found.moved} == {MoveCause.JITTER}
    assert all(one.before.nominal_at == one.after.nominal_at for one in found.moved)
    assert len(found.moved) + found.unchanged == EFFECT // HOUR


def test_the_fire_that_waits_already_keeps_its_due_time_when_the_jitter_changes() -> None:
    timer, definition = registered(spec(every(3_600), jitter_seconds=1_800))
    after = change(timer, definition, spec(every(3_600)))
    found = effect_of(timer, after, NOON)
    assert timer.nominal_at not in [one.before.nominal_at for one in found.moved]
    claim = claim_schedule(after, after.due_at or 0)
    assert claim.fires[0].due_at == timer.due_at, "as the dispatcher has it"


def test_the_same_wall_clock_time_in_another_zone_is_the_same_fire_moved() -> None:
    found = effect(spec(cron("0 2 * * *", "Asia/Kolkata")), spec(cron("0 2 * * *", "Europe/Paris")))
    assert {one.cause for one in found.moved} == {MoveCause.CLOCK}
    assert (len(found.moved), found.gained, found.lost) == (30, (), ())
    assert {one.after.nominal_at - one.before.nominal_at for one in found.moved} == {4 * HOUR + 30 * MINUTE}


def test_the_second_pass_of_an_hour_that_the_clock_shows_twice_is_the_first_one_moved() -> None:
    before_it_comes = at("2027-10-20 12:00")
    first = CronTrigger("30 2 * * *", "Europe/Paris")
    timer, definition = registered(spec(first), before_it_comes)
    second = change(timer, definition, spec(replace(first, overlap=Repeat.SECOND)), before_it_comes)
    found = effect_of(timer, second, before_it_comes)
    (moved,) = found.moved
    assert (moved.cause, moved.after.nominal_at - moved.before.nominal_at) == (MoveCause.CLOCK, HOUR)
    both = change(timer, definition, spec(replace(first, overlap=Repeat.BOTH)), before_it_comes)
    assert len(effect_of(timer, both, before_it_comes).gained) == 1, "a second one is a fire more"


def test_a_time_that_the_clock_skips_is_lost_when_it_may_not_come_after_the_gap() -> None:
    before_it_comes = at("2027-03-20 12:00")
    after_the_gap = CronTrigger("30 2 * * *", "Europe/Paris")
    timer, definition = registered(spec(after_the_gap), before_it_comes)
    skipping = change(timer, definition, spec(replace(after_the_gap, gap=Gap.SKIP)), before_it_comes)
    assert nominals(effect_of(timer, skipping, before_it_comes).lost) == [at("2027-03-28 01:00")]


def calendared(expression: str, mode: Mode | None, *holidays: str, nth: int = 0) -> CronTrigger:
    if mode is None:
        return CronTrigger(expression, "UTC")
    days = tuple(Dates(at(day) // DAY, at(day) // DAY, DateKind.HOLIDAY, "") for day in holidays)
    content = Calendar("acme", "uk", 1, frozenset({5, 6}), days, at("2028-01-01") // DAY)
    return CronTrigger(expression, "UTC", calendar=CalendarRule("uk", 1, mode, nth, days=content))


def test_a_fire_that_a_calendar_takes_to_another_day_is_the_same_one_moved() -> None:
    plain, rolling = calendared("0 9 5 * *", None), calendared("0 9 5 * *", Mode.ROLL_FORWARD)
    found = effect(spec(plain), spec(rolling))
    (moved,) = found.moved
    assert moved.cause is MoveCause.CALENDAR
    assert (moved.before.nominal_at, moved.after.nominal_at) == (at("2026-12-05 09:00"), at("2026-12-07 09:00"))
    back = effect(spec(rolling), spec(calendared("0 9 5 * *", Mode.ROLL_BACK)))
    assert [one.after.nominal_at for one in back.moved] == [at("2026-12-04 09:00")]
    assert [one.after.nominal_at for one in effect(spec(rolling), spec(plain)).moved] == [at("2026-12-05 09:00")]


def test_a_fire_that_a_calendar_takes_away_is_lost() -> None:
    found = effect(spec(calendared("0 9 * * *", None)), spec(calendared("0 9 * * *", Mode.BUSINESS_DAYS)))
    assert (len(found.lost), found.moved, found.gained) == (8, (), ())


def test_a_fire_that_rolls_onto_a_day_that_fires_anyway_is_lost() -> None:
    found = effect(spec(calendared("0 9 * * *", None)), spec(calendared("0 9 * * *", Mode.ROLL_FORWARD)))
    assert (len(found.lost), found.moved) == (8, ())


def test_another_business_day_of_the_month_is_the_same_fire_moved() -> None:
    first = calendared("0 9 * * *", Mode.NTH_BUSINESS_DAY, nth=1)
    third = calendared("0 9 * * *", Mode.NTH_BUSINESS_DAY, nth=3)
    (moved,) = effect(spec(first), spec(third)).moved
    assert (moved.before.nominal_at, moved.after.nominal_at) == (at("2026-12-01 09:00"), at("2026-12-03 09:00"))


# --- what is on, and what is not -------------------------------------------------------------------------------


def test_a_pause_loses_what_it_holds_back_and_its_end_gains_that() -> None:
    timer, _ = registered(spec(cron("0 2 * * *")))
    for_ever = paused(timer, Pause("demo", NOON), now=NOON, change_id="paused")
    assert len(effect_of(timer, for_ever, NOON).lost) == 30
    a_week = paused(timer, Pause("demo", NOON, until=NOON + 7 * DAY), now=NOON, change_id="paused")
    found = effect_of(timer, a_week, NOON)
    assert (len(found.lost), found.unchanged) == (7, 23)
    on_again, _ = resumed(for_ever, now=NOON + DAY, change_id="resumed", catch_up=None)
    assert len(effect_of(for_ever, on_again, NOON + DAY).gained) == 30


def test_a_resume_tells_how_much_is_caught_up() -> None:
    timer, _ = registered(spec(every(60)))
    still = paused(timer, Pause("demo", NOON), now=NOON, change_id="paused")
    policy = Misfire(MisfirePolicy.CATCH_UP, 10)
    on_again, _ = resumed(still, now=NOON + HOUR, change_id="resumed", catch_up=policy)
    assert caught_up_count(on_again) == 10
    assert caught_up_count(still) == 0


@pytest.mark.parametrize("status", ["held", "paused"])
def test_a_change_of_what_is_off_is_told_as_if_it_were_on(status: str) -> None:
    beginning = Beginning(Hold("demo", NOON)) if status == "held" else Beginning(pause=Pause("demo", NOON))
    timer, definition = registered(spec(cron("0 2 * * *")))
    off = begun(timer, beginning)
    assert effect_of(None, off, NOON).is_off
    found = effect_of(off, change(off, definition, spec(cron("0 3 * * *"))), NOON)
    assert (found.is_off, len(found.gained), len(found.lost)) == (True, 30, 30)


def test_a_trigger_that_no_longer_computes_fires_nothing_and_its_repair_gains_all() -> None:
    timer, definition = registered(spec(cron("0 2 * * *")))
    gone = replace(timer, trigger=CronTrigger("0 2 * * *", "Mars/Olympus"), status=Status.PARKED)
    bad = replace(definition, spec=replace(definition.spec, trigger=gone.trigger))
    mended = change(gone, bad, spec(cron("0 2 * * *")))
    assert len(effect_of(gone, mended, NOON).gained) == 30
    described = change(gone, bad, replace(bad.spec, description="who knows"))
    assert effect_of(gone, described, NOON).is_nothing
    paused_meanwhile = paused(replace(gone, status=Status.ACTIVE), Pause("demo", NOON), now=NOON, change_id="paused")
    assert effect_of(replace(gone, status=Status.ACTIVE), paused_meanwhile, NOON).gained == ()


# --- the bound -------------------------------------------------------------------------------------------------


def test_a_job_of_each_minute_is_compared_whole_and_one_of_each_second_up_to_the_limit() -> None:
    assert not effect(spec(cron("* * * * *")), spec(cron("*/2 * * * *"))).is_cut
    found = effect(spec(cron("*/2 * * * *")), spec(every(1)))
    assert found.is_cut
    assert found.until == found.since + MAX_COMPARED * SECOND
    assert len(found.gained) + found.unchanged == MAX_COMPARED
    assert found.lost == ()
    assert found.unchanged == MAX_COMPARED // 120, "and of the other side no more than up to there"


def test_a_one_shot_is_one_fire() -> None:
    once = OneShotTrigger(NOON + DAY, "2026-12-01T12:00:00Z", None)
    found = effect(spec(once), spec(replace(once, at=NOON + 2 * DAY, text="2026-12-02T12:00:00Z")))
    assert (nominals(found.lost), nominals(found.gained)) == ([NOON + DAY], [NOON + 2 * DAY])


# --- against a plain look at both sides ------------------------------------------------------------------------

TRIGGERS = st.sampled_from(
    [
        cron("0 2 * * *", "Asia/Kolkata"),
        cron("0 2 * * *", "Europe/Paris"),
        cron("30 */3 * * 1-5", "America/New_York"),
        cron("0 2 * * *"),
        cron("0,30 2 1,15 * *"),
        every(7_200),
        every(3_600, NOON + 5 * MINUTE),
        calendared("0 2 * * *", Mode.ROLL_FORWARD, "2026-12-25"),
        calendared("0 2 * * *", Mode.EXCLUDE, "2026-12-25"),
    ]
)
SPECS = st.builds(
    spec,
    TRIGGERS,
    jitter_seconds=st.sampled_from([0, 60, 900]),
    start_at=st.sampled_from([None, NOON + 3 * DAY]),
    end_at=st.sampled_from([None, NOON + 20 * DAY]),
)


@settings(max_examples=60)
@given(SPECS, SPECS)
def test_every_fire_of_both_sides_is_told_of_once_and_as_it_is(before: Spec, after: Spec) -> None:
    timer, definition = registered(before)
    changed = change(timer, definition, after)
    found = effect_of(timer, changed, NOON)
    olds = {fire.nominal_at: fire for fire in fires_of(timer, NOON, NOON + EFFECT, 10_000)}
    news = {fire.nominal_at: fire for fire in fires_of(changed, NOON, NOON + EFFECT, 10_000)}
    if changed.epoch == timer.epoch and timer.nominal_at in news:
        assert timer.due_at is not None
        news[timer.nominal_at] = Fire(timer.nominal_at, timer.due_at)
    told_old = [*found.lost, *(one.before for one in found.moved)]
    told_new = [*found.gained, *(one.after for one in found.moved)]
    same = [fire for at, fire in olds.items() if news.get(at) == fire]
    assert len(same) == found.unchanged
    assert sorted(nominals([*told_old, *same])) == sorted(olds)
    assert sorted(nominals([*told_new, *same])) == sorted(news)
    assert all(olds[fire.nominal_at] == fire for fire in told_old)
    assert all(news[fire.nominal_at] == fire for fire in told_new)
    assert not set(nominals(found.lost)) & set(nominals(found.gained))

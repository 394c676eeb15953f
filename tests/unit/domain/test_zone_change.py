"""What new zone data makes of a schedule that waits: the local time counts, once, and never less."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cronfleet.domain import zones
from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.change import created, edited, paused, put_on_hold, resumed, shadowed
from cronfleet.domain.claim import Fire, ScheduleClaim
from cronfleet.domain.clock_policy import Gap
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.errors import Contended
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.left_behind import CLAIMED_AHEAD
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Hold, Pause, Policies, Shadow, Spec, Status, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger, Trigger, parse_trigger
from cronfleet.domain.zone_change import Moved, moved
from cronfleet.domain.zone_check import is_outdated, names_otherwise
from cronfleet.domain.zone_stamp import ZoneStamp, stamp
from cronfleet.domain.zones import ZoneSource
from tests.support.builders import at, backlog_of, definition
from tests.support.planning import plan
from tests.support.zone_sources import release

PLACE = "Test/Place"
NIGHT = "30 2 * * *"
CHANGE = at("2026-12-01 00:00") // SECOND
"""From here on the new releases have another offset than +5."""


@pytest.fixture
def old(tmp_path: Path) -> ZoneSource:
    return release(tmp_path, "2026e", {PLACE: [(0, 5 * 3600)]})


@pytest.fixture
def ahead(tmp_path: Path) -> ZoneSource:
    """The clock was put forward to +6: local times come an hour earlier than the old data said."""
    return release(tmp_path, "2026f", {PLACE: [(0, 5 * 3600), (CHANGE, 6 * 3600)]})


@pytest.fixture
def back(tmp_path: Path) -> ZoneSource:
    """The clock was put back to +4: local times come an hour later than the old data said."""
    return release(tmp_path, "2026g", {PLACE: [(0, 5 * 3600), (CHANGE, 4 * 3600)]})


def new(source: ZoneSource, trigger: Trigger, now: Instant, **policies: Any) -> Timer:
    with zones.working_with(source):
        spec = Spec(trigger, HandlerTarget("x.y"), policies=Policies(**policies))
        timer, _ = created(
            spec, tenant=Tenant("acme"), schedule_id="s", shards=1, now=now, change_id="c", author="a", tombstone=None
        )
    return timer


def look(source: ZoneSource, timer: Timer, now: Instant, last: ScheduleClaim | None = None) -> Moved | None:
    with zones.working_with(source):
        return moved(timer, version=timer.version, last=last, now=now, change_id="job")


def fire_of(source: ZoneSource, timer: Timer, now: Instant) -> Fire | None:
    """What is claimed next, and when it is due."""
    with zones.working_with(source):
        claim = claim_schedule(timer, now)
    fires = (*claim.caught_up, *claim.fires)
    return Fire(fires[0].nominal_at, fires[0].due_at) if fires else None


NIGHTLY = CronTrigger(NIGHT, PLACE)
CATCH_UP = Misfire(MisfirePolicy.CATCH_UP, 100, grace_seconds=0)
OLD_FIRE, EARLIER, LATER = (at(f"2026-12-01 {hour}:30") for hour in (21, 20, 22))
"""02:30 on 2 December by the old data, with the clock an hour ahead, and an hour back."""


def test_a_timer_says_with_which_zone_data_its_next_time_was_worked_out(old: ZoneSource) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    assert (timer.nominal_at, timer.zone_data) == (OLD_FIRE, ZoneStamp("2026e", 5 * 3600))
    with zones.working_with(old):
        assert claim_schedule(timer, OLD_FIRE).zone_data == ZoneStamp("2026e", 5 * 3600)
    for trigger in (CronTrigger(NIGHT, "UTC"), CronTrigger(NIGHT, "Etc/GMT-5"), parse_trigger({"every": "1h"}, 0)):
        assert stamp(trigger, OLD_FIRE) is None


def test_a_pause_keeps_what_a_time_was_worked_out_with_and_a_resume_says_it_anew(
    old: ZoneSource, ahead: ZoneSource
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    now = at("2026-12-01 11:00")
    with zones.working_with(ahead):
        timer = paused(timer, Pause("ada", now), now=now, change_id="p")
        assert timer.zone_data == ZoneStamp("2026e", 5 * 3600)
        timer, _ = resumed(timer, now=now + HOUR, change_id="r", catch_up=None)
    assert (timer.nominal_at, timer.zone_data) == (EARLIER, ZoneStamp("2026f", 6 * 3600))


def test_an_edit_of_something_else_keeps_the_stamp_and_a_new_trigger_has_a_new_one(
    old: ZoneSource, ahead: ZoneSource
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    before = definition(NIGHTLY, "s")
    change = {"now": at("2026-12-01 11:00"), "change_id": "e", "author": "a", "reason": ""}
    with zones.working_with(ahead):
        kept, *_ = edited(timer, before, replace(before.spec, description="x"), **change)
        assert kept.zone_data == timer.zone_data
        other = replace(before.spec, trigger=CronTrigger("0 3 * * *", PLACE))
        assert edited(timer, before, other, **change)[0].zone_data == ZoneStamp("2026f", 6 * 3600)


def test_what_the_new_data_names_as_well_stays_untouched(old: ZoneSource, ahead: ZoneSource) -> None:
    timer = new(old, NIGHTLY, at("2026-11-29 10:00"))  # 29 November, before the change
    assert look(ahead, timer, at("2026-11-29 11:00")) is None
    hourly = new(old, CronTrigger("0 * * * *", PLACE), at("2026-12-01 10:10"))
    assert look(ahead, hourly, at("2026-12-01 10:20")) is None, "every full hour, whatever the clock calls it"


def test_a_local_time_that_comes_earlier_moves_there(old: ZoneSource, ahead: ZoneSource) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    made = look(ahead, timer, at("2026-12-01 11:00"))
    assert made is not None
    after = made.timer
    assert (after.nominal_at, after.due_at, after.epoch, after.rev) == (EARLIER, EARLIER, 2, timer.rev + 1)
    assert (after.zone_data, after.backlog, made.rows) == (ZoneStamp("2026f", 6 * 3600), None, ())
    assert look(ahead, after, at("2026-12-01 11:00")) is None
    assert "2026e → 2026f" in made.reason


def test_a_local_time_that_has_come_already_is_not_lost_but_fires_at_once(old: ZoneSource, ahead: ZoneSource) -> None:
    now = at("2026-12-01 21:00")  # past 02:30 by the new data, half an hour before it by the old
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"), misfire=Misfire(MisfirePolicy.SKIP))
    made = look(ahead, timer, now)
    assert made is not None
    assert (made.timer.due_at, made.rows) == (now, ())
    with zones.working_with(ahead):
        assert backlog_of(made.timer) == [EARLIER]
        (fire,) = claim_schedule(made.timer, now + 5 * SECOND).caught_up
    assert (fire.nominal_at, fire.due_at, fire.late) == (EARLIER, now, Late(Cause.ZONE_DATA, EARLIER, EARLIER, now))


def test_a_local_time_that_fired_too_early_by_the_old_data_does_not_fire_again(
    old: ZoneSource, back: ZoneSource
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    with zones.working_with(old):
        claim = claim_schedule(timer, OLD_FIRE)
    assert claim.following is not None
    following = claim.following.nominal_at
    timer = replace(timer, nominal_at=following, due_at=following, zone_data=claim.zone_data)
    made = look(back, timer, OLD_FIRE + 20 * MINUTE, claim)  # 02:30 of the new data is still to come
    assert made is not None
    assert made.timer.nominal_at == LATER + DAY


def test_a_due_fire_that_the_new_data_puts_off_runs_later_and_its_old_time_has_a_row(
    old: ZoneSource, back: ZoneSource
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    made = look(back, timer, OLD_FIRE + SECOND)
    assert made is not None
    assert (made.timer.nominal_at, made.timer.backlog) == (LATER, None)
    [row] = made.rows
    assert (row.key.epoch, row.key.nominal_at, row.status) == (1, OLD_FIRE, RunStatus.SKIPPED)
    assert row.reason is not None
    assert row.reason.text == made.reason


@pytest.mark.parametrize(("policy", "fires"), [(MisfirePolicy.SKIP, False), (MisfirePolicy.FIRE_ONCE, True)])
def test_what_was_late_already_is_the_misfire_policys(
    old: ZoneSource, ahead: ZoneSource, policy: MisfirePolicy, fires: bool
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"), misfire=Misfire(policy, grace_seconds=60))
    now = OLD_FIRE + 5 * MINUTE
    made = look(ahead, timer, now)
    assert made is not None
    assert made.timer.nominal_at == EARLIER
    with zones.working_with(ahead):
        claim = claim_schedule(made.timer, now)
    assert bool(claim.caught_up) is fires


def test_a_fire_that_is_claimed_and_about_to_run_is_waited_for(old: ZoneSource, ahead: ZoneSource) -> None:
    timer = new(old, CronTrigger("0,30 2 * * *", PLACE), at("2026-12-01 10:00"))
    claimed_at = at("2026-12-01 20:59:52")
    with zones.working_with(old):
        claim = claim_schedule(timer, claimed_at)
    assert claim.following is not None
    assert claim.following.nominal_at == OLD_FIRE
    timer = replace(timer, nominal_at=OLD_FIRE, due_at=OLD_FIRE, zone_data=claim.zone_data)
    with pytest.raises(Contended):
        look(ahead, timer, claimed_at + SECOND, claim)
    made = look(ahead, timer, claimed_at + CLAIMED_AHEAD, claim)
    assert made is not None
    assert made.timer.nominal_at == OLD_FIRE


def test_time_moves_forward_where_two_local_times_lie_within_the_shift(old: ZoneSource, ahead: ZoneSource) -> None:
    timer = new(old, CronTrigger("0 1,2,3 * * *", PLACE), at("2026-12-01 10:00"))
    with zones.working_with(old):
        claim = claim_schedule(timer, at("2026-12-01 20:00"))
    assert claim.following is not None
    timer = replace(timer, nominal_at=claim.following.nominal_at, due_at=claim.following.due_at)
    made = look(ahead, timer, at("2026-12-01 20:10"), claim)
    assert made is not None
    after = made.timer
    assert (after.nominal_at, after.epoch) == (at("2026-12-01 21:00"), 1), "02:00 is by now what has run as 01:00"
    with zones.working_with(ahead):
        assert not is_outdated(after)
        following = claim_schedule(after, at("2026-12-01 21:00")).following
    assert following is not None
    assert following.nominal_at == at("2026-12-02 19:00")


def test_a_wildcard_goes_on_with_the_first_real_minute_it_names(old: ZoneSource, tmp_path: Path) -> None:
    half = release(tmp_path, "2026h", {PLACE: [(0, 5 * 3600), (CHANGE, 19_800)]})
    timer = new(old, CronTrigger("0 * * * *", PLACE), at("2026-12-01 10:10"))
    made = look(half, timer, at("2026-12-01 10:20"))
    assert made is not None
    assert made.timer.nominal_at == at("2026-12-01 10:30")
    made = look(half, timer, at("2026-12-01 10:40"))
    assert made is not None
    assert made.timer.due_at == at("2026-12-01 10:40")
    assert fire_of(half, made.timer, made.timer.due_at) == Fire(at("2026-12-01 10:30"), at("2026-12-01 10:40"))


def test_a_gaps_end_gives_way_to_the_time_that_the_gap_no_longer_holds(tmp_path: Path) -> None:
    gap_at = at("2026-12-01 21:00") // SECOND  # 02:00 becomes 03:00
    gap = release(tmp_path, "2026e", {PLACE: [(0, 5 * 3600), (gap_at, 6 * 3600)]})
    none = release(tmp_path, "2026f", {PLACE: [(0, 5 * 3600)]})
    timer = new(gap, NIGHTLY, at("2026-12-01 10:00"))
    assert timer.nominal_at == gap_at * SECOND
    made = look(none, timer, at("2026-12-01 11:00"))
    assert made is not None
    assert made.timer.nominal_at == OLD_FIRE
    skip = new(none, CronTrigger(NIGHT, PLACE, Gap.SKIP), at("2026-12-01 10:00"))
    with zones.working_with(gap):
        assert names_otherwise(skip)


def test_a_paused_schedule_stays_paused_and_holds_back_from_the_earlier_of_both_times(
    old: ZoneSource, ahead: ZoneSource, back: ZoneSource
) -> None:
    pause = Pause("ada", at("2026-12-01 10:30"), until=at("2026-12-03 00:00"))
    timer = paused(new(old, NIGHTLY, at("2026-12-01 10:00")), pause, now=pause.at, change_id="p")
    for source, now, nominal_at in (
        (ahead, at("2026-12-01 11:00"), EARLIER),
        (back, at("2026-12-01 11:00"), LATER),
        (ahead, at("2026-12-01 23:00"), EARLIER),
    ):
        made = look(source, timer, now)
        assert made is not None
        after = made.timer
        assert (after.status, after.epoch, after.nominal_at, after.due_at) == (
            Status.PAUSED, 1, nominal_at, pause.until,
        )  # fmt: skip
        assert made.rows == ()
    assert look(back, timer, at("2026-12-01 23:00")) is None, "what the pause has held back it holds"


def test_a_held_schedule_in_shadow_notes_the_new_time(old: ZoneSource, ahead: ZoneSource) -> None:
    now = at("2026-12-01 10:00")
    with zones.working_with(old):
        timer = put_on_hold(new(old, NIGHTLY, now), Hold("ada", now))
        timer, _ = shadowed(timer, Shadow("ada", now), now=now, change_id="h", by="ada")
    made = look(ahead, timer, at("2026-12-01 11:00"))
    assert made is not None
    after = made.timer
    assert (after.status, after.is_shadow, after.nominal_at, after.due_at) == (Status.HELD, True, EARLIER, EARLIER)


def test_a_one_shot_keeps_its_local_time(old: ZoneSource, ahead: ZoneSource) -> None:
    with zones.working_with(old):
        trigger = parse_trigger({"at": "2026-12-02T02:30:00", "timezone": PLACE}, 0)
    timer = new(old, trigger, at("2026-12-01 10:00"))
    assert timer.nominal_at == OLD_FIRE
    made = look(ahead, timer, at("2026-12-01 11:00"))
    assert made is not None
    assert isinstance(made.timer.trigger, OneShotTrigger)
    assert (made.timer.nominal_at, made.timer.trigger.at) == (EARLIER, EARLIER)
    late = look(ahead, timer, at("2026-12-01 21:00"))
    assert late is not None
    assert fire_of(ahead, late.timer, at("2026-12-01 21:00")) == Fire(EARLIER, at("2026-12-01 21:00"))
    with zones.working_with(old):
        exact = parse_trigger({"at": "2026-12-02T02:30:00+05:00", "timezone": PLACE}, 0)
    assert look(ahead, new(old, exact, at("2026-12-01 10:00")), at("2026-12-01 11:00")) is None


def test_a_dispatcher_with_newer_data_does_not_claim_by_the_old_and_one_with_older_data_leaves_it(
    old: ZoneSource, ahead: ZoneSource
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    with zones.working_with(ahead):
        made = plan([timer], OLD_FIRE)
        assert (made.claims, made.outdated) == ([], [timer])
    newer = new(ahead, NIGHTLY, at("2026-12-01 10:00"))
    with zones.working_with(old):
        assert not is_outdated(newer)
        assert [type(claim) for claim in plan([newer], EARLIER).claims] == [ScheduleClaim]


def test_what_was_still_to_be_caught_up_is_caught_up_where_the_new_data_has_it(
    old: ZoneSource, ahead: ZoneSource
) -> None:
    """An outage over three nights around the change; the upgrade comes before they are caught up."""
    timer = new(old, NIGHTLY, at("2026-11-28 10:00"), misfire=Misfire(MisfirePolicy.CATCH_UP, 10))
    now = at("2026-12-01 22:00")
    with zones.working_with(old):
        claim = claim_schedule(timer, now, room=0)
    assert claim.following is not None
    assert claim.backlog is not None
    timer = replace(
        timer,
        nominal_at=claim.following.nominal_at,
        due_at=claim.backlog.due_at,
        zone_data=claim.zone_data,
        backlog=claim.backlog,
    )
    made = look(ahead, timer, now + SECOND, claim)
    assert made is not None
    owed = made.timer.backlog
    assert owed is not None
    assert [(one.first_at, one.last_at) for one in owed.stretches] == [(at("2026-11-28 21:30"), EARLIER)]
    assert made.timer.nominal_at == EARLIER + DAY
    assert made.timer.caught_up_from == at("2026-11-28 21:30")
    [row] = made.rows
    assert (row.key.epoch, row.key.nominal_at, row.until_nominal_at) == (1, at("2026-11-28 21:30"), OLD_FIRE)


def test_a_claim_of_missed_fires_alone_keeps_the_stamp_of_what_is_waited_for(
    old: ZoneSource, ahead: ZoneSource
) -> None:
    timer = new(old, NIGHTLY, at("2026-12-01 10:00"))
    late = Late(Cause.OUTAGE, OLD_FIRE - DAY, OLD_FIRE - DAY, OLD_FIRE)
    backlog = Backlog((Stretch(OLD_FIRE - DAY, OLD_FIRE - DAY, late, 60),), at("2026-12-01 10:00"))
    timer = replace(timer, backlog=backlog, due_at=backlog.due_at)
    with zones.working_with(ahead):
        claim = claim_schedule(timer, at("2026-12-01 11:00"))
    assert claim.caught_up
    assert claim.zone_data == ZoneStamp("2026e", 5 * 3600)


def waiting_for_its_turn(source: ZoneSource) -> Timer:
    """The night's fire was missed, and has found no room in the tick that noticed it a quarter of an hour later."""
    timer = new(source, NIGHTLY, at("2026-12-01 10:00"))
    with zones.working_with(source):
        claim = claim_schedule(timer, OLD_FIRE + 15 * MINUTE, room=0)
        following = claim.following
        assert following is not None
        nominal_at, due_at = following.nominal_at, claim.wakes_at
        return replace(timer, nominal_at=nominal_at, due_at=due_at, backlog=claim.backlog, zone_data=claim.zone_data)


def test_what_was_missed_and_has_not_come_by_the_new_data_is_waited_for_and_not_early(
    old: ZoneSource, back: ZoneSource
) -> None:
    timer, now = waiting_for_its_turn(old), OLD_FIRE + 20 * MINUTE
    made = look(back, timer, now)
    assert made is not None
    assert (made.timer.nominal_at, made.timer.due_at, made.timer.backlog) == (LATER, LATER, None)
    (row,) = made.rows
    assert (row.key.nominal_at, row.status) == (OLD_FIRE, RunStatus.SKIPPED)
    assert fire_of(back, made.timer, now) is None
    assert fire_of(back, made.timer, LATER) == Fire(LATER, LATER)
    with zones.working_with(back):
        following = claim_schedule(made.timer, LATER).following
    assert following == Fire(LATER + DAY, LATER + DAY)


def test_a_missed_fire_that_moves_lies_in_what_it_says_was_missed(old: ZoneSource, ahead: ZoneSource) -> None:
    made = look(ahead, waiting_for_its_turn(old), OLD_FIRE + 20 * MINUTE)
    assert made is not None
    assert made.timer.backlog is not None
    (stretch,) = made.timer.backlog.stretches
    assert (stretch.first_at, stretch.last_at) == (EARLIER, EARLIER)
    assert (stretch.late.from_at, stretch.late.until_at) == (EARLIER, EARLIER)
    assert stretch.late.noticed_at == OLD_FIRE + 15 * MINUTE


@pytest.mark.parametrize(("shift", "minutes"), [(8, {7, 37}), (20, {25, 55}), (-8, {23, 53}), (-50, {5, 35})])
def test_a_wildcard_is_caught_up_at_the_real_minutes_and_none_of_them_is_named_twice(
    old: ZoneSource, tmp_path: Path, shift: int, minutes: set[int]
) -> None:
    """Each quarter past and to, local time: an outage since ten, an upgrade before anything is caught up."""
    timer = new(old, CronTrigger("15,45 * * * *", PLACE), at("2026-12-02 10:00"), misfire=CATCH_UP)
    now = at("2026-12-02 14:48")
    with zones.working_with(old):
        claim = claim_schedule(timer, now - 20 * MINUTE, look_ahead=0, room=0)
    assert claim.following is not None
    timer = replace(timer, nominal_at=claim.following.nominal_at, due_at=claim.wakes_at, backlog=claim.backlog)
    source = release(tmp_path, "2026h", {PLACE: [(0, 5 * 3600), (CHANGE, 5 * 3600 + shift * 60)]})
    made = look(source, replace(timer, zone_data=claim.zone_data), now, claim)
    assert made is not None
    assert made.timer.nominal_at is not None
    with zones.working_with(source):
        owed = backlog_of(made.timer)
    everything = [*owed, made.timer.nominal_at]
    assert everything == sorted(set(everything))
    assert {moment // MINUTE % 60 for moment in everything} <= minutes
    assert at("2026-12-02 10:00") < owed[0] < owed[-1] <= now

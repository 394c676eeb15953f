"""The dispatch plan: what becomes of due items, as a function of values."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.claim import RunClaim, RunTimer, ScheduleClaim, TimerKind, Unreadable
from cronfleet.domain.dispatch_plan import LOOK_AHEAD, MAX_OUTSTANDING, claim_schedule, first_fire
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunKey
from cronfleet.domain.schedule import Pause, Status
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.domain.trigger import fires as fires_of
from tests.support.builders import at, backlog_of, cron, every, timer
from tests.support.planning import Planned, plan

TWO = at("2026-12-01 02:00")


def nominals(claim: ScheduleClaim) -> list[int]:
    return [fire.nominal_at for fire in claim.fires]


def test_a_fire_that_is_due_is_claimed_and_the_timer_goes_on_to_the_next_nominal() -> None:
    claim = claim_schedule(timer(cron("0 2 * * *"), TWO), TWO + 3 * SECOND)
    assert nominals(claim) == [TWO]
    assert not claim.skipped
    assert claim.following is not None
    assert claim.following.nominal_at == TWO + DAY


def test_a_one_second_interval_fires_every_second_of_the_look_ahead() -> None:
    claim = claim_schedule(timer(every(1), TWO), TWO)
    assert nominals(claim) == [TWO + i * SECOND for i in range(LOOK_AHEAD // SECOND + 1)]
    assert claim.following is not None
    assert claim.following.nominal_at == TWO + 11 * SECOND


def test_one_claim_takes_at_most_sixty_nominals_and_leaves_the_rest_for_the_next() -> None:
    claim = claim_schedule(timer(every(1), TWO), TWO + 2 * MINUTE)
    assert len(claim.fires) == 60
    assert claim.following is not None
    assert claim.following.nominal_at == TWO + 60 * SECOND


def test_a_one_shot_is_retired_by_its_claim() -> None:
    claim = claim_schedule(timer(OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None), TWO), TWO)
    assert nominals(claim) == [TWO]
    assert claim.following is None


def test_a_fire_inside_its_grace_window_runs_late_under_every_policy() -> None:
    for policy in MisfirePolicy:
        late = timer(cron("0 2 * * *"), TWO, misfire=Misfire(policy, max=1, grace_seconds=60))
        assert nominals(claim_schedule(late, TWO + 60 * SECOND)) == [TWO]


@pytest.mark.parametrize(
    ("misfire", "kept"),
    [
        (Misfire(MisfirePolicy.SKIP, grace_seconds=30), []),
        (Misfire(MisfirePolicy.FIRE_ONCE, grace_seconds=30), [9]),
        (Misfire(MisfirePolicy.CATCH_UP, max=3, grace_seconds=30), [7, 8, 9]),
        (Misfire(MisfirePolicy.CATCH_UP, max=100, grace_seconds=30), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
    ],
)
def test_after_ten_missed_minutes_the_policy_says_which_still_run(misfire: Misfire, kept: list[int]) -> None:
    now = TWO + 10 * MINUTE + 5 * SECOND
    late = timer(cron("* * * * *"), TWO, misfire=misfire)
    claim = claim_schedule(late, now)
    on_time = TWO + 10 * MINUTE
    assert nominals(claim) == [on_time]
    assert [fire.nominal_at for fire in claim.caught_up] == [TWO + i * MINUTE for i in kept[:1]]
    assert backlog_of(replace(late, backlog=claim.backlog)) == [TWO + i * MINUTE for i in kept[1:]]
    dropped = 10 - len(kept)
    if dropped:
        (skipped,) = claim.skipped
        assert (skipped.first_at, skipped.last_at) == (TWO, TWO + (dropped - 1) * MINUTE)
        assert skipped.reason.code is Code.MISSED
    else:
        assert not claim.skipped


def test_a_missed_one_shot_that_must_not_catch_up_is_skipped_and_completes() -> None:
    shot = OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None)
    claim = claim_schedule(timer(shot, TWO, misfire=Misfire(MisfirePolicy.SKIP)), TWO + DAY)
    assert not claim.fires
    assert claim.following is None
    (skipped,) = claim.skipped
    assert (skipped.first_at, skipped.last_at) == (TWO, TWO)


def test_a_year_long_outage_of_a_minutely_schedule_is_one_range_and_cheap() -> None:
    claim = claim_schedule(timer(cron("* * * * *"), TWO), TWO + 365 * DAY)
    (skipped,) = claim.skipped
    assert skipped.first_at == TWO
    assert len(claim.fires) >= 1


def test_nothing_fires_after_the_end_and_the_schedule_completes() -> None:
    ending = timer(cron("* * * * *"), TWO, end_at=TWO + 30 * SECOND)
    claim = claim_schedule(ending, TWO)
    assert nominals(claim) == [TWO]
    assert claim.following is None


def test_the_first_fire_waits_for_the_start() -> None:
    waiting = timer(cron("* * * * *"), None, start_at=TWO)
    fire = first_fire(waiting, TWO - DAY)
    assert fire is not None
    assert fire.nominal_at == TWO


@given(
    seconds=st.integers(1, 4000),
    late=st.integers(0, 3 * 24 * 3600),
    policy=st.sampled_from(MisfirePolicy),
    most=st.integers(1, 80),
    grace=st.integers(0, 600),
    jitter=st.integers(0, 5000),
)
def test_every_nominal_is_fired_or_skipped_exactly_once_whatever_the_delay(
    seconds: int, late: int, policy: MisfirePolicy, most: int, grace: int, jitter: int
) -> None:
    """Claim after claim, as the dispatcher would: no nominal is lost, none is doubled, time moves forward."""
    trigger = every(seconds, TWO)
    waiting = timer(trigger, TWO, misfire=Misfire(policy, most, grace), jitter_seconds=jitter)
    first = first_fire(waiting, TWO - 1)
    assert first is not None
    now = TWO + late * SECOND
    at_timer = replace(waiting, nominal_at=first.nominal_at, due_at=first.due_at)
    accounted: list[int] = []
    for _ in range(30):
        if at_timer.due_at is None or at_timer.due_at > now + LOOK_AHEAD:
            break
        claim = claim_schedule(at_timer, now)
        for skipped in claim.skipped:
            accounted += fires_of(trigger, skipped.first_at - 1, skipped.last_at)
        accounted += nominals(claim)
        accounted += [fire.nominal_at for fire in claim.caught_up]
        assert claim.fires or claim.skipped or claim.caught_up
        for fire in claim.fires:
            assert fire.nominal_at <= fire.due_at < fire.nominal_at + seconds * SECOND
        assert claim.following is not None
        at_timer = replace(
            at_timer, nominal_at=claim.following.nominal_at, due_at=claim.wakes_at, backlog=claim.backlog
        )
        now = max(now, min(now + MINUTE, claim.wakes_at or now))
    assert at_timer.nominal_at is not None
    assert sorted(accounted + backlog_of(at_timer)) == list(fires_of(trigger, TWO - 1, at_timer.nominal_at - 1))


def test_tenants_take_turns_in_a_page() -> None:
    busy = [timer(every(60), TWO, tenant="busy", schedule_id=f"s{i}") for i in range(3)]
    quiet = timer(every(60), TWO, tenant="quiet")
    order = [claim.tenant for claim in plan([*busy, quiet], TWO).claims if isinstance(claim, ScheduleClaim)]
    assert order == ["busy", "quiet", "busy", "busy"]


def test_what_has_no_place_waits_and_nothing_of_it_is_claimed() -> None:
    items = [timer(cron("0 2 * * *"), TWO, schedule_id=f"s{i}") for i in range(5)]
    made = plan(items, TWO, most=3)
    assert len(made.claims) == 3
    assert [part.draft.item for part in made.waiting] == items[3:]


def test_a_fire_whose_place_is_reserved_goes_though_no_other_does() -> None:
    place = TWO + 40 * SECOND
    paid = timer(cron("0 2 * * *"), TWO, due_at=place, reserved_at=place)
    made = plan([timer(cron("0 2 * * *"), TWO, schedule_id="new"), paid], place, most=0)
    (claim,) = made.claims
    assert isinstance(claim, ScheduleClaim)
    (fire,) = claim.fires
    assert (claim.schedule_id, fire.nominal_at, fire.due_at) == ("nightly", TWO, place)
    assert fire.late is not None
    assert (fire.late.cause, fire.late.noticed_at) == (Cause.RATE, TWO)
    assert (claim.reserved_at, claim.deferred) == (None, None)
    assert [part.tenant for part in made.waiting] == ["acme"]


def test_what_came_due_behind_a_deferred_fire_waits_behind_it_and_is_not_taken_for_missed() -> None:
    place = TWO + HOUR
    paid = timer(every(60), TWO, due_at=place, reserved_at=place, misfire=Misfire(MisfirePolicy.SKIP, 1, 30))
    claim = claim_schedule(paid, place, most=2)
    assert not claim.skipped
    assert [(fire.nominal_at, fire.due_at) for fire in claim.fires] == [(TWO, place), (TWO + MINUTE, place)]
    assert claim.following is not None
    assert claim.following.nominal_at == TWO + 2 * MINUTE


def test_past_so_many_fires_that_wait_for_places_the_oldest_are_skipped_with_the_quota_as_reason() -> None:
    place = TWO + (MAX_OUTSTANDING + 9) * SECOND
    paid = timer(every(1), TWO, due_at=place, reserved_at=place)
    claim = claim_schedule(paid, place)
    (skipped,) = claim.skipped
    assert (skipped.first_at, skipped.last_at) == (TWO, TWO + 9 * SECOND)
    assert skipped.reason.code is Code.QUOTA
    assert claim.fires[0].nominal_at == TWO + 10 * SECOND


def test_a_place_that_a_timer_waits_for_outlives_a_turn_of_its_backlog() -> None:
    place = TWO + HOUR
    late = Late(Cause.OUTAGE, TWO - DAY, TWO - DAY, TWO)
    backlog = Backlog((Stretch(TWO - DAY, TWO - DAY, late, per_minute=60),), TWO)
    both = timer(cron("0 2 * * *"), TWO, due_at=TWO, reserved_at=place, backlog=backlog)
    claim = claim_schedule(both, TWO)
    assert (len(claim.fires), len(claim.caught_up)) == (0, 1)
    assert (claim.wakes_at, claim.reserved_at) == (place, place)


def test_one_bad_item_is_parked_and_everything_else_goes_on() -> None:
    zone_gone = timer(cron("0 2 * * *", "Mars/Olympus"), TWO, schedule_id="bad")
    made = plan([Unreadable("acme#x", "TIMER", TWO, "no trigger"), zone_gone, timer(every(60), TWO)], TWO)
    assert len(made.claims) == 1
    assert [park.reason.code for park in made.parks] == [Code.UNREADABLE, Code.UNREADABLE]
    assert "Mars/Olympus" in made.parks[1].reason.text


def test_a_pause_ends_only_when_its_time_has_come() -> None:
    paused = timer(every(60), TWO, status=Status.PAUSED, pause=Pause("ada", TWO - DAY, until=TWO + 5 * SECOND))
    waiting = replace(paused, due_at=TWO + 5 * SECOND)
    assert not plan([waiting], TWO).resumes
    assert plan([waiting], TWO + 5 * SECOND).resumes


def test_an_index_entry_of_a_schedule_that_is_not_active_is_left_alone() -> None:
    for status in (Status.CANCELLED, Status.COMPLETED, Status.HELD, Status.PARKED):
        made = plan([timer(every(60), TWO, status=status)], TWO)
        assert made == Planned()


def test_a_runs_own_timer_is_claimed_as_it_stands() -> None:
    retry = RunTimer(RunKey("acme", "nightly", 1, TWO), TimerKind.RETRY, 2, TWO + MINUTE, "standard", 0, 1, 60)
    made = plan([retry], TWO + MINUTE)
    assert made.claims == [RunClaim(retry)]
    (message,) = made.claims[0].messages("0.1.1", TWO + MINUTE)
    assert (message.attempt, message.due_at, message.key) == (2, TWO + MINUTE, retry.key)

"""A pause that comes between a claim and its fire: what a resume wants of such fires runs, like all it held back."""

import pytest

from cronfleet.domain.instant import SECOND, to_text
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.run import RunStatus
from tests.support.lived import ACME, ID, LivedWorld, spec
from tests.support.settable_clock import NOON

SKIP = Misfire(MisfirePolicy.SKIP)
ONCE = Misfire(MisfirePolicy.FIRE_ONCE)


def catch_up(most: int) -> Misfire:
    return Misfire(MisfirePolicy.CATCH_UP, most)


@pytest.fixture
def world() -> LivedWorld:
    return LivedWorld(NOON)


def paused_at(world: LivedWorld, every_seconds: int, second: int) -> None:
    """A schedule that fires every so many seconds and was paused `second` seconds after noon."""
    world.put(spec(every_seconds))
    world.live(second)
    world.schedules.pause(ACME, ID, reason="maintenance")


def ran(world: LivedWorld) -> list[int]:
    """The nominal times that ran, in seconds after noon, in the order in which they ran."""
    rows = [row for row in world.store.state.runs.values() if row.status is RunStatus.SUCCEEDED]
    return [(row.key.nominal_at - NOON) // SECOND for row in sorted(rows, key=lambda row: row.started_at or 0)]


def test_the_night_that_was_claimed_when_the_pause_came_runs_once_if_the_resume_wants_one(world):
    """It was `skipped` by the worker, the schedule had moved on to the next night, and `fire_once` fired nothing."""
    paused_at(world, every_seconds=3600, second=3595)
    assert world.store.state.timers["acme", ID].nominal_at == NOON + 7200 * SECOND, "it is claimed ahead"
    world.live(600)
    world.schedules.resume(ACME, ID, missed=ONCE)
    world.live(60)
    assert ran(world) == [3600]
    (first, again) = sorted(world.store.state.runs.values(), key=lambda row: row.key.epoch)
    assert (first.status, first.key.is_scheduled) == (RunStatus.SKIPPED, True)
    assert (again.key.nominal_at, again.key.is_scheduled, to_text(again.due_at)) == (
        first.key.nominal_at,
        False,
        "2026-11-30T13:09:55Z",
    )


@pytest.mark.parametrize(
    ("wanted", "extra"),
    [(None, []), (SKIP, []), (ONCE, [40]), (catch_up(2), [39, 40]), (catch_up(13), list(range(28, 41)))],
)
def test_the_newest_that_are_wanted_run_whether_they_were_claimed_or_not(world, wanted, extra):
    paused_at(world, every_seconds=1, second=30)
    world.live(10)
    before = ran(world)
    world.schedules.resume(ACME, ID, missed=wanted)
    world.live(10)
    caught_up = [second for second in ran(world)[len(before) :] if second <= 40]
    held_back = [second for second in extra if second > before[-1]]
    assert sorted(caught_up) == held_back
    assert len(ran(world)) == len(set(ran(world))), "nothing runs twice"


def test_what_an_earlier_pause_refused_is_not_brought_back_by_a_later_one(world):
    paused_at(world, every_seconds=3600, second=3595)
    world.live(60)
    world.schedules.resume(ACME, ID)
    world.schedules.pause(ACME, ID, reason="again")
    world.live(60)
    world.schedules.resume(ACME, ID, missed=ONCE)
    world.live(60)
    assert ran(world) == []


def test_a_pause_that_ends_by_itself_goes_by_the_schedules_own_policy_for_claimed_fires_too(world):
    world.put(spec(3600, after_pause=ONCE))
    world.live(3595)
    world.schedules.pause(ACME, ID, reason="maintenance", until=world.clock.now() + 600 * SECOND)
    world.live(700)
    assert ran(world) == [3600]


def test_a_pause_that_ends_by_itself_catches_up_what_it_held_back_in_turns(world):
    world.put(spec(10, after_pause=Misfire(MisfirePolicy.CATCH_UP, 4, per_minute=12)))
    world.live(60)
    world.schedules.pause(ACME, ID, reason="maintenance", until=world.clock.now() + 120 * SECOND)
    world.live(200)
    late = [row for row in world.store.state.runs.values() if row.late is not None]
    assert sorted((row.key.nominal_at - NOON) // SECOND for row in late) == [150, 160, 170, 180]
    due = sorted((row.due_at - NOON) // SECOND for row in late)
    assert due == [180, 185, 190, 195]


def test_what_the_schedule_says_of_pauses_counts_where_the_resume_says_nothing_and_not_where_it_does(world):
    world.put(spec(10, after_pause=Misfire(MisfirePolicy.CATCH_UP, 2)))
    for missed, kept in ((None, 2), (SKIP, 0)):
        world.live(60)
        world.schedules.pause(ACME, ID, reason="maintenance")
        world.live(60)
        before = sum(row.late is not None for row in world.store.state.runs.values())
        world.schedules.resume(ACME, ID, missed=missed)
        world.live(30)
        assert sum(row.late is not None for row in world.store.state.runs.values()) - before == kept

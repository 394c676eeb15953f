"""Trying: what a change would do is told as it is then done, and nothing is written."""

import copy
from dataclasses import replace

import pytest

from cronfleet.domain.errors import ClockSkewed, Exists, Invalid, NotFound, Stale
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, to_text
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.quota import STANDARD
from cronfleet.domain.run import RunStatus
from cronfleet.domain.trigger import parse_trigger
from cronfleet.services.changing import Conditions, Once
from tests.support.builders import cron, every
from tests.support.lived import ACME, ID, LivedWorld, spec
from tests.support.settable_clock import NOON

HOURLY = spec(3_600)


def always(wanted):
    return lambda _current, _now: wanted


@pytest.fixture
def world():
    made = LivedWorld(NOON)
    made.put(HOURLY)
    return made


def everything(world):
    """All that is stored."""
    state = world.store.state
    return copy.deepcopy(
        {name: getattr(state, name) for name in ("timers", "definitions", "runs", "run_timers", "audit", "idempotency")}
    )


TRIES = {
    "create": lambda schedules: schedules.create(ACME, "another", always(HOURLY), Once("key", "digest")),
    "put new": lambda schedules: schedules.put(ACME, "another", always(HOURLY)),
    "put": lambda schedules: schedules.put(ACME, ID, always(spec(60))),
    "edit": lambda schedules: schedules.edit(ACME, ID, always(spec(60))),
    "edit nothing": lambda schedules: schedules.edit(ACME, ID, always(HOURLY)),
    "pause": lambda schedules: schedules.pause(ACME, ID, reason="month end", once=Once("key", "digest")),
    "roll back": lambda schedules: schedules.roll_back(ACME, ID, 1, lambda *_: None),
}


@pytest.mark.parametrize("name", TRIES)
def test_a_try_writes_nothing_and_answers_with_an_effect(world, name):
    before = everything(world)
    answer = TRIES[name](world.schedules.tried())
    assert everything(world) == before
    assert answer.form["effect"]["from"] == to_text(NOON)
    assert not answer.created


@pytest.mark.parametrize("name", TRIES)
def test_a_try_says_what_the_change_then_answers(world, name):
    tried = TRIES[name](world.schedules.tried()).form
    made = TRIES[name](world.schedules).form
    del tried["effect"]
    assert tried == made


def test_the_etag_of_a_try_is_what_is_there_so_that_the_change_finds_what_was_looked_at(world):
    seen = world.schedules.get(ACME, ID).etag
    tried = world.schedules.tried().edit(ACME, ID, always(spec(60)))
    assert tried.etag == seen
    world.schedules.pause(ACME, ID, reason="somebody else")
    with pytest.raises(Stale):
        world.schedules.edit(ACME, ID, always(spec(60)), Conditions((tried.etag,)))
    assert world.schedules.tried().create(ACME, "another", always(HOURLY)).etag == "", (
        "there is nothing to compare with"
    )


def test_a_try_is_refused_as_the_change_would_be(world):
    tried = world.schedules.tried()
    with pytest.raises(Exists):
        tried.create(ACME, ID, always(HOURLY))
    with pytest.raises(NotFound):
        tried.edit(ACME, "absent", always(HOURLY))
    with pytest.raises(Stale):
        tried.edit(ACME, ID, always(spec(60)), Conditions(('"old"',)))
    with pytest.raises(Invalid, match="names no time"):
        tried.edit(ACME, ID, always(replace(HOURLY, end_at=NOON)))
    world.store.state.skew_ms = 60_000
    with pytest.raises(ClockSkewed):
        tried.edit(ACME, ID, always(spec(60)))


def test_a_try_under_a_key_is_not_remembered(world):
    world.schedules.tried().create(ACME, "another", always(HOURLY), Once("key", "digest"))
    assert world.schedules.create(ACME, "another", always(HOURLY), Once("key", "digest")).created


# --- foretold, and what became of it ---------------------------------------------------------------------------

CHANGES = {
    "retimed to be rarer": lambda schedules: schedules.edit(ACME, ID, always(spec(900))),
    "retimed to be more frequent": lambda schedules: schedules.edit(ACME, ID, always(spec(60))),
    "retimed, and both share fires": lambda schedules: schedules.edit(ACME, ID, always(spec(400))),
    "edited": lambda schedules: schedules.edit(ACME, ID, always(spec(300, owner="billing"))),
    "ended": lambda schedules: schedules.edit(ACME, ID, always(spec(300, end_at=NOON + HOUR))),
    "jittered": lambda schedules: schedules.edit(ACME, ID, always(spec(300, jitter_seconds=120))),
    "paused": lambda schedules: schedules.pause(ACME, ID, reason="month end"),
    "paused until": lambda schedules: schedules.pause(ACME, ID, reason="month end", until=NOON + HOUR),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("late", [0, 7], ids=["as a fire is due", "with fires claimed ahead"])
def test_what_is_foretold_comes_to_pass(name, late):
    """Two worlds, one in which the change is made and one in which it is not, live for two hours."""
    changed, left = (_begun(late) for _ in range(2))
    effect = CHANGES[name](changed.schedules.tried()).form["effect"]
    since = changed.clock.now()
    CHANGES[name](changed.schedules)
    for world in (changed, left):
        world.live(2 * HOUR // SECOND)
    olds, news = _ran(left, since), _ran(changed, since)
    for at in _shown(effect["lost"]):
        assert at in olds
        assert at not in news
    for at in _shown(effect["gained"]):
        assert at in news
        assert at not in olds
    for one in effect["moved"]["examples"]:
        before, after = one["before"], one["after"]
        assert (olds[before["nominal_at"]], news[after["nominal_at"]]) == (before["due_at"], after["due_at"])
    same = [at for at in olds if news.get(at) == olds[at]]
    assert (effect["lost"]["count"] == 0) == (len(olds) == len(same) or effect["moved"]["count"] > 0)
    if not effect["gained"]["count"]:
        assert set(news) <= set(olds)


def _begun(late):
    world = LivedWorld(NOON - 20 * SECOND)
    world.put(spec(300))
    world.live(20 - late)
    return world


def _ran(world, since):
    """The nominal times that were due after `since` and ran, with when they were due."""
    rows = [run for run in world.store.state.runs.values() if run.key.is_scheduled]
    return {
        to_text(run.key.nominal_at): to_text(run.due_at)
        for run in rows
        if run.status is RunStatus.SUCCEEDED and run.due_at > since
    }


def _shown(fires):
    return [fire["nominal_at"] for fire in fires["examples"]]


def test_what_is_due_and_not_claimed_runs_at_once_and_is_told(world):
    world.clock.advance(HOUR + SECOND)
    assert world.schedules.tried().edit(ACME, ID, always(spec(60))).form["effect"]["at_once"] == 1


def test_what_a_resume_would_catch_up_is_told(world):
    world.put(spec(60))
    world.schedules.pause(ACME, ID, reason="month end")
    world.clock.advance(30 * MINUTE)
    wanted = Misfire(MisfirePolicy.CATCH_UP, 20)
    effect = world.schedules.tried().resume(ACME, ID, missed=wanted).form["effect"]
    assert effect["caught_up"] == 20
    assert effect["gained"]["count"] == 30 * DAY // MINUTE


# --- the quota -------------------------------------------------------------------------------------------------


def test_the_fullest_second_counts_what_the_tenant_fires_in_it(world):
    for name, seconds, jitter in (("a", 3_600, 0), ("b", 1_800, 0), ("c", 7_200, 0), ("d", 5, 0), ("e", 3_600, 900)):
        world.schedules.create(ACME, name, always(spec(seconds, jitter_seconds=jitter)))
    world.schedules.create(ACME, "off", always(HOURLY), held=True)
    daily = replace(HOURLY, trigger=cron("0 3 * * *"))
    rate = world.schedules.tried().create(ACME, "new", always(daily)).form["effect"]["quota"]["fires_per_second"]
    assert rate == {
        "peak": 5,  # itself, nightly, a, b and d; c fires at even hours
        "peak_at": "2026-12-01T03:00:00Z",
        "limit": STANDARD.fires_per_second,
        "looked_at": 6,
        "is_complete": True,
    }


def test_the_schedule_that_changes_is_counted_once(world):
    rate = world.schedules.tried().edit(ACME, ID, always(spec(60))).form["effect"]["quota"]["fires_per_second"]
    assert rate["peak"] == 1


def test_what_gains_no_fire_asks_for_no_peak(world):
    assert world.schedules.tried().pause(ACME, ID, reason="x").form["effect"]["quota"]["fires_per_second"] is None
    held = world.schedules.tried().create(ACME, "off", always(HOURLY), held=True)
    assert held.form["effect"]["quota"]["fires_per_second"] is None
    assert held.form["effect"]["is_off"]


def test_a_schedule_that_no_longer_computes_fires_nothing_in_that_second(world):
    world.schedules.create(ACME, "gone", always(HOURLY))
    timer = world.timer("gone")
    lost = replace(parse_trigger({"cron": "0 * * * *", "timezone": "UTC"}, NOON), timezone="Mars/Olympus")
    world.store.state.timers["acme", "gone"] = replace(timer, trigger=lost)
    effect = world.schedules.tried().create(ACME, "new", always(spec(3_600))).form["effect"]
    assert effect["quota"]["fires_per_second"]["peak"] == 2


def test_of_a_frequent_job_the_first_fire_of_each_hour_is_looked_at(world):
    world.clock.advance(7 * MINUTE + 123)
    effect = world.schedules.tried().create(ACME, "new", always(replace(HOURLY, trigger=every(1)))).form["effect"]
    rate = effect["quota"]["fires_per_second"]
    assert (rate["peak"], rate["peak_at"]) == (2, to_text(NOON + HOUR)), "where the hourly one fires as well"

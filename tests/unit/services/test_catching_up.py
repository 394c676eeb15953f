"""Catching up beside live work: turns, rooms and bounds, as the dispatcher keeps them tick by tick."""

from collections import Counter
from dataclasses import replace

import pytest

from cronfleet.domain.backlog import MAX_STRETCHES
from cronfleet.domain.catch_up import MAX_CAUGHT_UP_PER_CLAIM, REACH
from cronfleet.domain.claim import MAX_FIRES_PER_CLAIM
from cronfleet.domain.dispatch_plan import CATCH_UP_SHARE, LOOK_AHEAD, MAX_CAUGHT_UP_PER_TICK, claim_schedule
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.misfire import MAX_CATCH_UP, MAX_PER_MINUTE, Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.trigger import OneShotTrigger, fires
from tests.support.builders import at, backlog_of, cron, every, timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")
ONE_SECOND = Misfire(MisfirePolicy.CATCH_UP, MAX_CATCH_UP, 10, per_minute=MAX_PER_MINUTE)


def ticks(world: World, number: int) -> None:
    for _ in range(number):
        world.tick()
        world.clock.advance(5 * SECOND)


def test_an_hour_of_a_one_second_interval_is_caught_up_within_bounds_and_its_regular_fires_keep_their_time() -> None:
    """3,600 nominals: the newest thousand run, ten a second; each regular fire is sent before it is due."""
    world = World(TWO)
    world.add(timer(every(1), TWO, misfire=ONE_SECOND))
    world.clock.set(TWO + HOUR)
    sent = set(world.sent_keys)
    for tick in range(30):
        now = world.clock.now()
        world.tick()
        new = [message for message in world.sent if message.key not in sent]
        sent.update(message.key for message in new)
        late = [message for message in new if message.late is not None]
        assert len(late) <= MAX_CAUGHT_UP_PER_CLAIM
        assert all(message.due_at <= now for message in late), "claimed ahead of its turn"
        regular = [message for message in new if message.late is None]
        assert len(regular) <= MAX_FIRES_PER_CLAIM
        if tick > 1:  # The first catches up with its grace as well.
            assert min(message.due_at for message in regular) > now
            assert max(message.due_at for message in regular) == now + LOOK_AHEAD
        world.clock.advance(5 * SECOND)
    caught_up = [message for message in world.sent if message.late is not None]
    assert len(caught_up) == MAX_CATCH_UP
    in_a_minute = Counter(message.due_at // MINUTE for message in caught_up)
    assert max(in_a_minute.values()) <= MAX_PER_MINUTE
    held = world.timer()
    assert held.backlog is None
    assert world.accounted(held) == list(fires(held.trigger, TWO - 1, (held.nominal_at or 0) - 1))


def test_live_work_of_everybody_keeps_its_time_while_thousands_of_schedules_catch_up() -> None:
    """Two tenants missed an hour; a third one's fires, and their own regular ones, are claimed ahead of their time."""
    world = World(TWO)
    some = Misfire(MisfirePolicy.CATCH_UP, 20, 30, per_minute=MAX_PER_MINUTE)
    for tenant in ("one", "two"):
        for number in range(300):
            world.add(timer(every(60), TWO, tenant=tenant, schedule_id=f"{tenant}-{number}", misfire=some))
    world.clock.set(TWO + HOUR + 31 * SECOND)
    world.add(timer(every(5), world.clock.now() // 5_000 * 5_000 + 5_000, tenant="quiet"))
    world.tick()
    seen = set(world.sent_keys)
    for tenant in ("one", "two"):
        world.allow(10_000, 100_000, tenant)
    for _ in range(24):
        world.clock.advance(5 * SECOND)
        now = world.clock.now()
        world.tick()
        new = [message for message in world.sent if message.key not in seen]
        seen.update(message.key for message in new)
        late = Counter(message.key.tenant for message in new if message.late is not None)
        assert late.total() <= MAX_CAUGHT_UP_PER_TICK
        assert max(late.values(), default=0) <= CATCH_UP_SHARE
        assert all(message.due_at > now for message in new if message.late is None), "a live fire came late"
        assert any(message.key.tenant == "quiet" for message in new)
    assert world.notes.counts["caught_up"] > 20 * MAX_CAUGHT_UP_PER_TICK


def test_who_finds_no_room_in_a_tick_is_put_off_to_one_that_has_it_and_nobody_waits_for_ever() -> None:
    world = World(TWO + HOUR)
    for number in range(CATCH_UP_SHARE + 2):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"s{number:03}"))
    assert world.tick().caught_up == CATCH_UP_SHARE
    turns = [timer.backlog.turn_at for timer in world.store.state.timers.values() if timer.backlog is not None]
    assert turns == [TWO + HOUR + 5 * SECOND] * 2


def test_turns_that_no_tick_took_are_not_saved_up() -> None:
    """An outage of the dispatcher in the middle is no right to a burst afterwards."""
    behind = timer(every(60), TWO, misfire=Misfire(MisfirePolicy.CATCH_UP, 500, 30, per_minute=60))
    first = claim_schedule(behind, TWO + 8 * HOUR)
    assert len(first.caught_up) == 1
    later = replace(behind, nominal_at=TWO + 9 * HOUR, due_at=first.wakes_at, backlog=first.backlog)
    second = claim_schedule(later, TWO + 8 * HOUR + 50 * MINUTE)
    assert len(second.caught_up) == REACH // SECOND + 1


def test_a_window_bounds_what_is_caught_up_also_while_it_waits_and_what_is_only_late() -> None:
    slow = Misfire(MisfirePolicy.CATCH_UP, 500, 300, window_seconds=600, per_minute=1)
    behind = timer(every(5), TWO, misfire=slow)
    now = TWO + HOUR
    claim = claim_schedule(behind, now)
    assert [fire.nominal_at for fire in claim.caught_up] == [now - 10 * MINUTE]
    waiting = replace(behind, nominal_at=TWO + 2 * HOUR, due_at=claim.wakes_at, backlog=claim.backlog)
    later = now + 2 * MINUTE
    claim = claim_schedule(waiting, later)
    (aged,) = claim.skipped
    assert (aged.first_at, aged.reason.code) == (now - 10 * MINUTE + 5 * SECOND, Code.MISSED)
    assert "more than 600 s late" in aged.reason.text
    assert all(later - fire.nominal_at <= 10 * MINUTE for fire in claim.caught_up)
    strict = timer(every(60), TWO, misfire=Misfire(MisfirePolicy.FIRE_ONCE, 1, 300, window_seconds=90))
    late = claim_schedule(strict, TWO + 10 * MINUTE)
    assert [fire.nominal_at for fire in (*late.caught_up, *late.fires)] == [TWO + n * MINUTE for n in (9, 10)]


def test_the_oldest_stretch_gives_way_when_outages_come_faster_than_they_are_caught_up() -> None:
    slow = Misfire(MisfirePolicy.CATCH_UP, 500, 10, per_minute=1)
    world = World(TWO)
    world.add(timer(every(60), TWO, misfire=slow))
    for _ in range(MAX_STRETCHES + 2):
        world.clock.advance(HOUR)
        ticks(world, 2)
    held = world.timer()
    assert held.backlog is not None
    assert len(held.backlog.stretches) == MAX_STRETCHES
    rows = [row for row in world.store.state.runs.values() if row.reason and "gave way" in row.reason.text]
    assert len(rows) == 2
    named = list(fires(held.trigger, TWO - 1, (held.nominal_at or 0) - 1))
    assert sorted(world.accounted(held) + backlog_of(held)) == named


@pytest.mark.parametrize("jitter", [0, 40])
def test_a_missed_one_shot_runs_once_says_why_and_then_the_schedule_is_completed(jitter: int) -> None:
    world = World(TWO)
    world.add(timer(OneShotTrigger(TWO, "", None), TWO, jitter_seconds=jitter))
    world.clock.set(TWO + DAY)
    ticks(world, 3)
    (message,) = world.sent
    assert (message.key.nominal_at, message.due_at) == (TWO, TWO + DAY)
    assert message.late is not None
    assert world.timer().due_at is None


def test_a_year_of_outage_costs_one_row_and_a_bounded_look_back() -> None:
    world = World(TWO)
    world.add(timer(cron("* * * * *"), TWO, misfire=ONE_SECOND))
    world.clock.set(TWO + 365 * DAY)
    world.tick()
    (row,) = world.store.state.runs.values()
    assert row.key.nominal_at == TWO
    assert len(backlog_of(world.timer())) == MAX_CATCH_UP - 1

"""The dispatcher, one at a time: what a tick does, and what it leaves to the next."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunKey, RunStatus
from cronfleet.domain.schedule import Pause, Status
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.services.tick_report import Served
from tests.support.builders import at, cron, every, timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")


def test_what_is_due_is_claimed_and_sent_with_what_the_worker_needs() -> None:
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    report = world.tick()
    assert (report.served, report.claims_won, report.fires, report.batches) == (Served.SERVED, 1, 1, 1)
    (message,) = world.sent
    assert message.key == RunKey("acme", "nightly", 1, TWO)
    assert (message.attempt, message.due_at, message.claimed_at, message.version) == (1, TWO, TWO, 1)
    assert world.timer().nominal_at == TWO + DAY
    assert world.timer().claim_batch == message.batch


def test_a_fire_inside_the_look_ahead_is_sent_with_the_delay_that_is_left() -> None:
    world = World(TWO - 7_400)
    world.add(timer(cron("0 2 * * *"), TWO))
    world.tick()
    queue = world.run_queue.tier("standard")
    assert queue.next_visible_at() == TWO - 7_400 + 8 * SECOND
    world.clock.set(TWO - 1)
    assert not queue.receive()


def test_a_fire_beyond_the_look_ahead_is_left_for_a_later_tick() -> None:
    world = World(TWO - 11 * SECOND)
    world.add(timer(cron("0 2 * * *"), TWO))
    assert world.tick().batches == 0
    assert not world.sent


def test_an_empty_tick_writes_the_lease_and_nothing_more() -> None:
    world = World(TWO)
    world.tick()
    lease = world.store.get_lease(0)
    assert lease is not None
    assert (lease.fence, lease.slot_at, lease.until) == (1, TWO, TWO + 5 * SECOND)
    assert not world.store.state.batches


def test_a_slot_that_was_served_is_not_served_again() -> None:
    world = World(TWO)
    assert world.tick().served is Served.SERVED
    world.clock.advance(4 * SECOND)
    assert world.tick().served is Served.NOT_OURS
    world.clock.advance(SECOND)
    assert world.tick().served is Served.SERVED


def test_a_tick_from_a_clock_that_is_ahead_is_refused_before_it_can_block_the_shard() -> None:
    """O16, O20: a ticker eight hours fast must not make its shard deaf for eight hours."""
    world = World(TWO + 8 * HOUR)
    world.clock.set(TWO)
    assert world.dispatcher().tick(Tick(0, TWO + 8 * HOUR), TWO + MINUTE).served is Served.EARLY
    assert world.store.get_lease(0) is None
    assert world.tick().served is Served.SERVED


@pytest.mark.parametrize("skew", [2_001, -2_001, 3_600_000])
def test_a_process_whose_clock_is_off_does_nothing_and_alarms(skew: int) -> None:
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    world.store.state.skew_ms = skew
    with pytest.raises(ClockSkewed):
        world.tick()
    assert world.store.get_lease(0) is None
    assert not world.sent
    assert [name for name, _ in world.notes.alarms] == ["clock_skewed"]


def test_a_clock_that_is_set_in_the_middle_of_a_tick_claims_nothing_ahead_and_blocks_no_shard() -> None:
    """What was heard before proves nothing: it would claim an hour of fires, under a lease of an hour."""
    world = World(TWO)
    world.add(timer(every(1, TWO), TWO))
    due, get_lease = world.store.due, world.store.get_lease

    def then_set(*asked: Any) -> Any:
        world.store.state.skew_ms = None
        world.clock.advance(HOUR)
        return due(*asked)

    def answer(shard: int) -> Any:
        world.store.state.skew_ms = HOUR
        return get_lease(shard)

    world.store.due, world.store.get_lease = then_set, answer  # type: ignore[method-assign]  # its clock is ours
    with pytest.raises(ClockSkewed):
        world.tick()
    world.store.due, world.store.get_lease = due, get_lease  # type: ignore[method-assign]  # as above
    assert not world.sent
    assert world.timer().nominal_at == TWO
    world.store.state.skew_ms = 0
    world.clock.set(TWO + 5 * SECOND)
    assert world.tick().served is Served.SERVED
    assert min(key.nominal_at for key in world.sent_keys) == TWO


def test_more_than_one_page_is_drained_in_one_tick() -> None:
    world = World(TWO)
    for number in range(250):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job-{number:03}", shard=0))
    report = world.tick()
    assert (report.batches, report.fires) == (3, 250)
    assert len(world.sent_keys) == 250


def test_a_drain_stops_at_its_deadline_and_the_next_tick_goes_on() -> None:
    world = World(TWO)
    for number in range(250):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job-{number:03}", shard=0))
    assert world.dispatcher().tick(Tick(0, TWO), deadline_at=TWO).fires == 100
    world.clock.advance(5 * SECOND)
    assert world.tick().fires == 150


def test_skipped_fires_have_their_ledger_row_with_the_reason() -> None:
    world = World(TWO + HOUR)
    world.add(timer(cron("*/10 * * * *"), TWO, misfire=Misfire(MisfirePolicy.SKIP, grace_seconds=60)))
    report = world.tick()
    assert report.skips == 1
    assert sum(json.loads(json.dumps(asdict(report)))["skip_reasons"].values()) == 1, "its log line can be written"
    row = world.store.get_run(RunKey("acme", "nightly", 1, TWO))
    assert row is not None
    assert (row.status, row.until_nominal_at) == (RunStatus.MISSED, TWO + 50 * MINUTE)
    assert row.reason is not None
    assert row.reason.code is Code.MISSED


def test_a_one_shot_completes_its_schedule() -> None:
    world = World(TWO)
    world.add(timer(OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None), TWO))
    world.tick()
    assert world.timer().status is Status.COMPLETED
    assert (world.timer().nominal_at, world.timer().due_at) == (None, None)
    world.clock.advance(MINUTE)
    assert world.tick().fires == 0


def test_a_pause_with_an_end_is_over_at_its_end_with_one_row_for_what_it_held_back() -> None:
    """The pause's end is an entry of the due index like every other: one way to wake everything."""
    world = World(TWO)
    paused = timer(
        every(60, TWO), TWO, status=Status.PAUSED, pause=Pause("ada", TWO - 1, until=TWO + 5 * MINUTE), rev=4
    )
    world.add(replace(paused, due_at=TWO + 5 * MINUTE))
    assert world.tick().resumes == 0
    world.clock.set(TWO + 5 * MINUTE)
    report = world.tick()
    assert report.resumes == 1
    resumed = world.timer()
    assert (resumed.status, resumed.epoch, resumed.nominal_at) == (Status.ACTIVE, 2, TWO + 6 * MINUTE)
    row = world.store.get_run(RunKey("acme", "nightly", 1, TWO))
    assert row is not None
    assert (row.status, row.until_nominal_at) == (RunStatus.PAUSED, TWO + 5 * MINUTE)
    (entry,) = world.store.state.audit.values()
    assert (entry.actor, entry.action) == ("cronfleet", "resume")


def test_a_fire_between_the_end_of_a_pause_and_the_tick_that_ends_it_is_not_held_back() -> None:
    world = World(TWO + 4 * SECOND)
    pause = Pause("ada", TWO - MINUTE, until=TWO)
    world.add(timer(every(2, TWO), TWO - 30 * SECOND, status=Status.PAUSED, pause=pause, due_at=TWO))
    assert world.tick().resumes == 1
    row = world.store.get_run(RunKey("acme", "nightly", 1, TWO - 30 * SECOND))
    assert row is not None
    assert row.until_nominal_at == TWO
    world.clock.advance(5 * SECOND)
    world.tick()
    assert min(key.nominal_at for key in world.sent_keys) == TWO + 2 * SECOND


def test_one_bad_schedule_is_parked_with_an_alarm_and_its_neighbours_fire() -> None:
    """O66: an impossible trigger or a damaged row must not stop the shard."""
    world = World(TWO)
    world.add(timer(cron("0 2 * * *", "Mars/Olympus"), TWO, schedule_id="bad", shard=0))
    damaged = world.add(timer(every(60, TWO), TWO, schedule_id="damaged", shard=0))
    world.store.damage(damaged, "its trigger is text")
    world.add(timer(cron("0 2 * * *"), TWO, shard=0))
    report = world.tick()
    assert (report.fires, report.parks) == (1, 2)
    assert world.timer("bad").status is Status.PARKED
    parked = world.timer("bad").parked
    assert parked is not None
    assert "Mars/Olympus" in parked.text
    assert {name for name, _ in world.notes.alarms} == {"item_parked", "schedule_parked"}
    world.clock.advance(5 * SECOND)
    assert world.tick().parks == 0


def test_a_queue_that_takes_nothing_leaves_the_batch_open_and_the_next_tick_sends_it() -> None:
    world = World(TWO)
    world.add(timer(cron("0 2 * * *"), TWO))
    world.run_queue.tier("standard").accepts = lambda _: False
    with pytest.raises(NoAnswer):
        world.tick()
    world.run_queue.tier("standard").accepts = lambda _: True
    world.clock.advance(20 * SECOND)
    report = world.tick()
    assert (report.finished_for_predecessor, report.fires) == (1, 1)
    assert [message.key.nominal_at for message in world.sent] == [TWO]


def test_a_partial_batch_failure_is_retried_per_entry() -> None:
    world = World(TWO)
    for number in range(6):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job-{number}", shard=0))
    refused: list[str] = []

    def accepts(message: object) -> bool:
        key = message.key.schedule_id  # type: ignore[attr-defined]  # the run queue holds run messages
        if key == "job-3" and key not in refused:
            refused.append(key)
            return False
        return True

    world.run_queue.tier("standard").accepts = accepts
    world.tick()
    assert sorted(message.key.schedule_id for message in world.sent) == [f"job-{n}" for n in range(6)]


def test_a_schedule_that_fires_each_second_is_served_by_ticks_five_seconds_apart() -> None:
    world = World(TWO)
    world.add(timer(every(1, TWO), TWO))
    for _ in range(12):
        world.tick()
        world.clock.advance(5 * SECOND)
    nominals = sorted(key.nominal_at for key in world.sent_keys)
    assert nominals == [TWO + i * SECOND for i in range(len(nominals))]
    assert len(nominals) >= 60

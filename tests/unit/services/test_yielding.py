"""What operations asked for goes with what live traffic leaves: of the tick, of the rate, and of the slots."""

from dataclasses import replace

import pytest

from cronfleet.domain.claim import first_attempt
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Timer
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import InsertRun, InsertRunTimer
from cronfleet.ports.tenants import PutTenant
from cronfleet.services import yielding
from tests.support.builders import at, cron, every, timer
from tests.support.world import World

NOON = at("2026-11-30 12:00")
DAILY = cron("0 12 * * *")


@pytest.fixture
def world() -> World:
    return World(NOON)


def asked_for(world: World, schedule: Timer, count: int) -> list[RunKey]:
    """Runs of a backfill that are due now."""
    keys = []
    for number in range(1, count + 1):
        nominal_at = NOON - number * MINUTE
        key = RunKey(schedule.tenant, schedule.schedule_id, 1, nominal_at, "backfill-o1")
        run = Run(key, RunStatus.QUEUED, due_at=NOON, tier="standard", version=1, operation="o1")
        world.store.commit([InsertRun(run), InsertRunTimer(first_attempt(key, schedule, NOON))])
        keys.append(key)
    return keys


def waiting(world: World, tenant: str = "acme", schedule_id: str = "far") -> Timer:
    """A schedule that has nothing due."""
    return world.add(timer(DAILY, NOON + 60 * MINUTE, tenant=tenant, schedule_id=schedule_id))


def limit(world: World, **quotas: int) -> None:
    world.store.commit([PutTenant(Tenant("acme", quotas=tuple(sorted(quotas.items())), rev=1, change_id="q"), None)])


def sent(world: World) -> dict[str, int]:
    return {name: len(queue) for name, queue in world.run_queue.tiers.items() if len(queue)}


def test_it_goes_through_a_queue_of_its_own_behind_everything_live(world: World) -> None:
    keys = asked_for(world, waiting(world), 3)
    live = [world.add(timer(DAILY, NOON, schedule_id=f"live-{n}")) for n in range(3)]
    world.tick()
    assert sent(world) == {"standard": 3, "backfill": 3}
    assert {message.key for message in world.run_queue.tier("backfill").bodies()} == set(keys)
    batches = sorted(world.store.state.batches.values(), key=lambda batch: batch.batch_id.number)
    assert [len(batch.claims) for batch in batches] == [len(live), len(keys)]


def test_a_shard_sends_no_more_than_a_tenth_of_what_it_can_in_a_tick(world: World) -> None:
    asked_for(world, waiting(world), yielding.MAX_YIELDING_PER_TICK + 10)
    world.tick()
    assert sent(world) == {"backfill": yielding.MAX_YIELDING_PER_TICK}
    world.clock.advance(5 * SECOND)
    world.tick()
    assert sent(world) == {"backfill": yielding.MAX_YIELDING_PER_TICK + 10}


def test_none_goes_while_something_live_of_the_tenant_waits_for_its_place(world: World) -> None:
    limit(world, fires_per_second=1, burst=1)
    asked_for(world, waiting(world), 2)
    for number in range(40):
        world.add(timer(DAILY, NOON, schedule_id=f"live-{number}"))
    world.tick()
    assert "backfill" not in sent(world)
    untouched = [one for one in world.store.state.run_timers.values() if one.key.cause.startswith("backfill")]
    assert all(one.due_at == NOON and one.reserved_at is None for one in untouched)


def test_another_tenants_crowd_does_not_keep_it_from_going(world: World) -> None:
    limit(world, fires_per_second=1, burst=1)
    for number in range(40):
        world.add(timer(DAILY, NOON, schedule_id=f"live-{number}"))
    asked_for(world, waiting(world, tenant="quiet"), 2)
    world.tick()
    assert sent(world)["backfill"] == 2


def test_half_of_the_burst_is_left_for_what_comes_live(world: World) -> None:
    limit(world, fires_per_second=10, burst=100)
    asked_for(world, waiting(world), 100)
    world.tick()
    first = sent(world)["backfill"]
    assert 10 <= first <= 60
    world.clock.advance(5 * SECOND)
    for number in range(40):
        world.add(timer(every(86_400), world.clock.now(), schedule_id=f"live-{number}"))
    world.tick()
    assert sent(world)["standard"] == 40


@pytest.mark.parametrize("live", [0, 3])
def test_a_small_burst_starves_no_backfill_of_a_tenant_that_is_not_at_its_rate(world: World, live: int) -> None:
    limit(world, fires_per_second=2, burst=2)
    asked_for(world, waiting(world), 10)
    for _ in range(12):
        for _ in range(live):  # In five seconds it may have ten.
            world.add(timer(DAILY, world.clock.now(), schedule_id=f"live-{len(world.store.state.timers)}"))
        world.tick(shards=16)  # Too many for a share of their own of so small a rate.
        world.clock.advance(5 * SECOND)
    assert sent(world)["backfill"] == 10
    assert sent(world).get("standard", 0) == 12 * live


def test_it_holds_half_of_the_slots_and_leaves_the_others_to_live_runs(world: World) -> None:
    limit(world, concurrent_runs=6)
    asked_for(world, waiting(world), 10)
    world.tick()
    assert sent(world) == {"backfill": 3}
    world.clock.advance(5 * SECOND)
    for number in range(3):
        world.add(timer(DAILY, NOON + 5 * SECOND, schedule_id=f"live-{number}"))
    world.tick()
    assert sent(world) == {"backfill": 3, "standard": 3}


def test_one_slot_is_enough_for_it_to_go_where_nothing_live_waits(world: World) -> None:
    limit(world, concurrent_runs=1)
    asked_for(world, waiting(world), 2)
    world.tick()
    assert sent(world) == {"backfill": 1}


def test_a_retry_of_it_yields_too(world: World) -> None:
    (key,) = asked_for(world, waiting(world), 1)
    (item,) = [one for one in world.store.state.run_timers.values() if one.key == key]
    world.tick()
    world.store.commit([InsertRunTimer(replace(item, attempt=2, due_at=NOON + 5 * SECOND))])
    world.clock.advance(5 * SECOND)
    world.tick()
    assert sent(world) == {"backfill": 2}

"""A tick and a tenant with a limit of runs at once: nothing goes without a slot, what has none waits, none is left."""

from collections.abc import Callable
from typing import Any

import pytest

from cronfleet.domain.change import paused
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunMessage
from cronfleet.domain.schedule import Pause
from cronfleet.domain.slot import holder_of, live
from cronfleet.domain.slot_plan import AHEAD
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import InsertRunTimer, NoAnswer, UpdateTimer
from cronfleet.ports.queues import Tick
from cronfleet.services.access import Caller
from cronfleet.services.ledger import Ledger
from tests.support.actors import Actor, no_actor_left
from tests.support.builders import TENANT, at, cron, every, timer
from tests.support.examples import run_timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")
LIMIT = 2


class LimitedWorld(World):
    """A tenant that may have `limit` runs at once, and messages that are worked off by hand."""

    _seen: set[tuple[str, int, int]]

    def __init__(self, now: int = TWO, limit: int | None = LIMIT) -> None:
        super().__init__(now)
        self._seen = set()
        self.limit(limit)

    def limit(self, limit: int | None) -> None:
        quotas = () if limit is None else (("concurrent_runs", limit),)
        self.store.state.tenants[TENANT] = Tenant(TENANT, quotas=quotas, rev=1)

    def herd(self, size: int, due_at: int = TWO) -> None:
        for number in range(size):
            self.add(timer(cron("0 2 * * *"), due_at, schedule_id=f"s{number:02}"))

    @property
    def held(self) -> int:
        return live(self.store.get_slots(TENANT), self.clock.now())

    def end(self, message: RunMessage) -> None:
        """The run of `message` is over: its worker lets go of its slot."""
        assert message.slot is not None
        holder = holder_of(message.key.run_id, message.attempt, message.due_at)
        slot = message.slot
        assert self.store.release_slot(TENANT, slot.number, slot.fence, holder, self.clock.now())

    def taken(self) -> list[RunMessage]:
        """What was sent since this was asked last."""
        names = {(message.key.run_id, message.attempt, message.due_at): message for message in self.sent}
        new = [message for name, message in names.items() if name not in self._seen]
        self._seen |= set(names)
        return new

    def next_tick(self, **options: Any) -> Any:
        self.clock.advance(SLOT)
        return self.tick(**options)


def slots_of(world: World) -> list[int]:
    return sorted(message.slot.number for message in world.sent if message.slot is not None)


def test_as_many_fires_go_as_there_are_slots_and_each_says_which_is_its_own() -> None:
    world = LimitedWorld()
    world.herd(5)
    report = world.tick()
    assert (report.fires, report.deferrals) == (2, 3)
    assert slots_of(world) == [1, 2]
    holders = {slot.holder for slot in world.store.get_slots(TENANT)}
    assert holders == {holder_of(message.key.run_id, 1, message.due_at) for message in world.sent}


def test_a_tenant_without_a_limit_has_no_slots() -> None:
    world = LimitedWorld(limit=None)
    world.herd(5)
    assert world.tick().fires == 5
    assert not world.store.get_slots(TENANT)
    assert slots_of(world) == []


def test_what_waits_is_told_when_one_after_another() -> None:
    world = LimitedWorld()
    world.herd(6)
    world.tick()
    waiting = [one for one in world.store.state.timers.values() if one.deferred is not None]
    places = sorted(one.due_at - TWO for one in waiting if one.due_at is not None)
    assert places == [3 * SECOND, 5 * SECOND, 8 * SECOND, 10 * SECOND]
    reasons = [one.deferred for one in waiting if one.deferred is not None]
    assert {reason.code for reason in reasons} == {Code.CONCURRENCY}
    assert {reason.detail["limit"] for reason in reasons} == {LIMIT}
    assert all(one.deferred.detail["until"] == one.due_at for one in waiting if one.deferred is not None)


def test_places_are_as_far_apart_as_slots_are_usually_held() -> None:
    world = LimitedWorld()
    world.herd(2)
    world.tick()
    world.clock.advance(60 * SECOND)
    for message in world.sent:
        world.end(message)
    for number in range(4):
        world.add(timer(cron("1 2 * * *"), TWO + MINUTE, schedule_id=f"later{number}"))
    world.tick()
    waiting = [one for one in world.store.state.timers.values() if one.deferred is not None]
    assert sorted(one.due_at - world.clock.now() for one in waiting if one.due_at) == [30 * SECOND, 60 * SECOND]


def test_every_fire_of_a_herd_runs_as_slots_become_free_never_more_at_once() -> None:
    world = LimitedWorld()
    world.herd(9)
    world.tick()
    done: list[str] = []
    for _ in range(40):
        taken = world.taken()
        assert world.held == len(taken) <= LIMIT
        world.clock.advance(2 * SECOND)
        for message in taken:
            world.end(message)
            done.append(message.key.schedule_id)
        world.next_tick()
    assert sorted(done) == [f"s{number:02}" for number in range(9)]


def test_a_slot_is_not_taken_long_before_its_time() -> None:
    world = LimitedWorld(TWO - 10 * SECOND)
    world.herd(1)
    assert world.tick().fires == 0
    assert AHEAD < 10 * SECOND
    assert world.next_tick().fires == 1


def test_a_fire_that_finds_no_slot_before_its_time_is_left_to_the_next_tick() -> None:
    world = LimitedWorld(TWO - 5 * SECOND)
    world.herd(3)
    report = world.tick()
    assert (report.fires, report.deferrals) == (2, 0)
    assert world.next_tick().deferrals == 1


def test_a_schedule_of_every_second_fires_as_often_as_it_may_and_the_rest_waits_in_order() -> None:
    world = LimitedWorld()
    world.add(timer(every(1), TWO))
    nominals: list[int] = []
    for _ in range(12):
        world.tick()
        taken = world.taken()
        assert len(taken) <= LIMIT
        nominals += sorted(message.key.nominal_at for message in taken)
        world.clock.advance(SLOT)
        for message in taken:
            world.end(message)
    assert nominals == [TWO + number * SECOND for number in range(len(nominals))]
    assert len(nominals) >= 2 * LIMIT


def test_a_retry_takes_a_slot_like_any_other_run_and_waits_where_there_is_none() -> None:
    world = LimitedWorld()
    world.herd(2)
    world.tick()
    retry = run_timer(2, due_at=TWO + SLOT, shard=0)
    world.store.commit([InsertRunTimer(retry)])
    report = world.next_tick()
    assert (report.fires, report.deferrals) == (0, 1)
    for message in world.taken():
        world.end(message)
    for _ in range(4):
        world.next_tick()
    (message,) = world.taken()
    assert (message.attempt, message.slot is not None) == (2, True)
    assert message.due_at > retry.due_at


def test_missed_time_waits_for_a_slot_too_and_is_not_lost() -> None:
    world = LimitedWorld(TWO + HOUR, limit=1)
    policy = Misfire(MisfirePolicy.CATCH_UP, 3, per_minute=600)
    world.add(timer(cron("*/20 2 * * *"), TWO, misfire=policy))
    done: list[int] = []
    for _ in range(20):
        world.tick()
        taken = world.taken()
        assert len(taken) <= 1
        world.clock.advance(SLOT)
        for message in taken:
            world.end(message)
            done.append(message.key.nominal_at)
    assert done == [TWO, TWO + 20 * MINUTE, TWO + 40 * MINUTE]


def test_a_limit_that_is_lowered_takes_no_higher_slot_and_one_that_is_raised_takes_more() -> None:
    world = LimitedWorld(limit=3)
    world.herd(9)
    assert world.tick().fires == 3
    world.limit(1)
    for message in world.taken():
        world.end(message)
    world.clock.advance(MINUTE)
    assert world.tick().fires == 1
    assert [message.slot.number for message in world.taken() if message.slot is not None] == [1]
    world.limit(4)
    world.clock.advance(MINUTE)
    assert world.tick().fires == 3
    assert [message.slot.number for message in world.taken() if message.slot is not None] == [2, 3, 4]


def test_slots_whose_lease_has_ended_are_taken_again() -> None:
    world = LimitedWorld()
    world.herd(4)
    world.tick()
    world.taken()
    world.clock.advance(5 * MINUTE)
    assert world.held == 0
    assert world.tick().fires == 2


def test_when_the_leases_of_killed_runs_are_over_what_waits_fills_the_slots_again() -> None:
    """Places were once as far apart as the dead had held their slots: one run at a time, for half an hour."""
    world = LimitedWorld()
    world.herd(40)
    world.tick()
    killed = world.taken()
    assert len(killed) == LIMIT
    going: list[RunMessage] = []
    held: list[int] = []
    while world.clock.now() < TWO + 4 * MINUTE:
        world.next_tick()
        held.append(world.held)
        for message in going:
            world.end(message)
        going = world.taken()
    over = (killed[0].slot.until - TWO) // SLOT if killed[0].slot is not None else 0
    assert held[over:] == [LIMIT] * len(held[over:])
    assert len(held[over:]) > 15


def test_what_a_tenants_record_says_has_to_be_known_before_anything_goes() -> None:
    world = LimitedWorld()
    world.herd(3)
    read = world.store.get_tenants

    def silent(_: object) -> dict[str, Tenant]:
        raise NoAnswer("the table of tenants is out")

    world.store.get_tenants = silent  # type: ignore[assignment, method-assign]  # one call of the store fails
    assert world.tick().fires == 0
    world.store.get_tenants = read  # type: ignore[method-assign]  # as above
    assert world.next_tick().fires == 2


def test_a_tenant_whose_slots_cannot_be_read_keeps_nobody_else_waiting() -> None:
    world = LimitedWorld()
    world.herd(3)
    world.add(timer(cron("0 2 * * *"), TWO, tenant="globex"))

    def silent(_: object) -> list[Any]:
        raise NoAnswer("one partition is out")

    world.store.get_slots = silent  # type: ignore[assignment, method-assign]  # one call of the store fails
    assert world.tick().fires == 1
    assert {message.key.tenant for message in world.sent} == {"globex"}


def dying_after(step: str) -> LimitedWorld:
    """A herd whose first dispatcher died right after `step`."""
    world = LimitedWorld()
    world.herd(3)
    actor = world.tick_as_actor("first")
    with no_actor_left(actor):
        while actor.at != step:
            actor.step()
    world.clock.advance(20 * SECOND)
    return world


@pytest.mark.parametrize("step", ["take_slot done", "put_batch done", "announce done", "claim done", "send done"])
def test_whoever_comes_after_a_dispatcher_that_died_uses_its_slots_and_no_others(step: str) -> None:
    world = dying_after(step)
    world.tick()
    assert world.held == LIMIT
    messages = {message.key: message for message in world.sent}
    stored = {slot.number: slot for slot in world.store.get_slots(TENANT)}
    assert len(messages) == LIMIT
    for message in messages.values():
        assert message.slot is not None
        assert stored[message.slot.number].lease == message.slot
    for message in messages.values():
        world.end(message)
    world.clock.advance(10 * MINUTE)
    assert world.tick().fires >= 1


def test_a_claim_that_is_lost_to_a_change_gives_its_slot_back() -> None:
    world = LimitedWorld()
    world.herd(1)
    actor = world.tick_as_actor("first")
    with no_actor_left(actor):
        while actor.at != "claim":
            actor.step()
        assert world.held == 1
        pause(world, "s00")
        actor.finish()
    assert world.held == 0


def pause(world: World, schedule_id: str) -> None:
    held = world.timer(schedule_id)
    after = paused(held, Pause("ada", world.clock.now()), now=world.clock.now(), change_id=world.ids.unique())
    world.store.commit([UpdateTimer(after, held)])


def test_two_shards_that_want_the_same_slots_never_have_more_than_there_are() -> None:
    """Every order of the steps of one dispatcher before and after some of the other's."""
    steps = len(two_shards()[0].tick_as_actor("alone").run().steps)
    for before in range(steps):
        for between in range(0, steps, 3):
            world, other = two_shards()
            first, second = world.tick_as_actor("first"), other()
            with no_actor_left(first, second):
                first.run(before)
                second.run(between)
                first.run()
                second.run()
            assert world.held == LIMIT
            assert slots_of(world) == [1, 2], "every slot is used, and by one"
            assert first.error is second.error is None


def two_shards() -> tuple[LimitedWorld, Callable[[], Actor]]:
    world = LimitedWorld()
    for number in range(4):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"s{number}", shard=number % 2))

    def other() -> Actor:
        return Actor("other", lambda actor: world.dispatcher(actor).tick(Tick(1, TWO), TWO + MINUTE))

    return world, other


def test_an_explanation_names_the_limit_and_says_until_when_a_fire_is_likely_to_wait() -> None:
    world = LimitedWorld()
    world.herd(3)
    world.tick()
    (waiting,) = [one for one in world.store.state.timers.values() if one.deferred is not None]
    world.clock.advance(SECOND)
    caller = Caller(Tenant(TENANT), "key", "request")
    said = Ledger(store=world.store, clock=world.clock).explain(caller, waiting.schedule_id, TWO)
    assert (said["code"], said["detail"]["limit"]) == ("concurrency", LIMIT)
    assert said["detail"]["due_at"] == said["detail"]["until_at"] == "2026-12-01T02:00:03Z"


@pytest.mark.parametrize("orders", ["die", "lose the reply"])
def test_wherever_a_dispatcher_dies_or_hears_nothing_every_fire_runs_in_a_slot_and_all_are_free_at_the_end(
    orders: str,
) -> None:
    for step in range(len(dying_after("take_lease done").tick_as_actor("alone").run().steps)):
        world = LimitedWorld()
        world.herd(3)
        actor = world.tick_as_actor("first")
        with no_actor_left(actor):
            actor.run(step)
            if not actor.is_over and (orders == "die" or actor.at != "begin"):
                actor.step(orders)
            actor.kill() if orders == "die" else actor.run()
        done = run_all(world)
        assert sorted(done) == ["s00", "s01", "s02"], f"{orders} at step {step}, {actor.steps[-1]}"
        world.clock.advance(10 * MINUTE)
        assert world.held == 0


def run_all(world: LimitedWorld) -> list[str]:
    """Ticks and workers until nothing is left; the schedules that ran. No two messages ever have one slot at once."""
    done: list[str] = []
    for _ in range(40):
        world.clock.advance(SLOT)
        world.tick()
        taken = world.taken()
        numbers = [message.slot.number for message in taken if message.slot is not None]
        assert len(numbers) == len(set(numbers)) == len(taken) <= LIMIT
        for message in taken:
            world.end(message)
            done.append(message.key.schedule_id)
    return done

"""A worker and the slot of its run: it calls nothing outside a slot of its own, and leaves none behind.

`Watching` looks at every call of the target: at that moment its run has a slot that lasts longer than the attempt may.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.claim import RunClaim
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Run, RunKey, RunMessage, RunStatus
from cronfleet.domain.slot import Slot, held_until, holder_of, is_of_run, live
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import InsertRun, NoAnswer
from cronfleet.ports.target import Call, Pulse
from tests.support.actors import no_actor_left, overtake
from tests.support.builders import TENANT, message
from tests.support.faults import Crash, FaultAt
from tests.support.workshop import (
    BACKOFF,
    PAST_LEASE,
    TIMEOUT_SECONDS,
    TWO,
    Effects,
    Script,
    Workshop,
    calls_of,
    fails_first,
    moments,
    succeeds,
)

LIMIT = 2
PATIENT = Retry(max_attempts=8, backoff=BACKOFF)
LONG = 24 * 60 * MINUTE


class Watching(Effects):
    def call(self, call: Call, pulse: Pulse) -> Result:
        if call.deadline_at <= self._world.clock.now():
            return super().call(call, pulse)  # Which does nothing: it stood still for longer than its lease.
        slots = self._world.store.get_slots(call.key.tenant)
        own = [slot for slot in slots if is_of_run(slot.holder, call.key.run_id) and slot.until > call.deadline_at]
        assert own, f"called outside a slot: {slots}"
        assert live(slots, self._world.clock.now()) <= LIMIT
        return super().call(call, pulse)


class LimitedWorkshop(Workshop):
    """The tenant may have two runs at once. The dispatcher took a slot for the message, and takes one for a retry."""

    def __init__(self, script: Script = succeeds, *, overlap: Overlap = Overlap.ALLOW) -> None:
        super().__init__(script, overlap=overlap, retry=PATIENT)
        self.targets = Watching(self, script)
        self.limit(LIMIT)
        self.message = self.slotted(self.message)

    def limit(self, limit: int | None) -> None:
        quotas = () if limit is None else (("concurrent_runs", limit),)
        self.store.state.tenants[TENANT] = Tenant(TENANT, quotas=quotas, rev=1)

    def slotted(self, sent: RunMessage) -> RunMessage:
        now = self.clock.now()
        until = held_until(sent.due_at, now, sent.timeout_seconds)
        slot = self.take(holder_of(sent.key.run_id, sent.attempt, sent.due_at), until)
        return replace(sent, slot=slot.lease)

    def take(self, holder: str, until: int) -> Slot:
        stored = {slot.number: slot for slot in self.store.get_slots(TENANT)}
        slots = [stored.get(number, Slot(TENANT, number)) for number in range(1, LIMIT + 1)]
        free = next(slot for slot in slots if slot.is_free(self.clock.now()))
        return self.store.take_slot(free.taken(holder, self.clock.now(), until), free)

    def fill(self) -> None:
        """Every slot that is free goes to runs that go on for long."""
        while live(self.slots, self.clock.now()) < LIMIT:
            self.take("acme~other~1~20261201T020000Z~schedule/1/0", TWO + LONG)

    @property
    def slots(self) -> list[Slot]:
        return list(self.store.get_slots(TENANT))

    @property
    def held(self) -> int:
        return live(self.slots, self.clock.now())

    def wake_timers(self) -> int:
        state, woken = self.store.state.run_timers, 0
        for key, one in list(state.items()):
            if one.claim_batch is None and one.due_at <= self.clock.now() and self.held < LIMIT:
                state[key] = replace(one, claim_batch="0.9.9")
                for sent in RunClaim(one).messages("0.9.9", self.clock.now()):
                    self.deliver(self.slotted(sent))
                woken += 1
        return woken


def ordinary() -> LimitedWorkshop:
    return LimitedWorkshop()


def failing_first() -> LimitedWorkshop:
    return LimitedWorkshop(fails_first(1))


def gated() -> LimitedWorkshop:
    return LimitedWorkshop(overlap=Overlap.SKIP)


def late() -> LimitedWorkshop:
    world = LimitedWorkshop()
    world.clock.advance(5 * MINUTE)
    return world


def manual() -> LimitedWorkshop:
    world = LimitedWorkshop()
    key = RunKey("acme", "nightly", 1, TWO, "manual-7")
    world.store.state.slots.clear()
    world.store.commit([InsertRun(Run(key, RunStatus.QUEUED, TWO, "standard", version=1))])
    world.message = world.slotted(message(TWO, key=key, timeout_seconds=TIMEOUT_SECONDS))
    return world


SCENES: dict[str, Callable[[], LimitedWorkshop]] = {
    scene.__name__: scene for scene in (ordinary, failing_first, gated, late, manual)
}


def finished_well(world: LimitedWorkshop) -> None:
    row = world.settle()
    world.check()
    assert row.status is RunStatus.SUCCEEDED
    assert world.targets.effects[row.key] == 1
    world.clock.advance(10 * MINUTE)
    assert world.held == 0, "back to full use"


def test_a_run_in_its_slot_costs_one_write_more_at_its_end() -> None:
    world = LimitedWorkshop()
    assert world.held == 1
    world.clock.advance(2 * SECOND)
    reads = ["get_timer", "get_definition"]
    assert calls_of(world) == ["get_notices", "insert_run", *reads, "call", "replace_run", "release_slot"]
    assert (world.held, world.slots[0].held_ms) == (0, 2 * SECOND)


def test_a_run_of_a_tenant_without_a_limit_asks_for_no_slot() -> None:
    world = LimitedWorkshop()
    world.targets = Effects(world, succeeds)
    assert calls_of(world, replace(world.message, slot=None))[-2:] == ["call", "replace_run"]


def test_a_run_that_comes_late_takes_its_slot_anew() -> None:
    world = late()
    calls = calls_of(world)
    assert calls[calls.index("get_definition") + 1 :] == [
        "get_tenant",
        "get_slots",
        "take_slot",
        "call",
        "replace_run",
        "release_slot",
    ]
    assert (world.stored.status, world.held) == (RunStatus.SUCCEEDED, 0)


def test_a_run_that_comes_late_and_finds_no_slot_is_put_off_and_comes_again() -> None:
    world = late()
    world.fill()
    world.deliver()
    row = world.stored
    assert (row.status, row.attempts, row.started_at) == (RunStatus.WAITING, (), None)
    assert row.reason is not None
    assert row.reason.code is Code.CONCURRENCY
    assert row.reason.detail["limit"] == LIMIT
    assert row.retry_at is not None
    assert row.retry_at > world.clock.now()
    assert not world.targets.made
    for number, slot in enumerate(world.slots, 1):
        world.store.release_slot(TENANT, number, slot.fence, slot.holder, world.clock.now())
    world.clock.advance(MINUTE)
    assert world.wake_timers() == 1
    assert world.stored.status is RunStatus.SUCCEEDED
    assert [attempt.number for attempt in world.stored.attempts] == [1]
    assert world.stored.lag_ms == 6 * MINUTE, "counted to the attempt that was made"


def test_a_stray_copy_from_before_an_attempt_was_put_off_may_not_use_the_slot_of_that_time() -> None:
    world = LimitedWorkshop()
    stray = world.message
    world.clock.advance(5 * MINUTE)
    world.fill()
    world.deliver()
    assert world.stored.status is RunStatus.WAITING
    world.clock.advance(MINUTE)
    world.deliver(replace(stray, slot=replace(world.slots[0].lease, fence=1, until=TWO + LONG)))
    assert not world.targets.made
    assert world.stored.status is RunStatus.WAITING


def test_a_takeover_keeps_the_slot_of_the_run_even_where_no_other_is_free() -> None:
    world = LimitedWorkshop()
    steps = moments(ordinary)
    world.deliver(hook=FaultAt(steps.index("call done"), Crash))
    world.fill()
    world.clock.advance(PAST_LEASE)
    assert world.held == LIMIT
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.stored.attempt == 2
    assert world.held == LIMIT - 1


def test_a_worker_that_comes_back_late_does_not_let_go_of_its_successors_slot() -> None:
    world = LimitedWorkshop()
    slow = world.deliver_as_actor("slow")
    with no_actor_left(slow):
        while slow.at != "call done":
            slow.step()
        world.clock.advance(PAST_LEASE)
        second = world.deliver_as_actor("second")
        with no_actor_left(second):
            while second.at != "call done":
                second.step()
            slow.finish()
            assert world.held == 1
            second.finish()
    assert world.held == 0


def test_a_run_cancelled_before_it_started_gives_its_slot_back_with_its_message() -> None:
    world = LimitedWorkshop()
    ended = Run(
        world.message.key,
        RunStatus.CANCELLED,
        TWO,
        "standard",
        finished_at=TWO,
        reason=Reason(Code.CANCELLED, "cancelled by ada"),
    )
    world.store.insert_run(ended)
    world.deliver()
    assert world.held == 0


def test_a_copy_of_a_running_message_leaves_the_slot_alone() -> None:
    world = LimitedWorkshop()
    first = world.deliver_as_actor("first")
    with no_actor_left(first):
        while first.at != "call":
            first.step()
        world.deliver()
        assert world.held == 1
        first.finish()
    assert world.held == 0


@pytest.mark.parametrize("change", ["pause", "cancel"])
def test_a_run_that_is_not_admitted_gives_its_slot_back(change: str) -> None:
    world = LimitedWorkshop()
    getattr(world, change)()
    world.deliver()
    assert (world.stored.is_terminal, world.held) == (True, 0)


def test_a_limit_that_was_lowered_keeps_a_late_run_from_a_higher_slot() -> None:
    world = late()
    world.fill()
    first, second = world.slots
    world.store.release_slot(TENANT, second.number, second.fence, second.holder, world.clock.now())
    world.limit(1)
    world.deliver()
    assert world.stored.status is RunStatus.WAITING
    assert first.number == 1


def test_a_limit_that_is_gone_lets_a_late_run_go_on() -> None:
    world = late()
    world.fill()
    world.limit(None)
    world.targets = Effects(world, succeeds)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


def test_a_slot_that_cannot_be_let_go_of_is_counted_and_ends_by_itself() -> None:
    world = LimitedWorkshop()

    def silent(*_: object) -> bool:
        raise NoAnswer("the store is out")

    world.store.release_slot = silent  # type: ignore[method-assign]  # one call of the store fails
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    assert world.notes.counts["slots_left"] == 1
    assert world.held == 1
    world.clock.advance(5 * MINUTE)
    assert world.held == 0


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_worker_that_dies_anywhere_is_followed_by_one_that_dies_anywhere(
    scene: Callable[[], LimitedWorkshop],
) -> None:
    steps = len(moments(scene)) + 1
    for first in range(steps):
        for second in range(steps + 6):
            world = scene()
            world.deliver(hook=FaultAt(first))
            world.clock.advance(PAST_LEASE)
            world.deliver(hook=FaultAt(second))
            finished_well(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
def test_a_lost_reply_or_a_lost_request_anywhere_loses_no_slot(scene: Callable[[], LimitedWorkshop]) -> None:
    for step, moment in enumerate(moments(scene)):
        if moment.startswith("call"):
            continue  # A target answers with a result, never with silence.
        world = scene()
        assert world.deliver(hook=FaultAt(step, NoAnswer)) is None, moment
        finished_well(world)


@pytest.mark.parametrize("scene", SCENES.values(), ids=SCENES)
@pytest.mark.parametrize("apart", [0, PAST_LEASE], ids=["at once", "after the lease"])
def test_two_workers_with_one_message_in_every_order(scene: Callable[[], LimitedWorkshop], apart: int) -> None:
    for before in range(len(moments(scene)) + 1):
        for steps in range(0, len(moments(scene)) + 4, 2):
            world = scene()
            first = world.deliver_as_actor("first")
            first.run(before)
            world.clock.advance(apart)
            second = world.deliver_as_actor("second")
            with no_actor_left(first):
                overtake(first, second, steps) if not first.is_over else second.finish()
            finished_well(world)

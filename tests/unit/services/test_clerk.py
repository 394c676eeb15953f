"""Errands from the due index to the clerk and back: taken by a lease, carried on, moved or retired, never lost."""

from collections.abc import Callable
from typing import Any

import pytest

from cronfleet.domain.errand import (
    ERRAND_LEASE,
    ERRAND_MARGIN,
    LONGEST_BACKOFF,
    Errand,
    ErrandKind,
    ErrandMessage,
    backoff,
    new_errand,
)
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.ports.job_store import NoAnswer, PutErrand
from cronfleet.services.clerk import Clerk, Handled
from cronfleet.services.errands import TAKEN_AT_LEAST, Errands
from tests.support.builders import every, timer
from tests.support.settable_clock import NOON
from tests.support.world import World

WATCH = ErrandKind.WATCH


class Scripted:
    """A doer that says what a script says, and keeps what it was asked."""

    def __init__(self, script: Callable[[str], Instant | None]) -> None:
        self.script = script
        self.asked: list[tuple[str, str, Instant]] = []

    def carry_on(self, tenant: str, errand_id: str, until: Instant) -> Instant | None:
        self.asked.append((tenant, errand_id, until))
        return self.script(errand_id)


def put(world: World, errand_id: str = "nightly", due_at: Instant = NOON, tenant: str = "acme") -> Errand:
    errand = new_errand(tenant, WATCH, errand_id, due_at, now=world.clock.now(), shards=1)
    world.store.commit([PutErrand(errand)])
    return errand


def stored(world: World, errand_id: str = "nightly", tenant: str = "acme") -> Errand | None:
    return world.store.get_errand(tenant, WATCH, errand_id)


def clerk(world: World, doer: Any) -> Clerk:
    return Clerk(store=world.store, clock=world.clock, telemetry=world.notes, errands={WATCH: doer})


def serve(world: World, doer: Any) -> list[Handled]:
    """Let the clerk take every message that is there."""
    made = clerk(world, doer)
    queue = world.errand_queue.queue
    handled = []
    for received in queue.receive(1_000):
        handled.append(made.handle(received.body, world.clock.now() + 45 * SECOND))
        queue.delete(received.receipt)
    return handled


@pytest.fixture
def world() -> World:
    return World(NOON)


def test_an_errand_is_sent_when_it_is_due_and_not_a_moment_before(world: World) -> None:
    put(world, due_at=NOON + 7 * SECOND)
    world.tick()
    assert len(world.errand_queue.queue) == 0, "although the tick looks ten seconds ahead"
    world.clock.advance(10 * SECOND)
    assert world.tick().errands == 1
    assert world.errand_queue.queue.bodies() == [ErrandMessage("acme", WATCH, "nightly", NOON + 1)]


def test_while_it_is_taken_nobody_sends_it_again_and_after_its_lease_somebody_does(world: World) -> None:
    put(world)
    world.tick()
    world.clock.advance(ERRAND_LEASE - 5 * SECOND)
    world.tick()
    assert len(world.errand_queue.queue) == 1
    world.clock.advance(5 * SECOND)
    world.tick()
    assert [message.rev for message in world.errand_queue.queue.bodies()] == [NOON + 1, NOON + 2]


def test_it_comes_again_when_the_queue_did_not_take_it(world: World) -> None:
    put(world)
    world.errand_queue.queue.accepts = lambda _: False
    assert world.tick().errands == 0
    world.errand_queue.queue.accepts = lambda _: True
    world.clock.advance(ERRAND_LEASE)
    assert world.tick().errands == 1


def test_the_clerk_moves_it_to_when_the_doer_says(world: World) -> None:
    put(world)
    world.tick()
    doer = Scripted(lambda _: NOON + HOUR)
    assert serve(world, doer) == [Handled.MOVED]
    assert doer.asked == [("acme", "nightly", NOON + 45 * SECOND)]
    after = stored(world)
    assert after is not None
    assert (after.due_at, after.failures) == (NOON + HOUR, 0)


def test_the_clerk_retires_it_when_the_doer_has_done(world: World) -> None:
    put(world)
    world.tick()
    assert serve(world, Scripted(lambda _: None)) == [Handled.RETIRED]
    assert stored(world) is None
    world.clock.advance(HOUR)
    assert world.tick().errands == 0


def test_a_copy_of_a_message_does_nothing_once_the_first_was_served(world: World) -> None:
    world.errand_queue.queue.copies = lambda _: 2
    put(world)
    world.tick()
    doer = Scripted(lambda _: NOON + MINUTE)
    assert serve(world, doer) == [Handled.MOVED, Handled.STALE]
    assert len(doer.asked) == 1


def test_a_message_about_an_errand_that_was_retired_and_made_again_means_nothing_to_the_new_one(world: World) -> None:
    put(world)
    world.tick()
    (message,) = world.errand_queue.queue.bodies()
    serve(world, Scripted(lambda _: None))
    world.clock.advance(SECOND)
    again = put(world, due_at=NOON + HOUR)
    assert clerk(world, Scripted(lambda _: None)).handle(message, NOON + HOUR) is Handled.STALE
    assert stored(world) == again


def test_what_a_caller_says_while_it_is_carried_on_counts(world: World) -> None:
    put(world)
    world.tick()

    def resumed(_: str) -> Instant | None:
        before = stored(world)
        assert before is not None
        world.store.commit([PutErrand(before.moved(NOON), before)])
        return None

    assert serve(world, Scripted(resumed)) == [Handled.STALE]
    after = stored(world)
    assert after is not None
    assert after.due_at == NOON, "the doer said that it was done, and a caller put it on again"


def test_with_its_lease_nearly_over_it_is_not_begun_and_before_that_it_is_left_in_time(world: World) -> None:
    put(world)
    world.tick()
    (message,) = world.errand_queue.queue.bodies()
    doer = Scripted(lambda _: None)
    world.clock.advance(ERRAND_LEASE - ERRAND_MARGIN - 4 * SECOND)
    assert clerk(world, doer).handle(message, NOON + HOUR) is Handled.STALE
    assert doer.asked == []
    world.clock.advance(-10 * SECOND)
    clerk(world, doer).handle(message, NOON + HOUR)
    assert doer.asked == [("acme", "nightly", NOON + ERRAND_LEASE - ERRAND_MARGIN)]


def fails(_: str) -> Instant | None:
    raise ValueError("no such thing")


def test_an_errand_that_fails_comes_again_later_each_time_with_an_alarm_each_and_is_never_given_up(
    world: World,
) -> None:
    put(world)
    waits = []
    for _ in range(9):
        world.tick()
        before = world.clock.now()
        assert serve(world, Scripted(fails)) == [Handled.FAILED]
        after = stored(world)
        assert after is not None
        waits.append(after.due_at - before)
        world.clock.advance(after.due_at - before)
    assert waits == [backoff(number) for number in range(1, 10)]
    assert waits[0] == MINUTE
    assert waits[-1] == LONGEST_BACKOFF
    assert [fields["failures"] for name, fields in world.notes.alarms if name == "errand_failed"] == list(range(1, 10))
    world.tick()
    serve(world, Scripted(lambda _: NOON + 24 * HOUR))
    after = stored(world)
    assert after is not None
    assert after.failures == 0, "and once it goes well, all is forgotten"


@pytest.mark.parametrize("error", [NoAnswer("silent"), ClockSkewed(3_000)])
def test_a_silent_store_and_a_wrong_clock_are_not_the_errands_fault(world: World, error: Exception) -> None:
    put(world)
    world.tick()

    def silent(_: str) -> Instant | None:
        raise error

    with pytest.raises(type(error)):
        serve(world, Scripted(silent))
    after = stored(world)
    assert after is not None
    assert (after.due_at, after.failures) == (NOON + ERRAND_LEASE, 0)
    assert world.notes.alarms == []


def test_a_kind_that_nobody_carries_on_is_an_alarm_and_not_lost(world: World) -> None:
    put(world)
    world.tick()
    (message,) = world.errand_queue.queue.bodies()
    idle = Clerk(store=world.store, clock=world.clock, telemetry=world.notes, errands={})
    assert idle.handle(message, NOON + HOUR) is Handled.FAILED
    assert stored(world) is not None


def test_tenants_take_turns_and_the_errands_of_one_keep_nobody_elses_waiting(world: World) -> None:
    for number in range(TAKEN_AT_LEAST + 5):
        put(world, f"job-{number}")
    put(world, "quiet", tenant="small")

    class Slow:
        """Each reading of the clock takes so long that the tick is over after the first."""

        def now(self) -> Instant:
            world.clock.advance(SECOND)
            return world.clock.now()

    sent = _send_with(world, Slow())
    assert len(sent) == TAKEN_AT_LEAST
    assert [message.tenant for message in sent[:2]] == ["acme", "small"]


def _send_with(world: World, clock: Any) -> list[ErrandMessage]:
    found: Any = world.store.due(0, NOON, None, 100).items
    Errands(world.store, world.errand_queue, clock).send_due(found, NOON, NOON)
    return world.errand_queue.queue.bodies()


def test_what_is_due_of_schedules_is_claimed_before_any_errand_is_taken(world: World) -> None:
    put(world)
    world.add(timer(every(60, NOON), NOON))
    order: list[str] = []
    claim, move = world.store.claim, world.store.move_errand
    world.store.claim = lambda *args: order.append("claim") or claim(*args)  # type: ignore[method-assign,func-returns-value]  # a spy
    world.store.move_errand = lambda *args: order.append("errand") or move(*args)  # type: ignore[method-assign,func-returns-value]  # a spy
    report = world.tick()
    assert (report.fires, report.errands) == (1, 1)
    assert order == ["claim", "errand"]

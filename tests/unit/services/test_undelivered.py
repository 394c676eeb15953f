"""The consumer of dead-letter queues: races with workers, silence, crashes between its steps."""

from typing import Any

import pytest

from cronfleet.domain.dead_letter import is_letter
from cronfleet.domain.instant import SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.run import Outcome, RunStatus
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.domain.undelivered import Delivery
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.undelivered import Undelivered
from tests.support.faults import Crash
from tests.support.workshop import PAST_LEASE, TWO, Workshop

DELIVERY = Delivery("cronfleet-runs-standard-dead", "m-1", 6, TWO)


def consumer(world: Workshop, store: Any = None) -> Undelivered:
    return Undelivered(store=store or world.store, clock=world.clock, telemetry=world.notes)


def take(world: Workshop, store: Any = None) -> None:
    consumer(world, store).run(world.message, DELIVERY)


def test_a_fire_that_no_worker_took_on_is_a_dead_letter_and_a_late_copy_does_not_start_it() -> None:
    world = Workshop()
    take(world)
    assert is_letter(world.stored)
    world.deliver()
    assert world.targets.made == []
    assert world.stored.status is RunStatus.DEAD


def test_a_run_under_a_live_lease_goes_on_and_its_end_is_written() -> None:
    world = Workshop()
    call = world.targets.script

    def meanwhile(attempt: Any) -> Any:
        take(world)
        return call(attempt)

    world.targets.script = meanwhile
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED


def test_a_run_whose_worker_died_is_a_dead_letter_with_that_attempt_and_its_late_end_is_refused() -> None:
    world = Workshop()

    def meanwhile(attempt: Any) -> Any:
        world.clock.advance(PAST_LEASE)
        take(world)
        return world_script(attempt)

    world_script, world.targets.script = world.targets.script, meanwhile
    world.deliver()
    row = world.stored
    assert row.status is RunStatus.DEAD
    assert row.attempts[-1].outcome is Outcome.LOST
    assert row.signature is not None
    assert row.signature.template.startswith("lost")


def test_a_worker_that_is_faster_is_obeyed() -> None:
    world = Workshop()

    class Slow:
        """The store, in which a worker runs the fire right before the first end is written."""

        def __getattr__(self, name: str) -> Any:
            return getattr(world.store, name)

        def commit(self, writes: Any) -> None:
            if world.row() is None:
                world.deliver()
            world.store.commit(writes)

    take(world, Slow())
    assert world.stored.status is RunStatus.SUCCEEDED


def test_a_consumer_that_dies_after_its_write_is_followed_by_one_that_changes_nothing() -> None:
    world = Workshop()

    class Dying:
        def __getattr__(self, name: str) -> Any:
            return getattr(world.store, name)

        def commit(self, writes: Any) -> None:
            world.store.commit(writes)
            raise Crash

    with pytest.raises(Crash):
        take(world, Dying())
    first = world.stored
    world.clock.advance(SECOND)
    take(world)
    assert world.stored == first


def test_a_store_that_stays_silent_leaves_the_message_where_it_is() -> None:
    world = Workshop()

    class Silent:
        def __getattr__(self, name: str) -> Any:
            return getattr(world.store, name)

        def commit(self, writes: Any) -> None:
            raise NoAnswer

    with pytest.raises(NoAnswer):
        take(world, Silent())
    assert world.row() is None


def test_nothing_is_noted_of_a_deleted_tenant() -> None:
    world = Workshop()
    tenant = Tenant(world.message.key.tenant, status=TenantStatus.DELETED, rev=1)
    world.store.commit([PutTenant(tenant, None)])
    take(world)
    assert world.row() is None


def test_the_gate_of_a_run_that_died_undelivered_is_free() -> None:
    world = Workshop(overlap=Overlap.SKIP)
    key = world.message.key
    assert world.store.take_gate(key.tenant, key.schedule_id, key.run_id, TWO, None) is None
    take(world)
    assert world.store.state.gates == {}

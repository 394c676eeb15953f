"""After a fail-over: what the copy of the tables lacks is made up for, and what is there is left as it is."""

from dataclasses import replace
from typing import Any

from cronfleet.domain.claim import Batch, BatchId
from cronfleet.domain.hold import TAKEOVER, Here, Mode
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.late import Cause as LateCause
from cronfleet.domain.retiming import Cause
from cronfleet.domain.role import Role
from cronfleet.domain.run import RunKey, RunStatus
from cronfleet.services.holds import Holds
from cronfleet.services.mending import MendStep
from cronfleet.services.retiming import Retimings
from tests.support.builders import at
from tests.support.lived import ACME, ID, LivedWorld, spec

TWO = at("2026-12-01 02:00")
ADMIN = replace(ACME, role=Role.PLATFORM_ADMIN)
FIVE_RAN = 4 * 60 + 30
"""Seconds until five fires have run, one each minute."""


class TakenOver(LivedWorld):
    """What one region wrote, in whose place another one goes on; what is to be missing is removed in between."""

    def __init__(self, **changes: Any) -> None:
        super().__init__(TWO - 10 * SECOND)
        self.store.here = Here("eu-west-1")
        self.put(spec(60, **changes))
        self.live(FIVE_RAN)
        self.lose_messages()
        self.store.here = Here("eu-central-1", "second")

    def lose_row(self, nominal_at: Instant) -> RunKey:
        key = RunKey("acme", ID, 1, nominal_at)
        del self.store.state.runs[key]
        self.store.state.history["acme", ID].remove(key)
        return key

    def lose_log(self) -> None:
        self.store.state.batches.clear()
        self.store.state.log.clear()

    def release(self, after: int = 120) -> None:
        self.outage(after)
        Holds(store=self.store, clock=self.clock, ids=self.ids, shards=1).release(ADMIN, reason="eu-west-1 is gone")

    def sweep(self) -> Any:
        steps = {Cause.FAILOVER: MendStep(self.store, self.clock, self.notes)}
        made = Retimings(store=self.store, clock=self.clock, ids=self.ids, telemetry=self.notes, steps=steps)
        return self.sweeper(retimings=made).sweep(self.clock.now() + MINUTE)

    def status(self, key: RunKey) -> RunStatus | None:
        row = self.store.get_run(key)
        return None if row is None else row.status


def test_a_fire_of_which_neither_batch_nor_row_has_come_is_queued_and_runs() -> None:
    world = TakenOver()
    key = world.lose_row(TWO + 3 * MINUTE)
    world.lose_log()
    world.release()
    world.live(3 * 60)
    assert world.status(key) is RunStatus.SUCCEEDED
    row = world.store.get_run(key)
    assert row is not None
    assert row.late is not None
    assert row.late.cause is LateCause.HOLD
    assert world.notes.counts["fires_mended"] == 1


def test_what_has_a_row_is_left_as_it_is() -> None:
    world = TakenOver()
    before = dict(world.store.state.runs)
    world.release()
    world.live(3 * 60)
    assert {key: world.store.state.runs[key] for key in before} == before
    assert not world.notes.counts["fires_mended"] + world.notes.counts["runs_mended"]


def test_a_run_whose_next_attempt_has_no_timer_gets_one() -> None:
    world = TakenOver()
    key = RunKey("acme", ID, 1, TWO + 3 * MINUTE)
    row = world.store.state.runs[key]
    waiting = replace(row, status=RunStatus.WAITING, retry_at=world.clock.now() + MINUTE, finished_at=None)
    world.store.state.runs[key] = waiting
    world.release()
    world.live(3 * 60)
    assert world.status(key) is RunStatus.SUCCEEDED
    assert world.notes.counts["runs_mended"] == 1


def test_a_run_that_was_under_way_and_of_whose_claim_nobody_knows_is_taken_over() -> None:
    world = TakenOver()
    key = RunKey("acme", ID, 1, TWO + 3 * MINUTE)
    row = world.store.state.runs[key]
    going = replace(row, status=RunStatus.RUNNING, lease_until=world.clock.now() + 20 * SECOND, finished_at=None)
    world.store.state.runs[key] = going
    world.lose_log()
    world.release()
    world.live(3 * 60)
    assert world.status(key) is RunStatus.SUCCEEDED
    assert world.notes.counts["takeovers"] == 1


def test_a_schedule_whose_newest_version_has_not_come_goes_on_by_the_one_before() -> None:
    world = TakenOver()
    world.store.here = Here("eu-west-1")
    world.put(spec(60, payload={"for": "some"}))
    del world.store.state.definitions[("acme", ID), 2]
    world.store.here = Here("eu-central-1", "second")
    world.release()
    world.live(5 * 60)
    assert world.timer().version == 3
    stands_in = world.store.get_definition("acme", ID, 3)
    assert stands_in is not None
    assert (stands_in.spec.payload, stands_in.author) == (None, "cronfleet")
    newest = max(world.store.state.runs, key=lambda key: key.nominal_at)
    assert world.status(newest) is RunStatus.SUCCEEDED
    edits = [entry for entry in world.store.state.audit.values() if entry.action == "edit" and entry.actor != "ada"]
    assert "version 1 stands in" in edits[0].reason


def test_fences_rise_past_all_that_the_other_region_can_have_drawn() -> None:
    world = TakenOver()
    before = world.store.get_lease(0)
    world.release()
    after = world.store.get_lease(0)
    assert before is not None
    assert after is not None
    assert after.fence == before.fence + TAKEOVER
    world.live(60)
    newest = max(world.store.state.batches, key=lambda batch_id: batch_id.order)
    assert newest.fence > before.fence + TAKEOVER


def test_a_batch_whose_lease_has_not_come_is_not_taken_for_one_of_our_own() -> None:
    """The other region's dispatcher went on for some ticks whose leases were not copied, and whose batches were."""
    world = TakenOver()
    lease = world.store.get_lease(0)
    assert lease is not None
    theirs = [BatchId(0, lease.fence + ahead, 1) for ahead in range(1, 20)]
    for batch_id in theirs:
        world.store.put_batch(Batch(batch_id, None, world.clock.now(), ()))
    world.release()
    world.live(3 * 60)
    ours = [batch for batch in world.store.state.batches.values() if batch.claimed_at > world.clock.now() - 2 * MINUTE]
    assert ours
    assert not {batch.batch_id for batch in ours} & set(theirs)
    assert not [batch_id for batch_id in theirs if world.store.state.batches[batch_id].claims]


def test_to_look_again_finds_what_has_come_since_and_nothing_else() -> None:
    world = TakenOver()
    world.release()
    world.live(3 * 60)
    key = world.lose_row(TWO + 2 * MINUTE)
    world.lose_log()
    holds = Holds(store=world.store, clock=world.clock, ids=world.ids, shards=1)
    holds.mend(ADMIN, reason="eu-west-1 is back")
    world.live(3 * 60)
    assert world.status(key) is RunStatus.SUCCEEDED
    assert world.notes.counts["fires_mended"] == 1


def test_nothing_is_mended_after_an_installation_was_drained() -> None:
    world = TakenOver()
    world.store.here = Here("eu-west-1")
    holds = Holds(store=world.store, clock=world.clock, ids=world.ids, shards=1)
    holds.hold(ADMIN, Mode.DRAIN, reason="update")
    lease = world.store.get_lease(0)
    holds.release(ADMIN, reason="done")
    assert not world.store.open_retimings(10)
    assert world.store.get_lease(0) == lease

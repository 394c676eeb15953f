"""A held installation, lived through: what is claimed, what starts, what is written, and what is said of it."""

import copy
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.api_key import ApiKey, digest_of
from cronfleet.domain.attempt import Result
from cronfleet.domain.errors import Conflict, Forbidden, OnStandby
from cronfleet.domain.freeze import OBEYED_AFTER
from cronfleet.domain.hold import LONGEST_REST, SHORTEST_REST, Here, Mode
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.late import Cause
from cronfleet.domain.lease import BATCH_LEASE
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code
from cronfleet.domain.role import Role
from cronfleet.domain.run import RunStatus
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.undelivered import Delivery
from cronfleet.ports.target import Call, Pulse
from cronfleet.services.access import Access
from cronfleet.services.health import Health
from cronfleet.services.holds import Holds
from cronfleet.services.undelivered import Undelivered
from tests.support.builders import at, cron, timer
from tests.support.lived import ACME, ID, ONE_RETRY, LivedWorld, spec
from tests.support.workshop import Workshop
from tests.support.world import World

TWO = at("2026-12-01 02:00")
PLATFORM = replace(ACME, role=Role.PLATFORM_ADMIN)
ALL = Misfire(MisfirePolicy.CATCH_UP, max=100, grace_seconds=60)
HERE = Here("eu-west-1")
BEFORE_THE_FOURTH = 165
"""Seconds until three fires have run, and the fourth is not yet looked ahead to."""


class HeldWorld(LivedWorld):
    """A lived world with somebody in it who holds the installation."""

    def __init__(self, seconds: int = 60, here: Here = HERE, **changes: Any) -> None:
        super().__init__(TWO - 10 * SECOND)
        self.store.here = here
        self.called: list[Instant] = []
        self.holds = Holds(store=self.store, clock=self.clock, ids=self.ids, shards=1)
        self.put(spec(seconds, **changes))

    def call(self, call: Call, pulse: Pulse) -> Result:
        self.called.append(self.clock.now())
        return super().call(call, pulse)

    def hold(self, mode: Mode = Mode.DRAIN, **said: Any) -> Any:
        return self.holds.hold(PLATFORM, mode, reason="update to 2.1", **said).form

    def release(self, **said: Any) -> Any:
        return self.holds.release(PLATFORM, reason="done", **said).form

    @property
    def rows(self) -> list[Any]:
        return sorted(self.store.state.runs.values(), key=lambda row: (row.key.nominal_at, row.key.cause))

    def nominals(self, status: RunStatus) -> list[Instant]:
        return [row.key.nominal_at for row in self.rows if row.status is status]


def written(world: HeldWorld) -> Any:
    """What the store holds, apart from what no part wrote."""
    state = world.store.state
    names = (name for name in state.__slots__ if name not in ("clock", "due_index", "skew_ms"))
    return copy.deepcopy({name: getattr(state, name) for name in names})


# --- drained -----------------------------------------------------------------------------------------------------


def test_nothing_is_claimed_after_a_hold_has_returned_and_the_fires_are_missed_time_put_down_to_it() -> None:
    world = HeldWorld()
    world.live(BEFORE_THE_FOURTH)
    held = world.hold()
    returned_at = world.clock.now()
    world.live(10 * 60)
    assert max(batch.claimed_at for batch in world.store.state.batches.values()) < returned_at
    assert max(world.called) < returned_at
    world.release()
    world.live(3 * 60)
    (missed,) = [row for row in world.rows if row.status is RunStatus.MISSED]
    assert (missed.key.nominal_at, missed.until_nominal_at) == (TWO + 3 * MINUTE, TWO + 10 * MINUTE)
    (caught_up,) = [row for row in world.rows if row.key.nominal_at == TWO + 11 * MINUTE]
    assert caught_up.late is not None
    assert caught_up.late.cause is Cause.HOLD
    assert missed.reason is not None
    assert missed.reason.detail["cause"] == "hold"
    assert missed.reason.detail["hold_id"] == held["hold"]["id"]
    assert "held (drain) by ada" in missed.reason.text
    ran = world.nominals(RunStatus.SUCCEEDED)
    assert ran == [*range(TWO, TWO + 3 * MINUTE, MINUTE), *range(TWO + 11 * MINUTE, ran[-1] + 1, MINUTE)]


def test_what_the_policy_wants_of_a_hold_is_caught_up_and_a_fire_that_is_only_late_says_why() -> None:
    world = HeldWorld(misfire=ALL)
    world.live(BEFORE_THE_FOURTH)
    world.hold()
    world.live(10 * 60)
    world.release()
    world.live(5 * 60)
    late = {row.key.nominal_at: row.late for row in world.rows if row.late is not None}
    assert sorted(late) == list(range(TWO + 3 * MINUTE, TWO + 13 * MINUTE, MINUTE))
    assert {one.cause for one in late.values()} == {Cause.HOLD}
    assert len(world.nominals(RunStatus.SUCCEEDED)) == len(world.rows), "every fire ran"
    # Held fires are no lag of live work: an update that was drained for must not be rolled back for it.
    assert max(world.notes.measures["lag"]) < 10


def test_what_was_claimed_starts_and_ends_and_its_retry_waits_for_the_release() -> None:
    world = HeldWorld(seconds=3600)
    world.fails = True
    world.clock.set(TWO)
    world.tick(shards=64)
    going_on = world.hold()["going_on"]
    assert (going_on["unstarted"], going_on["running"], going_on["drained"]) == (1, 0, False)
    world.live(5 * 60)
    (row,) = world.rows
    assert (row.status, row.attempt) == (RunStatus.WAITING, 1)
    assert world.holds.read()["going_on"]["drained"]
    world.release()
    world.live(60)
    assert world.rows[0].status is RunStatus.DEAD


def test_a_run_whose_worker_died_is_revived_after_the_release() -> None:
    world = HeldWorld(seconds=3600)
    world.dies = True
    world.live(15)
    world.lose_messages()
    world.dies = False
    world.hold()
    world.live(5 * 60)
    assert world.rows[0].status is RunStatus.RUNNING
    going_on = world.holds.read()["going_on"]
    assert (going_on["abandoned"], going_on["running"], going_on["drained"]) == (1, 0, True)
    world.release()
    world.live(2 * 60)
    assert world.rows[0].status is RunStatus.SUCCEEDED


def test_a_run_whose_second_attempt_lost_its_worker_is_counted_once_and_sent_again_once() -> None:
    world = HeldWorld(seconds=3600, retry=replace(ONE_RETRY, max_attempts=3))
    world.fails = True
    world.live(15)
    world.fails, world.dies = False, True
    while world.rows[0].attempt == 1:
        world.live(5)
    world.lose_messages()
    world.dies = False
    world.hold()
    world.live(5 * 60)
    assert world.rows[0].status is RunStatus.RUNNING
    assert world.holds.read()["going_on"]["abandoned"] == 1
    world.release()
    world.clock.advance(2 * SECOND)
    assert world.sweep().revived == 1
    world.deliver()
    assert world.rows[0].status is RunStatus.SUCCEEDED


def test_nobody_is_told_that_fires_are_late_by_a_hold() -> None:
    world = HeldWorld()
    world.live(60)
    world.hold()
    world.live(20 * 60)
    world.release()
    world.live(5 * 60)
    assert not world.store.state.alerts
    assert world.notes.measures["drained"][-1] >= 15 * 60
    assert not world.notes.alarms


def asleep(step: int) -> tuple[World, Any, Holds]:
    """A dispatcher that fell asleep at one of its steps, and somebody who then holds the installation."""
    world = World(TWO)
    world.store.here = HERE
    for number in range(3):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job{number}"))
    sleeper = world.tick_as_actor("sleeper").run(step)
    holds = Holds(store=world.store, clock=world.clock, ids=world.ids, shards=1)
    holds.hold(PLATFORM, Mode.DRAIN, reason="update")
    return world, sleeper, holds


def steps_of_a_tick() -> int:
    world = World(TWO)
    for number in range(3):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job{number}"))
    return len(world.tick_as_actor("alone").run().steps)


def test_a_dispatcher_that_slept_through_the_hold_claims_nothing_whatever_it_was_about_to_do() -> None:
    for step in range(steps_of_a_tick()):
        world, sleeper, holds = asleep(step)
        going_on = holds.read()["going_on"]
        before = copy.deepcopy(world.store.state.timers)
        if not going_on["settled"]:
            # It had announced a batch: the next tick that knows of the hold finishes that, and nothing else.
            world.clock.advance(BATCH_LEASE)
            world.tick()
            assert holds.read()["going_on"]["settled"]
            before = copy.deepcopy(world.store.state.timers)
        batches = set(world.store.state.batches)
        sleeper.run()
        assert world.store.state.timers == before, f"it woke at step {step}, and claimed"
        assert {lease.last_batch for lease in world.store.state.leases.values()} <= {None, *batches}
        holds.release(PLATFORM, reason="done")
        for _ in range(4):
            world.clock.advance(5 * SECOND)
            world.tick()
        assert len(world.sent_keys) == 3


def test_what_was_announced_is_finished_by_a_tick_that_knows_of_the_hold() -> None:
    world = World(TWO)
    world.store.here = HERE
    for number in range(3):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"job{number}"))
    sleeper = world.tick_as_actor("sleeper")
    while "announce" not in (sleeper.steps or [""])[-1]:
        sleeper.step()
    sleeper.step()
    holds = Holds(store=world.store, clock=world.clock, ids=world.ids, shards=1)
    assert holds.hold(PLATFORM, Mode.DRAIN, reason="update").form["going_on"]["open_batches"] == 1
    world.clock.advance(BATCH_LEASE)
    assert world.tick().served == "held"
    assert len(world.sent_keys) == 3


# --- standing by -------------------------------------------------------------------------------------------------


def test_a_standby_starts_nothing_and_writes_nothing() -> None:
    world = HeldWorld()
    world.live(3 * 60 - 15)
    world.clock.set(TWO + 3 * MINUTE - 5 * SECOND)
    world.tick(shards=64)
    world.hold(Mode.STANDBY)
    before, called = written(world), len(world.called)
    world.live(30 * 60)
    assert len(world.called) == called
    assert written(world) == before
    assert world.notes.counts["messages_laid_aside"] > 0
    assert len(world.sent) == 1, "what had been claimed is still in its queue"


def test_a_worker_that_slept_through_the_hold_calls_nobody_unless_the_run_had_started() -> None:
    total = len(Workshop().deliver_as_actor("alone").run().steps)
    for step in range(total):
        world = Workshop()
        world.store.here = HERE
        sleeper = world.deliver_as_actor("sleeper").run(step)
        had_started = world.row() is not None
        holds = Holds(store=world.store, clock=world.clock, ids=world.ids, shards=1)
        holds.hold(PLATFORM, Mode.STANDBY, reason="fail-over")
        sleeper.run()
        if had_started:
            continue
        assert not world.targets.made, f"it woke at step {step}, and called"
        row = world.row()
        if row is not None:
            assert (row.status, row.attempts, row.reason.code) == (RunStatus.WAITING, (), Code.HELD)
        holds.release(PLATFORM, reason="over")
        assert world.settle().status is RunStatus.SUCCEEDED


def test_a_tick_that_is_under_way_when_a_hold_returns_puts_nothing_right_any_more() -> None:
    def scene() -> World:
        world = World(TWO)
        world.store.here = HERE
        for number in range(3):
            world.add(timer(cron("0 2 * * *", "Mars/Olympus"), TWO, schedule_id=f"bad{number}", shard=0))
        return world

    for step in range(len(scene().tick_as_actor("alone").run().steps)):
        world = scene()
        sleeper = world.tick_as_actor("sleeper").run(step)
        Holds(store=world.store, clock=world.clock, ids=world.ids, shards=1).hold(PLATFORM, Mode.STANDBY, reason="")
        writes = [sleeper.at, *sleeper.run().steps[step + 1 :]]
        assert sum(name.startswith("commit") and "done" not in name for name in writes if name) <= 1, writes


def test_what_came_to_a_standby_starts_after_the_release() -> None:
    world = HeldWorld()
    world.clock.set(TWO)
    world.tick(shards=64)
    world.hold(Mode.STANDBY)
    world.live(10 * 60)
    assert not world.rows
    world.release()
    world.live(10 * 60)
    assert world.rows[0].key.nominal_at == TWO
    assert world.rows[0].status is RunStatus.SUCCEEDED


def test_a_message_rests_the_longer_the_longer_the_hold_lasts() -> None:
    world = HeldWorld()
    world.hold(Mode.STANDBY)
    hold = world.store.get_switch(HERE.region).in_force(HERE)
    assert hold is not None
    rests = [hold.rest(hold.at + age) for age in (0, MINUTE, 20 * MINUTE, 24 * HOUR)]
    assert rests == [SHORTEST_REST, 15 * SECOND, 5 * MINUTE, LONGEST_REST]


def test_an_installation_that_is_deployed_as_a_standby_is_held_until_that_standby_is_released() -> None:
    world = HeldWorld(here=Here("eu-west-1", "after-the-fire"))
    before = written(world)
    world.live(5 * 60)
    assert not world.called
    assert written(world) == before
    assert world.holds.read()["hold"]["by"] == "deployment"
    world.release()
    world.live(3 * 60)
    assert world.called
    world.store.here = Here("eu-west-1", "after-the-flood")
    calls = len(world.called)
    world.live(5 * 60)
    assert len(world.called) == calls, "a release is of one standby, and not of the next"


def test_what_an_installation_missed_as_a_standby_is_put_down_to_that() -> None:
    world = HeldWorld(here=Here("eu-west-1", "second"))
    world.live(10 * 60)
    world.release()
    world.live(2 * 60)
    (missed,) = [row for row in world.rows if row.status is RunStatus.MISSED]
    assert missed.reason is not None
    assert missed.reason.detail["hold_id"] == "standby-second"


def test_a_switch_is_its_own_regions() -> None:
    world = HeldWorld()
    world.hold(Mode.STANDBY, region="eu-central-1")
    world.live(3 * 60)
    assert world.called
    assert world.holds.read()["status"] == "running"
    (elsewhere,) = world.holds.read()["elsewhere"]
    assert (elsewhere["region"], elsewhere["status"]) == ("eu-central-1", "standby")
    world.store.here = Here("eu-central-1")
    calls = len(world.called)
    world.live(3 * 60)
    assert len(world.called) == calls
    world.store.here = HERE
    assert world.release(region="eu-central-1")["status"] == "running"


def test_a_standby_notes_no_use_of_a_key_and_so_brings_none_back_that_was_withdrawn() -> None:
    world = HeldWorld(here=Here("eu-west-1", "second"))
    secret = "0123456789abcdefghijklmnopqrstuv"
    text = f"cf_k1_{secret}"
    world.store.put_api_key(ApiKey("k1", digest_of(text), Tenant("acme", rev=1), Role.OPERATOR))
    access = Access(store=world.store, clock=world.clock)
    before = written(world)
    assert access.credential_of(f"Bearer {text}") is not None
    assert written(world) == before
    world.release()
    before = written(world)
    assert access.credential_of(f"Bearer {text}") is not None
    assert written(world) != before, "in the region that works it is noted"


def test_a_standby_takes_no_dead_message() -> None:
    world = HeldWorld()
    world.clock.set(TWO)
    world.tick(shards=64)
    (message,) = world.sent
    world.hold(Mode.STANDBY)
    undelivered = Undelivered(store=world.store, clock=world.clock, telemetry=world.notes)
    delivery = Delivery("runs-standard-dead", "m-1", 5, TWO)
    with pytest.raises(OnStandby):
        undelivered.run(message, delivery)
    with pytest.raises(OnStandby):
        undelivered.unreadable("{", "no JSON", delivery)
    assert not world.rows


# --- who, and what is said ---------------------------------------------------------------------------------------


def test_a_hold_takes_a_platform_admin_and_is_in_the_audit_log() -> None:
    world = HeldWorld()
    with pytest.raises(Forbidden):
        world.holds.hold(ACME, Mode.DRAIN, reason="x")
    with pytest.raises(Forbidden):
        world.holds.release(ACME, reason="x")
    world.hold()
    world.release()
    log = sorted(world.store.state.audit.values(), key=lambda entry: entry.entry_id)
    assert [(one.action, one.subject, one.reason) for one in log if one.subject.startswith("hold:")] == [
        ("hold", "hold:eu-west-1", "update to 2.1"),
        ("release", "hold:eu-west-1", "done"),
    ]


def test_a_hold_takes_two_seconds_and_so_does_its_release() -> None:
    world = HeldWorld()
    for change in (world.hold, world.release):
        before = world.clock.now()
        change()
        assert world.clock.now() - before >= OBEYED_AFTER


def test_a_standby_cannot_be_drained_and_a_drained_installation_can_stand_by() -> None:
    world = HeldWorld()
    world.hold(Mode.DRAIN)
    assert world.hold(Mode.STANDBY)["status"] == "standby"
    with pytest.raises(Conflict):
        world.hold(Mode.DRAIN)
    assert world.release()["status"] == "running"
    assert [one["mode"] for one in world.holds.read()["ended"]] == ["drain", "standby"]


def test_releasing_what_is_not_held_changes_nothing() -> None:
    world = HeldWorld()
    before = written(world)
    assert world.release()["status"] == "running"
    assert written(world) == before


def test_whoever_asks_why_a_fire_has_not_run_is_told_of_the_hold() -> None:
    world = HeldWorld()
    world.hold()
    world.live(2 * 60)
    said = world.explain(TWO)
    assert said["code"] == Code.HELD
    assert said["detail"]["mode"] == "drain"
    assert "update to 2.1" in said["text"]
    assert world.explain(TWO + HOUR)["code"] == Code.NOT_DUE


def test_health_says_that_the_installation_is_held() -> None:
    world = HeldWorld()
    health = Health(store=world.store, clock=world.clock)
    assert health.check(ACME).hold is None
    world.hold()
    found = health.check(ACME).hold
    assert found is not None
    assert (found.mode, found.reason) == (Mode.DRAIN, "update to 2.1")
    assert ID in [key[1] for key in world.store.state.timers]

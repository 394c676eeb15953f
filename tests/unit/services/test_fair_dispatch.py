"""Fair dispatch: a tenant over its rate is deferred and not dropped, and never in another's way."""

from collections import Counter
from typing import Any

import pytest

from cronfleet.domain.change import edited
from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.dispatch_plan import MAX_OUTSTANDING
from cronfleet.domain.freeze import Freeze, FreezeDirectory, TierScope, with_tier_freeze
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.late import Cause
from cronfleet.domain.lease import slot_of
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.rate import MICROSECONDS, Rate, line_of_tenant
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunKey, RunStatus
from cronfleet.domain.schedule import Status
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import fires
from cronfleet.ports.freezes import PutFreezeDirectory
from cronfleet.ports.job_store import InsertRunTimer, NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.ports.tenants import PutTenant
from tests.support.builders import at, cron, definition, every, timer
from tests.support.lived import ACME, ID, LivedWorld, spec
from tests.support.world import SHARD, World

TWO = at("2026-12-01 02:00")
SHARDS = 64
DAILY = cron("0 2 * * *")
SLOW = Rate(per_second=4, burst=40)
"""None goes without asking; ten seconds' worth at once."""


def crowd(world: World, count: int, tenant: str = "acme") -> list[str]:
    names = [f"{tenant}-{number:04}" for number in range(count)]
    for name in names:
        world.add(timer(DAILY, TWO, tenant=tenant, schedule_id=name), definition(DAILY, name))
    return names


def ticks(world: World, seconds: int, shards: int = SHARDS) -> None:
    """Serve every slot of so many seconds."""
    for _ in range(seconds // 5):
        world.tick(shards=shards)
        world.clock.advance(5 * SECOND)


def line_of(world: World, tenant: str = "acme") -> int | None:
    return world.store.state.lines.get(line_of_tenant(tenant))


def test_what_a_shard_may_let_through_by_itself_asks_nobody() -> None:
    world = World(TWO)
    crowd(world, 3)
    assert world.tick(shards=SHARDS).fires == 3
    assert line_of(world) is None


def test_a_tick_that_comes_after_its_slot_has_no_share_of_its_own() -> None:
    """Ticks that were held up come in heaps, and each would let its share through."""
    world = World(TWO + 20 * SECOND)
    crowd(world, 3)
    assert world.dispatcher(shards=SHARDS).tick(Tick(SHARD, TWO), TWO + HOUR).fires == 3
    assert line_of(world) is not None


def test_a_tenant_over_its_rate_is_deferred_once_for_each_fire_and_all_of_them_run() -> None:
    world = World(TWO)
    world.allow(SLOW.per_second, SLOW.burst)
    names = crowd(world, 300)
    report = world.tick(shards=SHARDS)
    assert (report.fires, report.deferrals) == (41, 259)
    deferred = [world.timer(name) for name in names if world.timer(name).reserved_at is not None]
    for one in deferred:
        assert one.due_at == one.reserved_at
        assert one.due_at is not None
        assert one.due_at % SECOND == 0
        assert one.deferred is not None
        assert (one.deferred.code, one.deferred.detail["until"]) == (Code.TENANT_RATE, one.due_at)
    places = Counter(one.due_at for one in deferred)
    assert max(places.values()) == SLOW.per_second
    line = line_of(world)
    world.clock.advance(5 * SECOND)
    ticks(world, 90)
    assert {message.key.schedule_id for message in world.sent} == set(names)
    assert world.notes.counts["deferrals"] == 259, "each is deferred once"
    assert line_of(world) == line, "and paid for once"
    waited = [message for message in world.sent if message.late is not None]
    assert len(waited) == 259
    for message in waited:
        assert message.late is not None
        assert (message.late.cause, message.late.noticed_at) == (Cause.RATE, TWO)
        assert message.late.reason.code is Code.TENANT_RATE


def test_a_quiet_tenants_fire_goes_in_the_first_batch_however_much_another_has_before_it() -> None:
    world = World(TWO)
    crowd(world, 1_200, "noisy")
    for number in range(99):
        crowd(world, 1, f"quiet-{number:02}")
    world.tick(shards=SHARDS)
    first = {message.key.tenant for message in world.sent[:100]}
    assert len(first) == 100


def test_a_fire_may_wait_past_the_next_ones_of_its_schedule_and_none_is_lost_or_taken_for_missed() -> None:
    world = World(TWO)
    world.allow(1, 1)
    strict = Misfire(MisfirePolicy.SKIP, 1, 30)
    schedules = [timer(every(5, TWO), TWO, schedule_id=f"s{number:02}", misfire=strict) for number in range(20)]
    for one in schedules:
        world.add(one, definition(one.trigger, one.schedule_id))
    ticks(world, 600)
    assert not world.store.state.runs, "nothing is missed or skipped"
    sent = [message.key for message in world.sent]
    assert len(sent) == len(set(sent))
    assert 590 <= len(sent) <= 620, "one a second, and ten seconds ahead"
    for one in schedules:
        nominals = sorted(key.nominal_at for key in sent if key.schedule_id == one.schedule_id)
        assert nominals == list(fires(one.trigger, TWO - 1, nominals[-1])), "in their order, without a gap"
        assert 25 <= len(nominals) <= 35, "they take turns"


def test_past_so_many_that_wait_the_oldest_is_skipped_with_a_row_that_says_so() -> None:
    world = World(TWO)
    place = TWO + (MAX_OUTSTANDING + 99) * SECOND
    waiting = timer(every(1, TWO), TWO, due_at=place, reserved_at=place)
    world.add(waiting, definition(waiting.trigger))
    world.clock.set(place)
    assert world.tick(shards=SHARDS).skips == 1
    row = world.store.get_run(RunKey("acme", "nightly", 1, TWO))
    assert row is not None
    assert row.reason is not None
    assert (row.status, row.reason.code) == (RunStatus.MISSED, Code.QUOTA)
    assert row.last_nominal_at == TWO + 99 * SECOND


def test_a_runs_own_timer_is_deferred_like_a_fire() -> None:
    world = World(TWO)
    world.allow(SLOW.per_second, SLOW.burst)
    world.store.draw(line_of_tenant("acme"), 60 * SECOND * MICROSECONDS, floor=TWO * MICROSECONDS)
    retry = RunTimer(RunKey("acme", "nightly", 1, TWO - DAY), TimerKind.RETRY, 2, TWO, "standard", 0, 1, 60)
    world.store.commit([InsertRunTimer(retry)])
    assert world.tick(shards=SHARDS).deferrals == 1
    assert not world.sent
    world.clock.advance(5 * SECOND)
    ticks(world, 70)
    (message,) = world.sent
    assert (message.key, message.attempt) == (retry.key, 2)
    assert message.due_at >= TWO + 60 * SECOND


def test_a_line_that_gives_no_answer_delays_its_own_tenant_and_nobody_else() -> None:
    world = World(TWO)
    crowd(world, 50, "noisy")
    crowd(world, 50, "acme")
    draw = world.store.draw

    def silent(line: str, *asked: Any, **more: Any) -> Any:
        if line == line_of_tenant("noisy"):
            raise NoAnswer("throttled")
        return draw(line, *asked, **more)

    world.store.draw = silent  # type: ignore[method-assign]  # the world's store is ours to break
    report = world.tick(shards=SHARDS)
    assert Counter(message.key.tenant for message in world.sent) == {"acme": 50, "noisy": 3}
    assert report.deferrals == 0
    world.store.draw = draw  # type: ignore[method-assign]  # as above
    world.clock.advance(5 * SECOND)
    assert world.tick(shards=SHARDS).fires == 47


@pytest.mark.parametrize("after", ["draw", "put_batch", "defer"])
def test_a_dispatcher_that_dies_after_drawing_places_loses_places_and_no_fire(after: str) -> None:
    world = World(TWO)
    world.allow(SLOW.per_second, SLOW.burst)
    names = crowd(world, 100)
    actor = world.tick_as_actor("first")
    actor.run(next(number for number, step in enumerate(world.tick_as_actor("scout").run(400).steps) if step == after))
    actor.kill()
    world.clock.advance(20 * SECOND)
    ticks(world, 200)
    sent = Counter(message.key.schedule_id for message in world.sent)
    assert sent == dict.fromkeys(names, 1)


def test_a_deferred_fire_runs_although_its_trigger_changes_while_it_waits() -> None:
    world = World(TWO)
    place = TWO + HOUR
    waiting = timer(every(60, TWO), TWO, due_at=place, reserved_at=place)
    described = definition(waiting.trigger)
    after, _, rows, run_timers = edited(
        waiting,
        described,
        definition(DAILY).spec,
        now=TWO + 10 * MINUTE,
        change_id="changed",
        author="ada",
        reason="",
    )
    assert [row.key.nominal_at for row in rows] == [TWO + number * MINUTE for number in range(11)]
    assert {row.status for row in rows} == {RunStatus.QUEUED}
    assert len(run_timers) == 11
    assert (after.reserved_at, after.deferred) == (None, None)
    assert world.clock.now() == TWO


def test_what_a_change_cannot_take_along_of_what_waits_has_a_row_that_says_so() -> None:
    place = TWO + DAY
    waiting = timer(every(60, TWO), TWO, due_at=place, reserved_at=place)
    _, _, rows, run_timers = edited(
        waiting,
        definition(waiting.trigger),
        definition(DAILY).spec,
        now=TWO + 2 * HOUR,
        change_id="changed",
        author="ada",
        reason="",
    )
    assert len(run_timers) == 30
    (last,) = [row for row in rows if row.status is RunStatus.SKIPPED]
    assert (last.key.nominal_at, last.last_nominal_at) == (TWO + 30 * MINUTE, TWO + 2 * HOUR)
    assert last.reason is not None
    assert "rate" in last.reason.text


def test_a_change_of_tier_holds_from_the_next_claim() -> None:
    world = World(TWO)
    crowd(world, 1)
    world.store.commit([PutTenant(Tenant("acme", tier="priority", rev=1), None)])
    world.tick(shards=SHARDS)
    assert [message.tier for message in world.sent] == ["priority"]


def test_a_tenant_without_a_record_keeps_the_tier_that_its_timers_have() -> None:
    world = World(TWO)
    world.add(timer(DAILY, TWO, tier="priority"))
    world.tick(shards=SHARDS)
    assert [message.tier for message in world.sent] == ["priority"]


class SlowStore:
    """Each claim takes its time."""

    def __init__(self, world: World, milliseconds: int) -> None:
        self._world, self._milliseconds = world, milliseconds

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.store, name)

    def claim(self, batch_id: Any, claims: Any) -> Any:
        self._world.clock.advance(self._milliseconds * len(claims))
        return self._world.store.claim(batch_id, claims)

    def commit(self, writes: Any) -> None:
        self._world.clock.advance(self._milliseconds)
        self._world.store.commit(writes)


def served(world: World, milliseconds: int) -> tuple[int, Instant]:
    dispatcher = world.dispatcher(shards=SHARDS)
    slow: Any = SlowStore(world, milliseconds)
    for part in (dispatcher, dispatcher._changes, dispatcher._carrying_out):
        part._store = slow
    began_at = world.clock.now()
    report = dispatcher.tick(Tick(SHARD, slot_of(began_at)), began_at + MINUTE)
    return report.fires, world.clock.now() - began_at


def test_a_tick_does_not_overrun_its_slot_for_one_tenants_sake() -> None:
    world = World(TWO)
    crowd(world, 1_500)
    fired, took = served(world, milliseconds=10)
    assert 400 <= fired <= 600
    assert took <= 6 * SECOND
    world.clock.set(TWO + 10 * SECOND)
    world.add(timer(DAILY, TWO, tenant="quiet"), definition(DAILY))
    served(world, milliseconds=10)
    assert "quiet" in {message.key.tenant for message in world.sent}


def test_behind_a_head_that_one_tenant_has_swamped_what_others_have_due_goes_with_the_first() -> None:
    world = World(TWO)
    crowd(world, 3_000, "noisy")
    crowd(world, 1, "quiet")
    world.store.commit(
        [InsertRunTimer(RunTimer(RunKey("retried", "x", 1, TWO), TimerKind.RETRY, 2, TWO, "standard", 0, 1, 60))]
    )
    served(world, milliseconds=10)
    assert {"quiet", "retried"} <= {message.key.tenant for message in world.sent[:100]}
    ticks(world, 60)
    sent = Counter(message.key for message in world.sent)
    assert set(sent.values()) == {1}


def test_pauses_that_end_all_at_once_come_after_everybodys_fires_and_do_not_overrun_the_slot() -> None:
    world = World(TWO)
    for number in range(1_000):
        paused = timer(DAILY, TWO + DAY, schedule_id=f"noisy-{number:04}", status=Status.PAUSED, due_at=TWO - SECOND)
        world.add(paused, definition(DAILY, paused.schedule_id))
    crowd(world, 1, "quiet")
    _, took = served(world, milliseconds=20)
    quiet = next(message for message in world.sent if message.key.tenant == "quiet")
    assert quiet.claimed_at <= TWO + SECOND, "their changes are nothing that a fire waits for"
    assert took <= 6 * SECOND
    for _ in range(8):
        world.clock.set(slot_of(world.clock.now()) + 5 * SECOND)
        served(world, milliseconds=20)
    assert world.notes.counts["resumes"] == 1_000


def test_what_a_frozen_tier_has_due_is_noted_after_everybodys_fires_however_many_tenants_it_has() -> None:
    """No tenant swamps the head, and there is more of it than is read at once."""
    world = World(TWO)
    tier = with_tier_freeze(
        FreezeDirectory(), Freeze("f", TierScope("standard"), "ada", TWO - HOUR), now=TWO, change_id="c"
    )
    world.store.commit([PutFreezeDirectory(tier)])
    for number in range(2_400):
        tenant = f"frozen-{number % 800:03}"
        frozen = timer(every(20), TWO - 20 * SECOND, tenant=tenant, schedule_id=f"often-{number}")
        world.add(frozen, definition(frozen.trigger, frozen.schedule_id))
    world.add(timer(DAILY, TWO, tenant="quiet", tier="priority"), definition(DAILY))
    _, took = served(world, milliseconds=10)
    assert [message.key.tenant for message in world.sent] == ["quiet"]
    assert took <= 6 * SECOND
    for _ in range(6):
        world.clock.set(slot_of(world.clock.now()) + 5 * SECOND)
        served(world, milliseconds=10)
    assert sum(row.status is RunStatus.FROZEN for row in world.store.state.runs.values()) == 2_400


def test_a_run_that_is_written_down_and_waits_for_a_place_says_so() -> None:
    world = LivedWorld(TWO + SECOND)
    world.put(spec(60))
    world.crowd(600)
    world.live(80)
    assert world.explain(TWO + MINUTE)["code"] == "tenant_rate"
    world.put(spec(24 * 3600))
    assert world.explain(TWO + MINUTE)["code"] == "queued"
    world.live(10)
    said = world.explain(TWO + MINUTE)
    assert (said["code"], said["is_decided"]) == ("tenant_rate", False)
    assert said["detail"]["until_at"] >= "2026-12-01T02:10:00Z"
    world.live(700)
    said = world.explain(TWO + MINUTE)
    assert (said["code"], said["run"]["status"]) == ("ran", "succeeded")


def test_a_run_now_that_waits_for_a_place_says_so_until_it_runs() -> None:
    world = LivedWorld(TWO + SECOND)
    world.put(spec(24 * 3600))
    world.crowd(600)
    run_id = world.runs.run_now(ACME, ID).form["run_id"]
    assert world.runs.get(ACME, run_id)["reason"] is None
    world.live(80)
    said = world.runs.get(ACME, run_id)
    assert (said["status"], said["reason"]["code"]) == ("queued", "tenant_rate")
    world.live(700)
    said = world.runs.get(ACME, run_id)
    assert (said["status"], said["reason"]) == ("succeeded", None)

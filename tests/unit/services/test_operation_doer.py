"""Carrying operations on: every date once, whatever dies; paused, cancelled, suspended; with what rows say of dates."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from cronfleet.domain.backfill import Mode, Order, Subject
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.operation import Kind, Operation, Status, Verb, rerun_key, turned, written
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Status as ScheduleStatus
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.ports.job_store import InsertRun, NoAnswer, UpdateTimer
from cronfleet.ports.operations import PutOperation
from cronfleet.ports.tenants import PutTenant
from cronfleet.services.backfill_source import BackfillSource
from cronfleet.services.operation_doer import OperationDoer
from cronfleet.services.rerun_source import RerunSource
from tests.support.builders import at, definition, every, timer
from tests.support.world import World

NOON = at("2026-11-30 12:00")
MINUTELY = every(60)
FROM = NOON - 2 * HOUR


class Dead(BaseException):
    """The process died."""


class Mortal:
    """A store whose caller dies at its `number`-th call: before the call is made, or once it is done."""

    def __init__(self, store: Any, number: int, *, after: bool) -> None:
        self._store, self._left, self._after = store, number, after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, name)

        def call(*args: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 and not self._after:
                raise Dead
            answer = method(*args, **named)
            if self._left == 0:
                raise Dead
            return answer

        return call


@pytest.fixture
def world() -> World:
    made = World(NOON)
    made.add(timer(MINUTELY, NOON + MINUTE))
    return made


def doer(world: World, store: Any = None) -> OperationDoer:
    store = store or world.store
    return OperationDoer(
        store=store,
        clock=world.clock,
        ids=world.ids,
        telemetry=world.notes,
        sources={Kind.BACKFILL: BackfillSource(store), Kind.RERUN: RerunSource(store)},
    )


def backfill(world: World, to_at: Instant = NOON, subjects: int = 1, **changes: Any) -> Operation:
    said = {"order": Order.OLDEST, "mode": Mode.REDO_ALL, **changes.pop("asked", {})}
    names = ["nightly", *(f"nightly-{number}" for number in range(1, subjects))]
    asked = {"from": FROM, "to": to_at, **said, "subjects": [Subject(name, 1, 1).record() for name in names]}
    made = Operation("acme", "o1", Kind.BACKFILL, asked, "ada", NOON, "made", changed_at=NOON, **changes)
    world.store.commit([PutOperation(made, None)])
    return made


def stored(world: World) -> Operation:
    found = world.store.get_operation("acme", "o1")
    assert found is not None
    return found


def carry_on(world: World, store: Any = None) -> Instant | None:
    return doer(world, store).carry_on("acme", "o1", world.clock.now() + MINUTE)


def rows(world: World) -> list[Run]:
    return [row for row in world.store.state.runs.values() if row.operation == "o1"]


def work(world: World, ends: Callable[[Run], RunStatus] = lambda _: RunStatus.SUCCEEDED) -> int:
    """Every run of the operation that waits comes to its end; how many that are."""
    waiting = [row for row in rows(world) if not row.is_terminal]
    for row in waiting:
        running = row.moved(RunStatus.RUNNING, started_at=world.clock.now())
        world.store.state.runs[row.key] = running.ended(ends(row), world.clock.now())
    return len(waiting)


def lived(world: World, ends: Callable[[Run], RunStatus] = lambda _: RunStatus.SUCCEEDED) -> Operation:
    """The operation, carried on until nothing more is to come."""
    for _ in range(1_000):
        wakes_at = carry_on(world)
        if wakes_at is None:
            return stored(world)
        assert wakes_at >= world.clock.now()
        world.clock.set(max(wakes_at, world.clock.now() + SECOND))
        work(world, ends)
    raise AssertionError("it does not come to an end")


# --- every date once -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", Order)
def test_every_date_becomes_one_run_in_the_order_asked_for(world: World, order: Order) -> None:
    backfill(world, total=120, max_concurrent=50, asked={"order": order})
    carry_on(world)
    begun = [row.key.nominal_at for row in rows(world)]
    expected = [FROM + n * MINUTE for n in range(120)]
    assert sorted(begun) == sorted(expected[:50] if order is Order.OLDEST else expected[-50:])
    over = lived(world)
    assert (over.status, over.counts, over.open) == (Status.FINISHED, {"succeeded": 120}, ())
    assert Counter(row.key.nominal_at for row in rows(world)) == Counter(expected)
    assert {row.key.cause for row in rows(world)} == {"backfill-o1"}


def test_no_more_are_under_way_than_may_be(world: World) -> None:
    backfill(world, max_concurrent=7)
    for _ in range(5):
        carry_on(world)
        assert sum(not row.is_terminal for row in rows(world)) == 7
        world.clock.advance(10 * SECOND)
        work(world)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_whoever_dies_at_whatever_call_each_date_is_one_run(world: World, after: bool) -> None:
    """One death after the other in one life, each at another call."""
    backfill(world, total=120, max_concurrent=10)
    number, deaths = 0, 0
    for _ in range(400):
        number = number % 12 + 1
        try:
            wakes_at = carry_on(world, Mortal(world.store, number, after=after))
        except Dead:
            deaths += 1
            world.clock.advance(5 * SECOND)
            work(world)
            continue
        if wakes_at is None:
            break
        world.clock.advance(5 * SECOND)
        work(world)
    over = stored(world)
    assert over.status is Status.FINISHED
    assert over.counts == {"succeeded": 120}
    assert deaths > 10
    assert Counter(row.key.nominal_at for row in rows(world)) == Counter(FROM + n * MINUTE for n in range(120))
    assert len(world.store.state.run_timers) == 120


def test_two_who_carry_it_on_at_once_are_in_each_others_way_and_nothing_is_done_twice(world: World) -> None:
    backfill(world, total=120, max_concurrent=200)

    class Overtaken:
        """Another one carries the operation on to its end between this one's look and its first write."""

        def __init__(self) -> None:
            self.is_first = True

        def __getattr__(self, name: str) -> Any:
            if name == "commit" and self.is_first:
                self.is_first = False
                carry_on(world)
            return getattr(world.store, name)

    carry_on(world, Overtaken())
    assert len(rows(world)) == 120
    assert lived(world).counts == {"succeeded": 120}


def test_a_store_that_does_not_answer_leaves_it_as_it_was(world: World) -> None:
    backfill(world)

    class Silent:
        def __getattr__(self, name: str) -> Any:
            if name != "commit":
                return getattr(world.store, name)

            def call(*_: Any) -> None:
                raise NoAnswer("silence")

            return call

    with pytest.raises(NoAnswer):
        carry_on(world, Silent())
    assert stored(world).rev == 1
    assert rows(world) == []


def test_it_stops_in_time_and_goes_on_from_there(world: World) -> None:
    backfill(world, total=120, max_concurrent=200)
    assert doer(world).carry_on("acme", "o1", NOON) == NOON
    assert len(rows(world)) == 45
    assert lived(world).counts == {"succeeded": 120}


# --- which dates -----------------------------------------------------------------------------------------------


def dated(world: World, minute: int, status: RunStatus, cause: str = "schedule", epoch: int = 1) -> None:
    key = RunKey("acme", "nightly", epoch, FROM + minute * MINUTE, cause)
    world.store.commit([InsertRun(Run(key, status, due_at=FROM, tier="standard", version=1, finished_at=FROM))])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(Mode.SKIP_SUCCEEDED, {1, 3, 5, 6, 7}), (Mode.REDO_FAILED, {1, 5}), (Mode.REDO_ALL, {0, 1, 2, 3, 4, 5, 6, 7})],
)
def test_the_rows_of_a_date_say_whether_it_runs_whichever_epoch_they_are_of(
    world: World, mode: Mode, expected: set[int]
) -> None:
    before = world.timer()
    world.store.commit([UpdateTimer(replace(before, epoch=3, epoch_starts=(0, 0, 0), rev=2, change_id="c"), before)])
    dated(world, 0, RunStatus.SUCCEEDED)
    dated(world, 1, RunStatus.DEAD, epoch=2)
    dated(world, 2, RunStatus.DEAD)
    dated(world, 2, RunStatus.SUCCEEDED, "rerun-7", epoch=3)
    dated(world, 3, RunStatus.SUCCEEDED, "manual-7")
    dated(world, 4, RunStatus.RUNNING, epoch=3)
    dated(world, 5, RunStatus.DEAD, "backfill-o9")
    dated(world, 6, RunStatus.SKIPPED)
    backfill(world, to_at=FROM + 8 * MINUTE, total=8, asked={"mode": mode})
    over = lived(world)
    assert {(row.key.nominal_at - FROM) // MINUTE for row in rows(world)} == expected
    assert over.counts.get("passed_over", 0) == 8 - len(expected)


def other_backfill(world: World, name: str, **changes: Any) -> Operation:
    first = stored(world)
    asked = {**first.asked, **changes.pop("asked", {})}
    made = replace(first, operation_id=name, change_id=name, asked=asked, rev=1, **changes)
    world.store.commit([PutOperation(made, None)])
    return made


def carried_on(world: World, *names: str) -> Counter[Instant]:
    """The operations, in turn, to their ends; how often each date ran."""
    for _ in range(200):
        for name in names:
            doer(world).carry_on("acme", name, world.clock.now() + MINUTE)
        world.clock.advance(10 * SECOND)
        for row in [row for row in world.store.state.runs.values() if not row.is_terminal]:
            running = row.moved(RunStatus.RUNNING, started_at=world.clock.now())
            world.store.state.runs[row.key] = running.ended(RunStatus.SUCCEEDED, world.clock.now())
        if all(one.is_over for one in world.store.state.operations.values()):
            return Counter(row.key.nominal_at for row in world.store.state.runs.values())
    raise AssertionError("they do not come to an end")


def test_of_two_backfills_over_the_same_dates_the_younger_leaves_out_what_the_older_has_run(world: World) -> None:
    backfill(world, asked={"mode": Mode.SKIP_SUCCEEDED}, max_concurrent=20)
    other_backfill(world, "o2", created_at=NOON + 1, asked={"from": FROM + HOUR, "to": NOON + HOUR})
    times = carried_on(world, "o2", "o1")
    assert set(times.values()) == {1}
    assert len(times) == 180
    second = world.store.get_operation("acme", "o2")
    assert second is not None
    assert second.counts == {"passed_over": 60, "succeeded": 60}


def test_of_two_backfills_over_the_same_dates_the_younger_runs_them_again_if_that_is_asked_for(world: World) -> None:
    backfill(world, to_at=FROM + HOUR, asked={"mode": Mode.SKIP_SUCCEEDED}, max_concurrent=20)
    other_backfill(world, "o2", created_at=NOON + 1, asked={"mode": Mode.REDO_ALL})
    assert set(carried_on(world, "o2", "o1").values()) <= {1, 2}
    second = world.store.get_operation("acme", "o2")
    assert second is not None
    assert second.counts == {"succeeded": 60}


def test_a_younger_one_does_not_wait_for_one_that_is_paused_or_about_other_dates(world: World) -> None:
    backfill(world, asked={"mode": Mode.SKIP_SUCCEEDED}, status=Status.PAUSED)
    other_backfill(world, "o2", created_at=NOON + 1, status=Status.RUNNING)
    other_backfill(world, "o3", created_at=NOON + 2, status=Status.RUNNING, asked={"from": NOON, "to": NOON + HOUR})
    for name in ("o3", "o2"):
        doer(world).carry_on("acme", name, NOON + MINUTE)
        assert any(row.operation == name for row in world.store.state.runs.values())


def test_several_schedules_go_through_their_dates_in_one_order(world: World) -> None:
    for number in (1, 2):
        world.add(timer(MINUTELY, NOON + MINUTE, schedule_id=f"nightly-{number}"))
    backfill(world, to_at=FROM + 10 * MINUTE, subjects=3, max_concurrent=6)
    carry_on(world)
    assert Counter((row.key.nominal_at - FROM) // MINUTE for row in rows(world)) == {0: 3, 1: 3}
    assert lived(world).counts == {"succeeded": 30}


def test_the_dates_of_a_schedule_that_is_deleted_meanwhile_are_passed_over(world: World) -> None:
    backfill(world, to_at=FROM + 20 * MINUTE, max_concurrent=5)
    carry_on(world)
    before = world.timer()
    gone = replace(before, status=ScheduleStatus.CANCELLED, nominal_at=None, due_at=None, rev=2, change_id="gone")
    world.store.commit([UpdateTimer(gone, before)])
    assert lived(world).counts == {"succeeded": 5, "passed_over": 15}


def test_a_version_that_was_asked_for_is_kept_and_so_is_a_payload(world: World) -> None:
    before = world.timer()
    world.store.commit([UpdateTimer(replace(before, version=2, rev=2, change_id="edit"), before)])
    world.store.state.definitions[("acme", "nightly"), 2] = replace(definition(MINUTELY), version=2)
    backfill(world, to_at=FROM + MINUTE, asked={"version": 1, "payload": [None]})
    carry_on(world)
    (row,) = rows(world)
    assert (row.version, row.is_pinned, row.has_payload, row.payload) == (1, True, True, None)
    (waits,) = world.store.state.run_timers.values()
    assert waits.version == 1


# --- paused, cancelled, at rest --------------------------------------------------------------------------------


def told(world: World, verb: Verb) -> None:
    before = stored(world)
    after = turned(before, verb, world.clock.now())
    assert after is not None
    world.store.commit([PutOperation(written(after, world.ids.unique()), before)])


def test_a_paused_one_begins_nothing_and_sees_what_it_began_to_its_end(world: World) -> None:
    backfill(world, total=120, max_concurrent=10)
    carry_on(world)
    told(world, Verb.PAUSE)
    assert carry_on(world) is not None
    work(world)
    assert carry_on(world) is None
    assert (len(rows(world)), stored(world).counts) == (10, {"succeeded": 10})
    told(world, Verb.RESUME)
    assert lived(world).counts == {"succeeded": 120}


def test_a_cancelled_one_cancels_what_is_queued_and_lets_what_runs_go_on(world: World) -> None:
    backfill(world, max_concurrent=10)
    carry_on(world)
    first = rows(world)[0]
    world.store.state.runs[first.key] = first.moved(RunStatus.RUNNING, started_at=NOON)
    told(world, Verb.CANCEL)
    assert carry_on(world) is not None
    assert Counter(row.status for row in rows(world)) == {RunStatus.CANCELLED: 9, RunStatus.RUNNING: 1}
    assert not stored(world).is_over
    running = world.store.state.runs[first.key]
    world.store.state.runs[first.key] = running.ended(RunStatus.SUCCEEDED, NOON)
    world.clock.advance(10 * SECOND)
    assert carry_on(world) is None
    over = stored(world)
    assert (over.status, over.counts) == (Status.CANCELLED, {"cancelled": 9, "succeeded": 1})


def test_the_operations_of_a_suspended_tenant_rest_and_those_of_a_deleted_one_are_left(world: World) -> None:
    backfill(world)
    world.store.commit([PutTenant(Tenant("acme", status=TenantStatus.SUSPENDED, rev=1, change_id="s"), None)])
    assert carry_on(world) == NOON + MINUTE
    world.store.state.tenants["acme"] = Tenant("acme", status=TenantStatus.DELETING, rev=2, change_id="d")
    assert carry_on(world) is None
    assert rows(world) == []


def test_a_rate_spreads_the_runs(world: World) -> None:
    backfill(world, to_at=FROM + 40 * MINUTE, rate_per_minute=60, max_concurrent=200)
    seen = []
    for _ in range(60):
        carry_on(world)
        seen.append(len(rows(world)))
        world.clock.advance(SECOND)
    assert seen[0] <= 11
    assert all(later - sooner <= 2 for sooner, later in pairwise(seen))
    assert seen[-1] == 40


# --- re-runs ---------------------------------------------------------------------------------------------------


def rerun(world: World, **asked: Any) -> Operation:
    said = {"status": ["dead"], "version": "newest", "subjects": [Subject("nightly", 1, 1).record()], **asked}
    made = Operation("acme", "o1", Kind.RERUN, said, "ada", NOON, "made", changed_at=NOON)
    world.store.commit([PutOperation(made, None)])
    return made


def died(world: World) -> Iterator[RunKey]:
    for minute in range(0, 60, 2):
        dated(world, minute, RunStatus.DEAD)
        dated(world, minute + 1, RunStatus.SUCCEEDED)
        yield RunKey("acme", "nightly", 1, FROM + minute * MINUTE)


def test_every_run_that_the_filter_takes_is_repeated_once_beside_it(world: World) -> None:
    ancestors = set(died(world))
    rerun(world)
    assert lived(world, lambda _: RunStatus.DEAD).counts == {"dead": 30}
    assert {row.key for row in rows(world)} == {rerun_key(ancestor, "o1") for ancestor in ancestors}
    assert {row.ancestor for row in rows(world)} == {ancestor.run_id for ancestor in ancestors}


def test_a_repetition_that_died_is_not_repeated_in_its_ancestors_place(world: World) -> None:
    list(died(world))
    rerun(world)
    lived(world, lambda _: RunStatus.DEAD)
    world.store.state.operations.clear()
    again = rerun(world)
    assert len(RerunSource(world.store).names(again, "", 200).items) == 30


def test_what_died_after_the_request_is_not_meant(world: World) -> None:
    list(died(world))
    late = Run(RunKey("acme", "nightly", 1, NOON), RunStatus.DEAD, NOON, "standard", finished_at=NOON + SECOND)
    world.store.commit([InsertRun(late)])
    rerun(world)
    assert lived(world).counts == {"succeeded": 30}


def test_a_stretch_of_nominal_times_has_its_first_and_not_its_last(world: World) -> None:
    list(died(world))
    rerun(world, **{"from": FROM + 10 * MINUTE, "to": FROM + 20 * MINUTE})
    lived(world)
    assert sorted((row.key.nominal_at - FROM) // MINUTE for row in rows(world)) == [10, 12, 14, 16, 18]


def test_the_same_version_is_that_of_each_ancestor_and_a_payload_of_its_own_is_kept(world: World) -> None:
    key = RunKey("acme", "nightly", 1, FROM, "manual-7")
    own = Run(key, RunStatus.DEAD, FROM, "standard", version=1, payload={"a": 1}, has_payload=True, finished_at=FROM)
    world.store.commit([InsertRun(own)])
    rerun(world, version="same")
    carry_on(world)
    (row,) = rows(world)
    assert (row.is_pinned, row.version, row.payload) == (True, 1, {"a": 1})


def test_results_tell_of_each_candidate_whether_it_was_come_to(world: World) -> None:
    made = backfill(world, to_at=FROM + 20 * MINUTE, max_concurrent=5)
    carry_on(world)
    source, at_present = BackfillSource(world.store), stored(world)
    passed = [source.has_passed(at_present, named) for named in source.names(made, "", 50).items]
    assert passed == [True] * 5 + [False] * 15


def test_a_day_of_minutes_costs_one_page_for_each_45(world: World) -> None:
    backfill(world, to_at=FROM + DAY // 24, max_concurrent=45)
    carry_on(world)
    assert stored(world).rev == 2

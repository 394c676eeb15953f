"""How batches are carried out: what overlaps, what waits for what, and what a death in the middle leaves behind."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, combinations, permutations
from typing import Any

import pytest

from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.adapters.system.side_by_side import Threads
from cronfleet.domain.claim import MAX_BATCH_ENTRIES, BatchId, ClaimOutcome
from cronfleet.domain.instant import SECOND
from cronfleet.domain.schedule import Status
from cronfleet.ports.job_store import Damaged, NoAnswer
from cronfleet.ports.queues import SENDS_AT_ONCE, Tick
from cronfleet.services.carrying_out import Held, Portions
from cronfleet.services.tick_report import Served
from tests.support.actors import no_actor_left
from tests.support.builders import at, cron, timer
from tests.support.faults import Crash
from tests.support.world import World
from tests.unit.services.test_dispatcher_interleavings import FIRST, PAST_EVERY_LEASE, check, herd, settle

TWO = at("2026-12-01 02:00")
DAILY = cron("0 2 * * *")
ONE_EACH = Portions(batch=2, claims=1, sends=1)


def crowd(world: World, count: int, tiers: Sequence[str] = ("standard",)) -> None:
    """Schedules that are due now, each of another tenant, in each tier in turn."""
    for number in range(count):
        tier = tiers[number % len(tiers)]
        world.add(timer(DAILY, TWO, tenant=f"tenant-{number:04}", schedule_id=f"s{number:04}", tier=tier))


class Calls:
    """A port whose calls are told to `heard`, before each, with what they are about."""

    def __init__(self, port: Any, heard: Callable[[str, tuple[Any, ...]], None]) -> None:
        self._port, self._heard = port, heard

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if not callable(method) or name == "skew_ms":
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            self._heard(name, args)
            return method(*args, **kwargs)

        return call


def listened(world: World, heard: Callable[[str, tuple[Any, ...]], None]) -> None:
    """Hear every call of what `world` does from now on."""
    world.store = Calls(world.store, heard)  # type: ignore[assignment]  # all of the port goes through it
    world.run_queue = Calls(world.run_queue, heard)  # type: ignore[assignment]  # likewise


# --- the order -------------------------------------------------------------------------------------------------


def test_a_batch_is_announced_once_all_of_the_one_before_is_claimed_and_sent_and_its_own_log_is_written() -> None:
    world, steps = World(TWO), list[tuple[str, int]]()
    crowd(world, 6)
    numbers = {f"tenant-{number:04}": number // 2 + 1 for number in range(6)}

    def hear(name: str, args: tuple[Any, ...]) -> None:
        if name == "put_batch":
            steps.append((name, args[0].batch_id.number))
        elif name == "announce":
            steps.append((name, args[1].number))
        elif name == "claim":
            steps.append((name, args[0].number))
        elif name == "send":
            steps.append((name, numbers[args[0][0].message.key.tenant]))

    listened(world, hear)
    world.tick(portions=ONE_EACH)
    assert steps == [
        *[("put_batch", 1), ("announce", 1), ("claim", 1), ("claim", 1), ("send", 1), ("send", 1)],
        *[("put_batch", 2), ("announce", 2), ("claim", 2), ("claim", 2), ("send", 2), ("send", 2)],
        *[("put_batch", 3), ("announce", 3), ("claim", 3), ("claim", 3), ("send", 3), ("send", 3)],
    ]


class Waves:
    """`SideBySide` that notes what went together."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        self.sizes.append(len(calls))
        return OneByOne().run(calls)


def test_claims_go_together_and_so_do_sends_and_the_next_log_in_full_requests_across_tenants() -> None:
    world = World(TWO)
    world.side_by_side = waves = Waves()
    crowd(world, 2 * MAX_BATCH_ENTRIES)
    assert world.tick().fires == 2 * MAX_BATCH_ENTRIES
    sends = MAX_BATCH_ENTRIES // SENDS_AT_ONCE
    assert waves.sizes == [4, sends + 1, 4, sends]


def test_messages_of_several_tiers_fill_requests_of_their_own_queues() -> None:
    world, requests = World(TWO), list[list[str]]()
    crowd(world, 60, ("standard", "priority", "bulk"))
    listened(
        world, lambda name, args: requests.append([one.message.queue for one in args[0]]) if name == "send" else None
    )
    world.tick()
    assert all(len(set(request)) == 1 for request in requests)
    assert Counter(request[0] for request in requests) == {"standard": 2, "priority": 2, "bulk": 2}
    assert {len(request) for request in requests} == {SENDS_AT_ONCE}


# --- what fails in the middle ----------------------------------------------------------------------------------


def test_a_shard_that_is_lost_before_the_second_announcement_has_all_of_the_first_batch_on_its_way() -> None:
    world = World(TWO)
    crowd(world, 4)
    lease_of_another = []

    def hear(name: str, args: tuple[Any, ...]) -> None:
        if name == "announce" and args[1].number == 2:
            lease_of_another.append(
                world.store.take_lease(0, TWO + SECOND, "another", TWO + 60 * SECOND, TWO + 30 * SECOND)
            )

    listened(world, hear)
    report = world.tick(portions=ONE_EACH)
    assert (report.served, report.batches, report.fires) == (Served.LOST_LEASE, 1, 2)
    assert lease_of_another[0].open_batch == BatchId(0, 1, 1)
    assert len(world.sent) == 2
    waiting = [one for one in world.store.state.timers.values() if one.nominal_at == TWO]
    assert len(waiting) == 2, "what was only written down was not claimed"


def test_what_a_queue_takes_only_after_a_while_waits_no_longer_for_it() -> None:
    """A queue counts a delay from the sending: of one that it takes at the second asking, less is left."""
    world = World(TWO)
    for number in range(3):
        world.add(timer(cron("0 2 * * *"), TWO, schedule_id=f"s{number}", due_at=TWO + 8 * SECOND))
    queue, asked = world.run_queue, list[int]()

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(queue, name)

        def send(self, messages: Any) -> Any:
            asked.extend(one.delay_seconds for one in messages)
            world.clock.advance(3 * SECOND)
            return messages[1:] if len(messages) > 1 else queue.send(messages)

    world.run_queue = Slow()  # type: ignore[assignment]  # the part of it that is used
    world.tick()
    assert asked == [8, 8, 8, 5, 5, 2]


def test_an_answer_that_never_comes_for_the_next_log_keeps_no_message_from_being_sent_again() -> None:
    """The queue refuses at first, the log is silent for ever: the winners are sent all the same, in this very tick."""
    world, refusals, silent = World(TWO), [3], [True]
    crowd(world, 4)

    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return getattr(queue, name)

        def send(self, messages: Any) -> Any:
            if refusals[0]:
                refusals[0] -= 1
                return messages
            return queue.send(messages)

    queue = world.run_queue
    world.run_queue = Refusing()  # type: ignore[assignment]  # the part of it that is used

    def hear(name: str, args: tuple[Any, ...]) -> None:
        if name == "put_batch" and args[0].batch_id.number == 2 and silent[0]:
            raise NoAnswer("the log is silent")

    listened(world, hear)
    with pytest.raises(NoAnswer, match="0 messages were not taken, 1 writes not answered"):
        world.tick(portions=ONE_EACH)
    assert len(queue.tiers["standard"].bodies()) == 2
    silent[0] = False
    world.clock.advance(PAST_EVERY_LEASE)
    assert world.tick(portions=ONE_EACH).finished_for_predecessor == 1
    assert {one.nominal_at for one in world.store.state.timers.values()} == {at("2026-12-02 02:00")}


def test_a_claim_request_that_fails_for_good_ends_the_tick_once_all_others_have_ended() -> None:
    world, asked = World(TWO), list[str]()
    crowd(world, 4)

    def hear(name: str, args: tuple[Any, ...]) -> None:
        if name == "claim":
            asked.append(args[1][0].tenant)
            if len(asked) == 2:
                raise PermissionError("no right to it")

    listened(world, hear)
    with pytest.raises(PermissionError):
        world.tick(portions=Portions(batch=4, claims=1))
    assert len(asked) == 4
    assert world.sent == []
    world.clock.advance(PAST_EVERY_LEASE)
    world.tick()
    assert len(world.sent) == 4, "the batch was left open, and what was won of it is won still"


class Unstorable:
    """A store that refuses for good to write the next fire of one schedule."""

    def __init__(self, store: Any, schedule_id: str) -> None:
        self._store, self._schedule_id = store, schedule_id

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def claim(self, batch_id: BatchId, claims: Sequence[Any]) -> Sequence[ClaimOutcome]:
        refused = [one.schedule_id == self._schedule_id for one in claims]
        outcomes = iter(self._store.claim(batch_id, [one for one, no in zip(claims, refused, strict=True) if not no]))
        return [ClaimOutcome.IMPOSSIBLE if no else next(outcomes) for no in refused]


def test_one_whose_claim_is_refused_for_good_and_whose_item_cannot_be_read_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It was readable in the index. Did it end the tick, the batch would stay open, and the shard stand still."""
    world, dropped = World(TWO), list[Any]()
    crowd(world, 4)
    read = world.store.get_timer

    def damaged(tenant: str, schedule_id: str) -> Any:
        if schedule_id == "s0001":
            raise Damaged("tenant-0001#s0001", "TIMER", "epoch_starts: not a number")
        return read(tenant, schedule_id)

    monkeypatch.setattr(world.store, "get_timer", damaged)
    monkeypatch.setattr(world.store, "drop_unreadable", lambda item, _: not dropped.append(item.partition))
    world.store = Unstorable(world.store, "s0001")  # type: ignore[assignment]  # all of the port goes through it
    report = world.tick()
    assert (report.served, report.fires, dropped) == (Served.SERVED, 3, ["tenant-0001#s0001"])
    lease = world.store.get_lease(0)
    assert lease is not None
    assert lease.open_batch is None


@pytest.mark.parametrize("is_changed", [False, True], ids=["as it was", "changed meanwhile"])
def test_one_whose_claim_is_refused_for_good_is_parked_unless_its_owner_has_changed_it_since(is_changed: bool) -> None:
    world = World(TWO)
    crowd(world, 2)
    world.store = Unstorable(world.store, "s0001")  # type: ignore[assignment]  # all of the port goes through it
    read, timers, edits = world.store.get_timer, world.store.state.timers, [is_changed]

    def get_timer(tenant: str, schedule_id: str) -> Any:
        if edits.pop() if edits else False:
            timers[tenant, schedule_id] = replace(timers[tenant, schedule_id], rev=2)
        return read(tenant, schedule_id)

    world.store.get_timer = get_timer  # type: ignore[method-assign]  # an edit comes before it is read
    assert world.tick().parks == (not is_changed)
    assert (timers["tenant-0001", "s0001"].status is Status.PARKED) is not is_changed


def test_what_was_won_before_a_hold_is_sent_and_what_was_only_written_down_is_not_claimed() -> None:
    world = World(TWO)
    crowd(world, 6)
    dispatcher = world.dispatcher(portions=ONE_EACH)
    carrying_out, looks = dispatcher._carrying_out, iter([False] * 3 + [True] * 100)
    look = carrying_out.stop_if_held

    def held_by_then() -> Any:
        if next(looks):
            raise Held
        return look()

    carrying_out.stop_if_held = held_by_then  # type: ignore[method-assign]  # a hold that begins between two looks
    report = dispatcher.tick(Tick(0, TWO), TWO + 60 * SECOND)
    assert (report.served, report.batches, report.fires) == (Served.HELD, 2, 4)
    assert len(world.sent) == 4
    lease = world.store.get_lease(0)
    assert lease is not None
    assert (lease.open_batch, lease.last_batch) == (None, BatchId(0, 1, 2))


# --- any order, and death with any of them under way -----------------------------------------------------------


class InOrder:
    """Makes the calls of the waves that have as many in this order, and all others as they come."""

    def __init__(self, order: Sequence[int]) -> None:
        self._order = order

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        if len(calls) != len(self._order):
            return OneByOne().run(calls)
        answers = {place: calls[place]() for place in self._order}
        return [answers[place] for place in range(len(calls))]


@pytest.mark.parametrize("size", [2, 3, 4])
def test_in_whatever_order_calls_end_that_go_together_the_same_comes_of_it(size: int) -> None:
    for order in permutations(range(size)):
        world = herd()
        world.side_by_side = InOrder(order)
        world.tick(portions=ONE_EACH)
        settle(world)
        check(world, FIRST)


class Dying:
    """Of the `wave`-th calls that go together only those in `landed` arrive before their process dies. `late` is the
    rest: it may arrive when others have been at work since.
    """

    def __init__(self, wave: int, landed: Sequence[int]) -> None:
        self._wave, self._landed = wave, landed
        self.late: list[Callable[[], Any]] = []

    def run(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        self._wave -= 1
        if self._wave >= 0:
            return OneByOne().run(calls)
        for place in self._landed:
            calls[place]()
        self.late = [call for place, call in enumerate(calls) if place not in self._landed]
        raise Crash


def waves_of_the_herd() -> list[int]:
    world = herd()
    world.side_by_side = waves = Waves()
    world.tick(portions=ONE_EACH)
    return waves.sizes


def deaths() -> Iterator[tuple[int, Sequence[int]]]:
    for wave, size in enumerate(waves_of_the_herd()):
        yield from ((wave, some) for some in chain.from_iterable(combinations(range(size), n) for n in range(size + 1)))


DEATHS = list(deaths())


def test_there_are_waves_of_claims_and_of_sends_rows_and_logs_to_die_in() -> None:
    sizes = waves_of_the_herd()
    assert max(sizes) >= 4
    assert len(sizes) >= 6


@pytest.mark.parametrize("late", [False, True], ids=["the rest is lost", "the rest comes late"])
def test_a_death_with_any_of_some_calls_done_loses_and_doubles_nothing(late: bool) -> None:
    for wave, landed in DEATHS:
        world = herd()
        world.side_by_side = dying = Dying(wave, landed)
        with pytest.raises(Crash):
            world.tick(portions=ONE_EACH)
        world.side_by_side = OneByOne()
        world.clock.advance(PAST_EVERY_LEASE)
        world.tick(portions=ONE_EACH)
        if late:
            for call in dying.late:
                call()
        settle(world)
        check(world, FIRST)


@pytest.mark.parametrize("more", range(0, 12, 3))
def test_what_comes_late_between_any_two_steps_of_a_successor_loses_and_doubles_nothing(more: int) -> None:
    for wave, landed in DEATHS[:: max(1, len(DEATHS) // 24)]:
        world = herd()
        world.side_by_side = dying = Dying(wave, landed)
        with pytest.raises(Crash):
            world.tick(portions=ONE_EACH)
        world.side_by_side = OneByOne()
        world.clock.advance(PAST_EVERY_LEASE)
        successor = world.tick_as_actor("successor")
        with no_actor_left(successor):
            successor.run(more)
            for call in dying.late:
                call()
            successor.run()
            assert successor.error is None
        settle(world)
        check(world, FIRST)


# --- threads ---------------------------------------------------------------------------------------------------


def test_by_threads_only_calls_of_store_and_queue_leave_the_calling_thread() -> None:
    """Telemetry, the clock, what is known of tenants: all that is asked where the tick is served."""
    world, caller, lock = World(TWO), threading.current_thread(), threading.Lock()
    abroad: set[str] = set()
    crowd(world, 120, ("standard", "priority"))
    late = timer(cron("*/10 * * * *"), TWO - 3_600 * SECOND, schedule_id="late")
    world.add(late)

    def here(name: str, _: tuple[Any, ...]) -> None:
        assert threading.current_thread() is caller, name

    class Locked(Calls):
        """The store in memory is for one at a time."""

        def __getattr__(self, name: str) -> Any:
            method = getattr(self._port, name)
            if not callable(method) or name == "skew_ms":
                return method

            def call(*args: Any, **kwargs: Any) -> Any:
                if threading.current_thread() is not caller:
                    abroad.add(name)
                with lock:
                    return method(*args, **kwargs)

            return call

    world.notes = Calls(world.notes, here)  # type: ignore[assignment]  # likewise
    world.ids = Calls(world.ids, here)  # type: ignore[assignment]  # likewise
    world.store = Locked(world.store, here)  # type: ignore[assignment]  # likewise
    world.run_queue = Locked(world.run_queue, here)  # type: ignore[assignment]  # likewise
    world.side_by_side = Threads()
    report = world.tick()
    assert report.fires >= 120
    assert {"claim", "send"} <= abroad <= {"claim", "send", "put_batch", "insert_run"}
    assert len({message.key.tenant for message in world.sent}) >= 120

"""The ticker lays ticks for absolute slots, ahead of time."""

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.queues import MemoryTickQueue
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.services.ticker import HORIZON, Ticker
from tests.support.builders import at
from tests.support.settable_clock import SettableClock
from tests.support.world import Notes

TWO = at("2026-12-01 02:00")


def test_ticks_arrive_at_their_slots_however_late_in_its_minute_the_ticker_is_called() -> None:
    """EventBridge Scheduler may call anywhere in the minute: slots are absolute, so nothing drifts. And at any fraction
    of a second: a queue's delays are whole seconds, so that fraction would be in the lag of every run.
    """
    clock = SettableClock(TWO + 43_700)
    queue = MemoryTickQueue(clock)
    Ticker(tick_queue=queue, store=MemoryJobStore(clock), clock=clock, telemetry=Notes(), shards=2).tick()
    seen: list[tuple[int, Tick]] = []
    while (visible_at := queue.queue.next_visible_at()) is not None:
        clock.set(max(clock.now(), visible_at))
        for received in queue.queue.receive():
            seen.append((clock.now(), received.body))
            queue.queue.delete(received.receipt)
    assert {tick.shard for _, tick in seen} == {0, 1}
    for arrived_at, tick in seen:
        assert tick.slot_at % SLOT == 0
        assert arrived_at in {tick.slot_at, TWO + 44 * SECOND}
        assert arrived_at - tick.slot_at < SLOT
    slots = sorted(tick.slot_at for _, tick in seen if tick.shard == 0)
    assert slots == list(range(TWO + 40 * SECOND, TWO + 44 * SECOND + HORIZON, SLOT))


def test_a_ticker_that_misses_one_minute_leaves_no_slot_without_a_tick() -> None:
    clock = SettableClock(TWO)
    queue = MemoryTickQueue(clock)
    for called_at in (TWO + 1 * SECOND, TWO + 2 * MINUTE + 20 * SECOND):
        clock.set(called_at)
        Ticker(tick_queue=queue, store=MemoryJobStore(clock), clock=clock, telemetry=Notes(), shards=1).tick()
    slots = {tick.slot_at for tick in queue.queue.bodies()}
    assert slots >= set(range(TWO, TWO + 4 * MINUTE, SLOT))


def test_a_queue_that_refuses_ticks_is_asked_again_and_then_alarmed() -> None:
    clock, notes = SettableClock(TWO), Notes()
    queue = MemoryTickQueue(clock)
    queue.queue.accepts = lambda tick: tick.slot_at != TWO + SLOT
    accepted = Ticker(tick_queue=queue, store=MemoryJobStore(clock), clock=clock, telemetry=notes, shards=1).tick()
    assert accepted == HORIZON // SLOT - 1
    assert [name for name, _ in notes.alarms] == ["ticks_refused"]


@pytest.mark.parametrize("skew", [2_001, -2_001, 3_600_000])
def test_a_ticker_whose_clock_is_off_lays_nothing_and_alarms(skew: int) -> None:
    clock, notes = SettableClock(TWO), Notes()
    queue, store = MemoryTickQueue(clock), MemoryJobStore(clock)
    store.state.skew_ms = skew
    with pytest.raises(ClockSkewed):
        Ticker(tick_queue=queue, store=store, clock=clock, telemetry=notes, shards=1).tick()
    assert queue.queue.bodies() == []
    assert [name for name, _ in notes.alarms] == ["clock_skewed"]


def test_a_ticker_lays_ticks_also_while_the_store_is_silent() -> None:
    """They are there when it is back; and whoever serves one looks at its own clock."""
    clock = SettableClock(TWO)
    queue, store = MemoryTickQueue(clock), MemoryJobStore(clock)
    store.state.skew_ms = None

    def silent(_: int) -> None:
        raise NoAnswer("the store is out")

    store.get_lease = silent  # type: ignore[method-assign]  # an outage
    assert Ticker(tick_queue=queue, store=store, clock=clock, telemetry=Notes(), shards=1).tick() == HORIZON // SLOT


def test_a_ticker_notes_how_many_shards_it_serves_and_one_that_is_told_of_fewer_serves_them_all_and_says_so() -> None:
    clock, notes = SettableClock(TWO), Notes()
    queue, store = MemoryTickQueue(clock), MemoryJobStore(clock)
    store.take_lease(0, TWO, "a dispatcher", TWO + SLOT, TWO)
    for shards, served in ((2, 2), (4, 4), (3, 4)):
        Ticker(tick_queue=queue, store=store, clock=clock, telemetry=notes, shards=shards).tick()
        laid = queue.queue.bodies()[-served:]
        assert [tick.shard for tick in laid] == list(range(served))
        assert {tick.shards for tick in laid} == {served}
    assert [(name, fields) for name, fields in notes.events if name == "shards_kept"] == [
        ("shards_kept", {"served": 4, "set": 3})
    ]

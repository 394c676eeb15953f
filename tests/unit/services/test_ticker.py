"""The ticker lays ticks for absolute slots, ahead of time."""

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.adapters.memory.queues import MemoryTickQueue
from cronfleet.domain.errors import ClockSkewed
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.lease import SLOT
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.services.asking import MAX_ASKS
from cronfleet.services.ticker import HORIZON, Laid, Ticker
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


class Warm:
    """A ticker whose process lives on from minute to minute."""

    def __init__(self) -> None:
        self.clock = SettableClock(TWO)
        self.queue, self.store = MemoryTickQueue(self.clock), MemoryJobStore(self.clock)
        self.laid = Laid()

    def minute(self, called_at: Instant, shards: int = 1) -> list[Tick]:
        """What it lays when it is called at `called_at`."""
        self.clock.set(called_at)
        before = len(self.queue.queue.bodies())
        Ticker(
            tick_queue=self.queue,
            store=self.store,
            clock=self.clock,
            telemetry=Notes(),
            shards=shards,
            laid=self.laid,
        ).tick()
        return self.queue.queue.bodies()[before:]


def test_a_process_that_lives_on_lays_each_slot_once_and_always_as_far_ahead() -> None:
    warm = Warm()
    laid = [tick for minute in range(4) for tick in warm.minute(TWO + minute * MINUTE + 7 * minute * SECOND)]
    slots = [tick.slot_at for tick in laid]
    assert slots == list(range(TWO, TWO + 3 * MINUTE + 21 * SECOND + HORIZON, SLOT))
    assert warm.minute(warm.clock.now()) == []


def test_slots_that_are_over_when_a_process_comes_back_are_left_out() -> None:
    warm = Warm()
    warm.minute(TWO)
    assert warm.minute(TWO + 10 * MINUTE)[0].slot_at == TWO + 10 * MINUTE


def test_ticks_are_laid_anew_where_it_is_in_doubt_what_was_laid() -> None:
    """The queue refused some; there are more shards; the clock was set back; or nobody had compared it when they were
    laid, so that they may come too early and be refused.
    """
    warm, everything = Warm(), HORIZON // SLOT
    warm.queue.queue.accepts = lambda tick: tick.slot_at != TWO + SLOT
    assert len(warm.minute(TWO)) == everything - 1
    warm.queue.queue.accepts = lambda _: True
    assert len(warm.minute(TWO)) == everything
    assert len(warm.minute(TWO, shards=2)) == 2 * everything
    assert len(warm.minute(TWO, shards=2)) == 0
    assert len(warm.minute(TWO - MINUTE, shards=2)) == 2 * everything
    warm.store.state.skew_ms = None
    warm.store.get_lease = silent  # type: ignore[method-assign]  # an outage
    for minute in range(2):
        assert len(warm.minute(TWO + minute * MINUTE, shards=2)) == 2 * everything


def test_what_was_laid_by_a_clock_that_turns_out_wrong_is_laid_anew() -> None:
    """The store is silent when the time is asked, and then tells it: this clock is a minute ahead, so that every tick
    comes a minute early, and is refused. Once the clock is right, each of those slots gets its tick after all.
    """
    warm = Warm()
    warm.store.state.skew_ms = None
    asked: list[int] = []

    def at_last_heard(shard: int) -> None:
        asked.append(shard)
        if len(asked) <= MAX_ASKS:
            raise NoAnswer("the store is out")
        warm.store.state.skew_ms = MINUTE

    warm.store.get_lease = at_last_heard  # type: ignore[method-assign]  # an outage that ends
    assert warm.minute(TWO + MINUTE)[0].slot_at == TWO + MINUTE
    warm.store.state.skew_ms = 0
    assert [tick.slot_at for tick in warm.minute(TWO + MINUTE)] == list(
        range(TWO + MINUTE, TWO + MINUTE + HORIZON, SLOT)
    )


def silent(_: int) -> None:
    """A store that is out."""
    raise NoAnswer("the store is out")


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

"""Request rates: never more than the limit, whatever process is asked, and few writes for many requests."""

from typing import Any

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.ports.job_store import NoAnswer
from cronfleet.services.request_rates import BURST_SECONDS, FEWEST, MAX_KEYS, RequestRates
from tests.support.faults import Faulty
from tests.support.settable_clock import NOON, SettableClock


class Counting:
    """A store that counts the writes."""

    def __init__(self) -> None:
        self._store = MemoryJobStore(SettableClock())
        self.writes = 0

    def draw(self, *arguments: Any, **limits: Any) -> Any:
        self.writes += 1
        return self._store.draw(*arguments, **limits)


def allowed(rates: RequestRates, count: int, per_second: int, now: int) -> int:
    return sum(rates.wait("key#k1", per_second, now) == 0 for _ in range(count))


def test_a_burst_of_ten_seconds_may_come_at_once_and_no_request_more() -> None:
    store = Counting()
    assert 50 * BURST_SECONDS - FEWEST < allowed(RequestRates(store), 2_000, 50, NOON) <= 50 * BURST_SECONDS
    assert store.writes < 50


def test_many_processes_together_let_no_more_through_than_one() -> None:
    store = Counting()
    processes = [RequestRates(store) for _ in range(8)]
    let_through = sum(allowed(processes[number % 8], 1, 50, NOON) for number in range(4_000))
    assert 50 * BURST_SECONDS - 32 <= let_through <= 50 * BURST_SECONDS


def test_in_the_long_run_the_rate_holds_and_a_write_is_made_for_several_requests() -> None:
    store = Counting()
    rates = RequestRates(store)
    allowed(rates, 1_000, 50, NOON)
    store.writes = 0
    through = sum(allowed(rates, 1, 50, NOON + step * 5) for step in range(1, 12_001))  # 200 a second for a minute
    assert 50 * 60 - 50 <= through <= 50 * 60
    assert store.writes < through / 7


def test_whoever_is_refused_may_ask_again_when_it_was_told_to() -> None:
    rates = RequestRates(Counting())
    allowed(rates, 1_000, 2, NOON)
    wait = rates.wait("key#k1", 2, NOON)
    assert 0 < wait <= 2 * SECOND
    assert rates.wait("key#k1", 2, NOON + wait - 1) > 0
    assert rates.wait("key#k1", 2, NOON + wait) == 0


def test_a_slow_key_costs_at_most_a_write_a_minute_and_one_for_four_requests() -> None:
    store = Counting()
    rates = RequestRates(store)
    for number in range(60):
        assert rates.wait("key#k1", 50, NOON + number * 10 * SECOND) == 0
    assert store.writes == 15


def test_one_key_takes_nothing_from_another() -> None:
    rates = RequestRates(Counting())
    allowed(rates, 1_000, 5, NOON)
    assert rates.wait("key#k2", 5, NOON) == 0


def test_what_is_drawn_is_not_kept_for_ever_nor_by_a_clock_that_is_set_back() -> None:
    store = Counting()
    rates = RequestRates(store)
    rates.wait("key#k1", 50, NOON)
    rates.wait("key#k1", 50, NOON + MINUTE)
    rates.wait("key#k1", 50, NOON - MINUTE)
    assert store.writes == 3


def test_a_silent_store_keeps_nobody_out() -> None:
    def silent(_when: str, _name: str) -> None:
        raise NoAnswer

    rates = RequestRates(Faulty(MemoryJobStore(SettableClock()), silent))
    assert allowed(rates, 100, 5, NOON) == 100


def test_a_process_remembers_so_many_keys_and_no_more() -> None:
    rates = RequestRates(Counting())
    for number in range(MAX_KEYS + 10):
        rates.wait(f"key#{number}", 50, NOON)
    assert len(rates._draws) == MAX_KEYS

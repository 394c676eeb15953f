"""The clock and the ids of a real process."""

import time_machine

from cronfleet.adapters.system.clock import SystemClock, SystemIds
from cronfleet.domain.audit import id_prefix
from tests.support.settable_clock import NOON


def test_the_clock_counts_milliseconds() -> None:
    with time_machine.travel(NOON / 1000 + 0.2504, tick=False):
        assert SystemClock().now() == NOON + 250


def test_waiting_ends_at_the_instant_and_is_none_for_one_that_is_past() -> None:
    clock = SystemClock()
    until = clock.now() + 50
    clock.wait_until(until)
    assert until <= clock.now() < until + 5_000
    clock.wait_until(until)


def test_ids_sort_by_the_time_they_were_made() -> None:
    made = []
    with time_machine.travel(NOON / 1000, tick=False) as traveller:
        for _ in range(200):
            made.append(SystemIds().unique())
            traveller.shift(0.001)
    assert made == sorted(made)


def test_an_id_begins_with_its_time_as_the_audit_log_is_searched_by_it() -> None:
    with time_machine.travel(NOON / 1000, tick=False):
        assert SystemIds().unique().startswith(id_prefix(NOON))


def test_ids_are_short_plain_and_never_the_same() -> None:
    made = {SystemIds().unique() for _ in range(1_000)}
    assert len(made) == 1_000
    assert all(len(one) == 26 and one.isalnum() and one.islower() and one.isascii() for one in made)

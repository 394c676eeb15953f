"""Rates: lines, the places in them, and the shares of shards beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.dispatch_plan import LOOK_AHEAD
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.rate import AHEAD, MICROSECONDS, Rate
from tests.support.settable_clock import NOON

RATES = st.builds(Rate, st.integers(1, 10_000), st.integers(1, 100_000))
SHARDS = st.integers(1, 1_024)
STANDARD = Rate(100, 2_500)


def test_a_shard_lets_its_part_of_half_the_rate_through_rounded_down() -> None:
    assert [STANDARD.share(shards) for shards in (1, 2, 64, 250, 251)] == [250, 125, 3, 1, 0]


def test_dispatchers_look_as_far_ahead_as_places_are_given() -> None:
    assert AHEAD == LOOK_AHEAD


@given(RATES, SHARDS)
def test_shares_and_line_together_never_pass_the_rate(rate: Rate, shards: int) -> None:
    pace = rate.pace(shards)
    of_line = SLOT * MICROSECONDS / pace.spacing
    assert rate.share(shards) * shards + of_line <= rate.per_second * SLOT / SECOND
    assert pace.burst >= 1


@given(RATES, SHARDS)
def test_after_a_rest_no_more_than_the_burst_come_at_once_if_it_is_ten_seconds_worth(rate: Rate, shards: int) -> None:
    pace = rate.pace(shards)
    shared, ahead = rate.share(shards) * shards, AHEAD * MICROSECONDS // pace.spacing
    at_once = shared + pace.room(pace.floor(NOON), NOON + AHEAD)
    assert at_once <= max(rate.burst, shared + ahead + 1)


@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(1, 40)), max_size=60))
def test_no_minute_has_more_places_than_its_rate_and_one_burst(draws: list[tuple[int, int]]) -> None:
    rate = Rate(10, 20)
    pace = rate.pace()
    at, now, given_out = 0, NOON, list[int]()
    for wait, count in draws:
        now += wait
        start = max(at, pace.floor(now))
        at = start + pace.span(count)
        given_out += pace.places(start, count, now)
    assert all(place % SECOND == 0 for place in given_out)
    given_out.sort()
    for number in range(0, len(given_out), 7):
        within = [place for place in given_out[number:] if place < given_out[number] + MINUTE]
        assert len(within) <= rate.per_second * 61 + rate.burst, "a second more, to which places are rounded up"


def test_room_is_what_a_line_has_free_by_then() -> None:
    pace = Rate(10, 20).pace()
    assert pace.room(pace.floor(NOON), NOON) == 20
    assert pace.room(NOON * MICROSECONDS + 1, NOON) == 0
    assert pace.room(NOON * MICROSECONDS, NOON + SECOND) == 11


@pytest.mark.parametrize(("per_second", "burst", "shards"), [(100, 2_500, 64), (100, 2_500, 1), (500, 10_000, 8)])
def test_two_ticks_right_after_each_other_and_the_line_beside_them_give_no_more_than_the_burst(
    per_second: int, burst: int, shards: int
) -> None:
    rate = Rate(per_second, burst)
    pace = rate.pace(shards)
    from_line = pace.room(pace.floor(NOON), NOON + AHEAD)
    assert 2 * rate.share(shards) * shards + from_line <= burst

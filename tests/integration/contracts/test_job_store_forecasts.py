"""What every job store promises about forecasts: readings of shards and of all, and the walk that makes them."""

from array import array
from dataclasses import replace
from typing import Any

from cronfleet.domain.forecast import COUNTER, Counts
from cronfleet.domain.forecast_reading import OTHERS, Reading, Walk
from cronfleet.domain.instant import HOUR, MINUTE
from tests.support.settable_clock import NOON

WALK = Walk(NOON, 64, 3, NOON + MINUTE, "onwards", rev=1)


def counted(fires: int) -> Counts:
    hours = {"acme": array(COUNTER, [fires, 0]), OTHERS: array(COUNTER, [0, 2**40])}
    return Counts(NOON, NOON + 2 * HOUR, array(COUNTER, [fires, *[0] * 118, 2**40]), hours, 7, 1)


def test_a_reading_is_kept_exactly_and_replaced_by_the_next(store: Any) -> None:
    assert store.get_forecast() is None
    assert list(store.list_forecasts()) == []
    whole = Reading(None, NOON, NOON + 1, counted(5))
    tenth, second = Reading(10, NOON, NOON + 1, counted(1)), Reading(2, NOON, NOON + 1, counted(2))
    for reading in (tenth, whole, second):
        store.put_forecast(reading)
    assert store.get_forecast() == whole
    assert list(store.list_forecasts()) == [second, tenth]
    assert list(store.list_forecasts(consistent=True)) == [second, tenth]
    later = replace(tenth, started_at=NOON + HOUR, counts=counted(0))
    store.put_forecast(later)
    assert list(store.list_forecasts()) == [second, later]


def test_of_two_sweeps_that_walk_on_from_the_same_place_one_notes_it(store: Any) -> None:
    assert store.get_forecast_walk() is None
    assert store.put_forecast_walk(WALK)
    assert store.get_forecast_walk() == WALK
    on = replace(WALK, shard=4, cursor=None, counts=counted(3), rev=2)
    assert store.put_forecast_walk(on)
    assert store.put_forecast_walk(on), "its own reply was lost"
    assert not store.put_forecast_walk(replace(on, shard=5))
    assert not store.put_forecast_walk(replace(WALK, shard=9))
    assert store.get_forecast_walk() == on
    over = replace(on, shard=64, counts=None, finished_at=NOON + HOUR, rev=3)
    assert store.put_forecast_walk(over)
    assert store.get_forecast_walk() == over

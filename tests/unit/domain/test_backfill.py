"""Which dates a backfill has, in which order, and which of them run."""

from dataclasses import replace
from itertools import islice

import pytest

from cronfleet.domain.backfill import Mode, Order, Place, Standing, Window, counts_for_date, dates, is_wanted, standing
from cronfleet.domain.instant import DAY, HOUR, SECOND, to_text
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Spec
from tests.support.builders import at, cron, definition, every

NOON = at("2026-11-30 12:00")
DAILY = definition(cron("30 2 * * *", "Europe/Paris")).spec
HOURLY = definition(cron("0 * * * *")).spec


def listed(*specs: Spec, order: Order, from_at: int, to_at: int, after: Place | None = None) -> list[Place]:
    return list(dates(specs, Window(from_at, to_at, order), after))


def test_the_first_moment_is_meant_and_the_last_is_not() -> None:
    found = listed(HOURLY, order=Order.OLDEST, from_at=NOON, to_at=NOON + 2 * HOUR)
    assert [place.nominal_at for place in found] == [NOON, NOON + HOUR]


def test_changes_of_the_clock_are_those_of_the_trigger() -> None:
    found = listed(DAILY, order=Order.OLDEST, from_at=at("2026-03-28 00:00"), to_at=at("2026-03-31 00:00"))
    assert [to_text(place.nominal_at) for place in found] == [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",  # 02:30 did not exist that day: the first instant after it.
        "2026-03-30T00:30:00Z",
    ]


@pytest.mark.parametrize("order", Order)
def test_every_way_through_has_each_date_once_however_often_it_is_taken_up_again(order: Order) -> None:
    specs = [HOURLY, DAILY, replace(HOURLY, start_at=NOON - 3 * HOUR, end_at=NOON - HOUR), definition(every(600)).spec]
    window = Window(NOON - DAY, NOON, order)
    whole = list(dates(specs, window))
    assert len(whole) == len(set(whole)) == 24 + 1 + 3 + 144
    taken: list[Place] = []
    while some := list(islice(dates(specs, window, taken[-1] if taken else None), 7)):
        taken += some
    assert taken == whole
    assert [place.nominal_at for place in whole] == sorted(
        (place.nominal_at for place in whole), reverse=order is Order.NEWEST
    )


def test_the_newest_first_is_the_oldest_first_backwards() -> None:
    window = {"from_at": NOON - 30 * DAY, "to_at": NOON}
    oldest = listed(DAILY, order=Order.OLDEST, **window)
    assert listed(DAILY, order=Order.NEWEST, **window) == oldest[::-1]


def test_a_place_is_kept_as_text() -> None:
    assert Place.parse(str(Place(NOON, 7))) == Place(NOON, 7)


def row(status: RunStatus, cause: str = "schedule") -> Run:
    return Run(RunKey("acme", "nightly", 1, NOON, cause), status, due_at=NOON, tier="standard")


R = RunStatus
TABLE = [
    ([], Standing.OPEN, (True, False, True)),
    ([R.SKIPPED], Standing.OPEN, (True, False, True)),
    ([R.CANCELLED], Standing.OPEN, (True, False, True)),
    ([R.DEAD], Standing.FAILED, (True, True, True)),
    ([R.REFUSED], Standing.FAILED, (True, True, True)),
    ([R.DEAD, R.QUEUED], Standing.GOING, (False, False, True)),
    ([R.WAITING], Standing.GOING, (False, False, True)),
    ([R.SUCCEEDED], Standing.SUCCEEDED, (False, False, True)),
    ([R.DEAD, R.SUCCEEDED], Standing.SUCCEEDED, (False, False, True)),
    ([R.SUCCEEDED, R.RUNNING], Standing.SUCCEEDED, (False, False, True)),
]


@pytest.mark.parametrize(("statuses", "stands", "wanted"), TABLE)
def test_what_a_date_is_by_its_rows_says_whether_it_runs(
    statuses: list[RunStatus], stands: Standing, wanted: tuple[bool, bool, bool]
) -> None:
    assert standing(map(row, statuses)) is stands
    modes = (Mode.SKIP_SUCCEEDED, Mode.REDO_FAILED, Mode.REDO_ALL)
    assert tuple(is_wanted(mode, stands) for mode in modes) == wanted


def test_a_run_now_and_a_range_say_nothing_about_a_date() -> None:
    assert not counts_for_date(row(R.SUCCEEDED, "manual-7"))
    assert not counts_for_date(replace(row(R.MISSED), until_nominal_at=NOON + SECOND))
    assert all(counts_for_date(row(R.SUCCEEDED, cause)) for cause in ("schedule", "rerun-7", "backfill-o1"))

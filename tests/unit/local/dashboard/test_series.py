"""Series are summed up as CloudWatch sums them up, and searched by their dimensions."""

import pytest

from infra.metrics import Expression, Metric, Search
from local.dashboard.formula import evaluated
from local.dashboard.reading import is_counted, line_of, lines_found, value_of
from local.dashboard.series import KEPT_SECONDS, MOST_SERIES, Series, percentile

AT = 1_796_040_000.0
LAG = Metric("Cronfleet", "lag", (("tier", "standard"), ("service", "worker")), "p99")


def with_lags(*values: float) -> Series:
    series = Series()
    series.add("Cronfleet", "lag", {"service": "worker", "tier": "standard"}, values, AT)
    return series


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("Sum", 10), ("Average", 2.5), ("Minimum", 1), ("Maximum", 4), ("SampleCount", 4), ("p50", 2.5), ("p99", 3.97)],
)
def test_a_statistic_of_a_period(statistic: str, expected: float) -> None:
    metric = Metric("Cronfleet", "lag", LAG.dimensions, statistic)  # type: ignore[arg-type]  # all are statistics
    assert with_lags(4, 2, 1, 3).value(metric, AT, AT + 60) == pytest.approx(expected)


def test_a_period_without_values_has_none_and_dimensions_may_stand_in_any_order() -> None:
    series = with_lags(1)
    assert series.value(LAG, AT - 60, AT) is None
    assert series.value(LAG, AT, AT + 60) == 1
    assert series.value(Metric("Cronfleet", "lag", (("service", "worker"),)), AT, AT + 60) is None


def test_what_is_old_is_forgotten_and_there_is_an_end_to_series() -> None:
    series = with_lags(1)
    series.add("Cronfleet", "lag", dict(LAG.dimensions), [2], AT + KEPT_SECONDS + 60)
    assert series.value(LAG, AT, AT + 60) is None
    for number in range(MOST_SERIES + 5):
        series.add("Cronfleet", "many", {"n": str(number)}, [1], AT)
    assert len(list(series.found(Search("Cronfleet", "many", "n")))) == MOST_SERIES - 1


def test_a_search_finds_what_has_exactly_its_dimensions_and_adds_up_by_one() -> None:
    series = Series()
    for service, status, value in (("worker", "dead", 1), ("dead_letters", "dead", 2), ("worker", "succeeded", 5)):
        series.add("Cronfleet", "runs_ended", {"service": service, "status": status}, [value], AT)
    series.add("Cronfleet", "runs_ended", {"status": "dead"}, [100], AT)
    found = lines_found(series, Search("Cronfleet", "runs_ended", "status", others=("service",)), [AT - 60, AT], 60)
    assert found == [("dead", [0.0, 3.0]), ("succeeded", [0.0, 5.0])]
    one = Search("Cronfleet", "runs_ended", "status", fixed=(("service", "worker"),))
    assert [values[-1] for _, values in lines_found(series, one, [AT], 60)] == [1.0, 5.0]


def test_silence_of_a_count_is_nought_and_of_a_measure_nothing() -> None:
    series = with_lags(1)
    counted = Metric("Cronfleet", "lag", LAG.dimensions, "SampleCount")
    assert line_of(series, counted, [AT - 60, AT], 60) == [0.0, 1.0]
    assert line_of(series, LAG, [AT - 60, AT], 60) == [None, 1.0]
    assert line_of(Series(), counted, [AT], 60) == [None], "of what was never told nothing is known"
    assert not is_counted(Expression("a / b", (("a", counted), ("b", counted))))


def test_an_expression_is_what_its_text_says() -> None:
    series = with_lags(2, 4)
    total, none = Metric("Cronfleet", "lag", LAG.dimensions), Metric("Cronfleet", "silent", ())
    sums = Expression("0.5 * SUM([a,b]) / SUM([a])", (("a", total), ("b", none)))
    assert value_of(series, sums, AT, AT + 60) == 0.5
    assert evaluated("(a - 1) * 2 + b", {"a": 3.0, "b": 1.0}) == 5
    assert evaluated("a / b", {"a": 1.0, "b": 0.0}) is None
    assert evaluated("SUM([a,b])", {"a": None, "b": None}) is None
    for text in ("a ** b", "MAX([a,b])", "open('x')", "'a'"):
        with pytest.raises(ValueError, match="write numbers, ids"):
            evaluated(text, {"a": 1.0, "b": 1.0})


def test_a_percentile_lies_between_the_nearest_ranks() -> None:
    assert percentile([], 50) is None
    assert percentile([7], 99) == 7
    assert percentile([0, 10], 50) == 5

"""Reads series as alarms and charts name them: plain ones, expressions, and searches."""

from collections.abc import Sequence

from infra.metrics import Expression, Metric, Search, metrics_of
from local.dashboard.formula import Value, evaluated
from local.dashboard.series import Series


def value_of(series: Series, metric: Metric | Expression, since: float, until: float) -> Value:
    """What it comes to from `since` up to and without `until`."""
    if isinstance(metric, Metric):
        return series.value(metric, since, until)
    values = {name: series.value(one, since, until) for name, one in metrics_of(metric).items()}
    return evaluated(metric.text, values)


def line_of(series: Series, metric: Metric | Expression, starts: Sequence[float], step: float) -> list[Value]:
    """Its values in steps that begin at `starts`. What is counted and has no value was nothing."""
    found = [value_of(series, metric, start, start + step) for start in starts]
    return filled(found) if is_counted(metric) else found


def is_counted(metric: Metric | Expression | Search) -> bool:
    """Whether silence means nought: of a count it does, of a measure nothing is known."""
    if isinstance(metric, Expression):
        return "/" not in metric.text and all(is_counted(one) for _, one in metric.metrics)
    return metric.statistic in {"Sum", "SampleCount"}


def filled(values: Sequence[Value]) -> list[Value]:
    """With noughts for what is missing, where anything is known at all."""
    if all(value is None for value in values):
        return list(values)
    return [0.0 if value is None else value for value in values]


def lines_found(series: Series, search: Search, starts: Sequence[float], step: float) -> list[tuple[str, list[Value]]]:
    """A line for each value of the dimension a search goes by; several series of one value are added up."""
    lines = []
    for label, metrics in series.found(search):
        found = [_together(series, metrics, start, start + step) for start in starts]
        lines.append((label, filled(found) if is_counted(search) else found))
    return lines


def _together(series: Series, metrics: Sequence[Metric], since: float, until: float) -> Value:
    known = [value for one in metrics if (value := series.value(one, since, until)) is not None]
    return sum(known) if known else None

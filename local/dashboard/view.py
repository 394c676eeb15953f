"""The dashboard's rows with their values, as the page draws them: it need not know what a metric is."""

from collections.abc import Sequence
from typing import Any, Final

from infra.dashboard import Chart, Figures, Line, Row, States, Top, Widget
from infra.metrics import DYNAMODB, Expression, Metric, Search, metrics_of
from local.dashboard.formula import Value
from local.dashboard.judge import Bench
from local.dashboard.reading import line_of, lines_found
from local.dashboard.recorder import Recorder

STEPS: Final = {900: 10, 3_600: 30, 10_800: 60}
"""What the page may show, in seconds, and how far apart the points are then."""

DIGITS: Final = 6

ORDER: Final = {"ALARM": 0, "INSUFFICIENT_DATA": 1, "OK": 2}


class View:
    """What stands where, for a window of time that ends now."""

    def __init__(self, rows: Sequence[Row], recorder: Recorder, bench: Bench, born_at: float) -> None:
        self._rows = rows
        self._recorder = recorder
        self._bench = bench
        self._born_at = born_at

    def at(self, now: float, window: int) -> dict[str, Any]:
        """Everything for the page. A point sums up what its line's period says, ending there."""
        step = STEPS[window]
        ends = [now // step * step - step * number for number in range(window // step)][::-1]
        return {
            "now": now,
            "window": window,
            "times": ends,
            "born_at": self._born_at,
            "alarms": self._alarms(),
            "rows": [self._row(row, ends, now, window) for row in self._rows],
        }

    def _alarms(self) -> list[dict[str, Any]]:
        shown = []
        for spec in self._bench.specs:
            verdict = self._bench.verdicts.get(spec.name)
            state = verdict.state.value if verdict else "INSUFFICIENT_DATA"
            reason = verdict.reason if verdict else ""
            since = self._bench.since.get(spec.name)
            shown.append({"name": spec.name, "state": state, "summary": spec.summary, "reason": reason, "since": since})
        return sorted(shown, key=lambda one: ORDER[one["state"]])

    def _row(self, row: Row, ends: Sequence[float], now: float, window: int) -> dict[str, Any]:
        widgets = [self._widget(widget, ends, now, window) for widget in row.widgets]
        return {"title": row.title, "about": row.about, "widgets": widgets}

    def _widget(self, widget: Widget, ends: Sequence[float], now: float, window: int) -> dict[str, Any]:
        told: dict[str, Any] = {"title": widget.title, "about": widget.about, "kind": type(widget).__name__.lower()}
        if isinstance(widget, States):
            return told
        if isinstance(widget, Top):
            found = self._recorder.top(widget, now, window)
            return {**told, "unit": "seconds" if widget.value == "lag" else "count", "top": found}
        if isinstance(widget, Figures):
            lines = [line for one in widget.lines for line in self._lines(one, ends[-1:])]
        else:
            lines = [line for one in widget.lines for line in self._lines(one, ends)]
        told |= {"unit": widget.unit, "lines": lines, "only_on_aws": _is_only_on_aws(widget)}
        return {**told, "shape": widget.shape} if isinstance(widget, Chart) else told

    def _lines(self, line: Line | Search, ends: Sequence[float]) -> list[dict[str, Any]]:
        series = self._recorder.series
        if isinstance(line, Search):
            period = line.period_seconds
            found = lines_found(series, line, [end - period for end in ends], period)
        else:
            period = line.metric.period_seconds
            found = [(line.label, line_of(series, line.metric, [end - period for end in ends], period))]
        return [{"label": label, "values": self._shown(values, ends)} for label, values in found]

    def _shown(self, values: Sequence[Value], ends: Sequence[float]) -> list[Value]:
        return [
            None if value is None or end < self._born_at else round(value, DIGITS)
            for value, end in zip(values, ends, strict=True)
        ]


def _is_only_on_aws(widget: Chart | Figures) -> bool:
    """Whether it needs what DynamoDB tells CloudWatch: the emulator counts no units and throttles nothing."""
    metrics: list[Metric | Expression] = [line.metric for line in widget.lines if isinstance(line, Line)]
    return any(one.namespace == DYNAMODB for metric in metrics for one in metrics_of(metric).values())

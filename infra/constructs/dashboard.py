"""Dashboard: the rows of `infra/dashboard.py` as CloudWatch has them."""

from collections.abc import Sequence
from typing import Final

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch
from constructs import Construct

from cronfleet import settings
from infra.config.installation import Config
from infra.constructs.series import series
from infra.dashboard import COLUMNS, LINE, MOST_IN_TOP, Chart, Figures, Line, Row, States, Top, Unit, Widget, dashboard
from infra.metrics import Search

HEIGHT: Final = 6
WIDTH: Final = COLUMNS // 3

UNITS: Final[dict[Unit, str]] = {"seconds": "seconds", "count": "", "percent": "%", "dollars": "$"}


class Dashboard(Construct):
    """The dashboard `<prefix>-<region>`, with the state of `alarms` at its head."""

    def __init__(
        self, scope: Construct, construct_id: str, config: Config, alarms: Sequence[cloudwatch.IAlarm]
    ) -> None:
        super().__init__(scope, construct_id)
        self._alarms = alarms
        self._logs = [f"/aws/lambda/{config.prefix}-worker-{queue}" for queue in settings.FUNCTION_QUEUES]
        if config.long_workers.enabled and not config.local:
            self._logs.append(f"/aws/ecs/{config.prefix}-long-worker")
        self.dashboard = cloudwatch.Dashboard(
            self,
            "Dashboard",
            # Dashboards are the account's, in all regions: another region's installation may have the same prefix.
            dashboard_name=f"{config.prefix}-{cdk.Stack.of(self).region}",
            default_interval=cdk.Duration.hours(3),
            period_override=cloudwatch.PeriodOverride.INHERIT,
        )
        for row in dashboard(config):
            self.dashboard.add_widgets(_heading(row))
            self.dashboard.add_widgets(*(self._drawn(widget) for widget in row.widgets))

    def _drawn(self, widget: Widget) -> cloudwatch.IWidget:
        if isinstance(widget, Chart):
            return _graph(widget)
        if isinstance(widget, Figures):
            return cloudwatch.SingleValueWidget(
                title=widget.title,
                metrics=_lines(widget.lines),
                width=COLUMNS - WIDTH,
                height=HEIGHT,
                full_precision=False,
            )
        if isinstance(widget, States):
            return cloudwatch.AlarmStatusWidget(title=widget.title, alarms=self._alarms, width=COLUMNS, height=HEIGHT)
        return cloudwatch.LogQueryWidget(
            title=widget.title,
            log_group_names=self._logs,
            query_lines=query(widget),
            view=cloudwatch.LogQueryVisualizationType.TABLE,
            width=COLUMNS // 4,
            height=HEIGHT,
        )


def query(top: Top) -> list[str]:
    """The lines of the Logs Insights query that finds it."""
    only = f" and outcome in [{', '.join(repr(one) for one in top.only)}]" if top.only else ""
    weight = "coalesce(weight, 1)"
    what = f"sum(lag_seconds * {weight})" if top.value == "lag" else f"sum({weight})"
    return [
        f"filter message = '{LINE}'{only}",
        f"stats {what} as found by {top.field}",
        "sort found desc",
        f"limit {MOST_IN_TOP}",
    ]


def _heading(row: Row) -> cloudwatch.TextWidget:
    return cloudwatch.TextWidget(markdown=f"## {row.title}\n{row.about}", width=COLUMNS, height=2)


def _graph(chart: Chart) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(
        title=chart.title,
        left=_lines(chart.lines),
        stacked=chart.shape == "stacked",
        left_y_axis=cloudwatch.YAxisProps(label=UNITS[chart.unit], min=0, show_units=False),
        width=WIDTH,
        height=HEIGHT,
    )


def _lines(lines: Sequence[Line | Search]) -> list[cloudwatch.IMetric]:
    return [series(one) if isinstance(one, Search) else series(one.metric, one.label) for one in lines]

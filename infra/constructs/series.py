"""Series: the metrics of `infra/metrics.py` in the CDK's words."""

import re
from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cloudwatch

from infra.metrics import Expression, Metric, Search


def series(metric: Metric | Expression | Search, label: str | None = None) -> cloudwatch.IMetric:
    """What an alarm or a widget takes, under `label` where it has one."""
    if isinstance(metric, Metric):
        return _plain(metric, label)
    if isinstance(metric, Search):
        # The legend says the value of the dimension that tells the lines apart.
        return _math(_searching(metric), {}, metric.period_seconds, f"${{PROP('Dim.{metric.by}')}}")
    used: dict[str, cloudwatch.IMetric] = {name: _plain(one, None) for name, one in metric.metrics}
    return _math(metric.text, used, metric.period_seconds, label)


def _plain(metric: Metric, label: str | None) -> cloudwatch.Metric:
    return cloudwatch.Metric(
        namespace=metric.namespace,
        metric_name=metric.name,
        dimensions_map=dict(metric.dimensions),
        statistic=metric.statistic,
        period=cdk.Duration.seconds(metric.period_seconds),
        label=label,
    )


def _math(
    text: str, metrics: Mapping[str, cloudwatch.IMetric], period_seconds: int, label: str | None
) -> cloudwatch.MathExpression:
    period = cdk.Duration.seconds(period_seconds)
    return cloudwatch.MathExpression(expression=text, using_metrics=metrics, period=period, label=label)


def _searching(search: Search) -> str:
    schema = ",".join(_quoted(name) for name in (search.namespace, *search.dimensions))
    terms = "".join(f' {_quoted(name)}="{value}"' for name, value in search.fixed)
    query = f'{{{schema}}} MetricName="{search.name}"{terms}'
    return f"SEARCH('{query}', '{search.statistic}', {search.period_seconds})"


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_/]+", name) else f'"{name}"'

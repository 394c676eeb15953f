"""Carries the functions' metrics to the emulator's CloudWatch, which does not look for them in log lines.

On AWS, CloudWatch takes metrics out of log lines in the embedded metric format by itself.
"""

from collections.abc import Iterator
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local.aws import Aws

MARK: Final = "_aws"
PUT: Final = "Put"
"""Marks a line that tells what has been put into the emulator's CloudWatch, and need not be put there again."""
BATCH: Final = 500
"""Values per request; CloudWatch takes 1,000 (PutMetricData)."""

Datum = dict[str, Any]


class Forwarder:
    """Collects the metrics in log records and hands them on, by namespace, at each `flush`."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws
        self._waiting: dict[str, list[Datum]] = {}

    def take(self, record: dict[str, Any]) -> None:
        """Keep the metrics of `record`, if it has any."""
        mark = record.get(MARK)
        if isinstance(mark, dict) and mark.get(PUT):
            return
        for namespace, datum in data_in(record):
            self._waiting.setdefault(namespace, []).append(datum)

    def flush(self) -> None:
        """Send what has been collected. Metrics are a convenience here: one that is refused is dropped."""
        waiting, self._waiting = self._waiting, {}
        for namespace, data in waiting.items():
            for first in range(0, len(data), BATCH):
                self._send(namespace, data[first : first + BATCH])

    def _send(self, namespace: str, data: list[Datum]) -> None:
        try:
            self._aws.client("cloudwatch").put_metric_data(Namespace=namespace, MetricData=data)
        except (ClientError, BotoCoreError):
            return


def data_in(record: dict[str, Any]) -> Iterator[tuple[str, Datum]]:
    """Namespace and value of each metric in a log record of the embedded metric format, per set of dimensions."""
    mark = record.get(MARK)
    for directive in mark.get("CloudWatchMetrics", ()) if isinstance(mark, dict) else ():
        for names in directive.get("Dimensions") or [[]]:
            dimensions = [{"Name": name, "Value": str(record[name])} for name in names if name in record]
            for metric in directive.get("Metrics", ()):
                yield from ((directive["Namespace"], datum) for datum in _data(record, metric, dimensions))


def _data(record: dict[str, Any], metric: dict[str, Any], dimensions: list[Datum]) -> Iterator[Datum]:
    value = record.get(metric["Name"])
    values = value if isinstance(value, list) else [value]
    if all(isinstance(each, int | float) for each in values):
        yield {
            "MetricName": metric["Name"],
            "Unit": metric.get("Unit", "None"),
            "Values": values,
            "Timestamp": record[MARK]["Timestamp"] / 1000,
            "Dimensions": dimensions,
        }

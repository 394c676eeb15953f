"""Telemetry as log lines: structured ones for people, and metrics in the embedded format that CloudWatch extracts.

Each is written at once: a worker that is killed has told all it knew.
"""

import logging
from typing import Final

from aws_lambda_powertools import Logger, single_metric
from aws_lambda_powertools.metrics import MetricUnit

NAMESPACE: Final = "Cronfleet"

_TAKEN: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})
"""Names that a log record has itself; the logging module raises on a field that would hide one."""


class CloudWatchTelemetry:
    """What `part` (the word that names it everywhere) tells those who watch it."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._logger = Logger(service=part)

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add `value` to a counter."""
        self._put(metric, MetricUnit.Count, value, dimensions)

    def measure(self, metric: str, seconds: float, **dimensions: str) -> None:
        """One observation of a duration."""
        self._put(metric, MetricUnit.Seconds, seconds, dimensions)

    def event(self, name: str, **fields: object) -> None:
        """One structured log line."""
        self._logger.info(name, extra=_loggable(fields))

    def alarm(self, name: str, **fields: object) -> None:
        """A log line at error level, and a counter of the same name."""
        self._logger.error(name, extra=_loggable(fields))
        self.count(name)

    def _put(self, metric: str, unit: MetricUnit, value: float, dimensions: dict[str, str]) -> None:
        named = {"service": self._part, **dimensions}
        with single_metric(metric, unit, value, namespace=NAMESPACE, default_dimensions=named):
            pass


def _loggable(fields: dict[str, object]) -> dict[str, object]:
    return {f"{name}_" if name in _TAKEN else name: value for name, value in fields.items()}

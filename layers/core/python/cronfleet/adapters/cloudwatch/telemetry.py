"""Telemetry as log lines: structured ones for people, and metrics in the embedded format that CloudWatch extracts.

Each is written at once: a worker that is killed has told all it knew.
"""

import functools
import json
import logging
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Final

from aws_lambda_powertools import Logger

from cronfleet.ports.clock import Clock

COUNT: Final = "Count"
SECONDS: Final = "Seconds"
"""Units as CloudWatch calls them."""

SERVICE: Final = "service"
"""The dimension that every metric has but the total of an alarm: which part tells it."""

FIELD_ONLY: Final = "shard"
"""Said in the line, where a query finds it, and no dimension: each of a counter's shards would be a paid series."""

SERIES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {"lag": ((SERVICE, "tier"), (SERVICE, "shard"))}
"""The sets of dimensions of a metric that has several: lag is looked at by tier, and by shard."""

PACKAGE: Final = "cronfleet"
"""Every logger of the package is named by its module, and so stands below this one."""

_TAKEN: Final = frozenset({*vars(logging.makeLogRecord({})), "message", "asctime"})
"""Names that a log record has itself; the logging module raises on a field that would hide one."""


class CloudWatchTelemetry:
    """What `part` (the word that names it everywhere) tells those who watch it, under the installation's namespace."""

    def __init__(self, part: str, namespace: str, clock: Clock) -> None:
        self._part = part
        self._namespace = namespace
        self._clock = clock
        self._logger = _logger(part)
        # What the package's own loggers say comes out as the rest does: one object in one line, a traceback inside it.
        # Otherwise it would be text, in which whoever made an error's message could end a line and begin another.
        package = logging.getLogger(PACKAGE)
        package.handlers[:], package.propagate = self._logger.handlers, False

    def count(self, metric: str, value: int = 1, **dimensions: str) -> None:
        """Add `value` to a counter."""
        self.tally({metric: value}, **dimensions)

    def tally(self, values: Mapping[str, int], **dimensions: str) -> None:
        """Add to several counters by one line."""
        self._put(values, COUNT, dimensions, _series(next(iter(values)), dimensions))

    def measure(self, metric: str, seconds: float, **dimensions: str) -> None:
        """One observation of a duration."""
        self._put({metric: seconds}, SECONDS, dimensions, _series(metric, dimensions))

    def event(self, name: str, **fields: object) -> None:
        """One structured log line."""
        self._logger.info(name, extra=_loggable(fields))

    def about(self, **fields: object) -> AbstractContextManager[None]:
        """Each log line has `fields` meanwhile, whichever logger of this part writes it."""
        said = {name: value for name, value in _loggable(fields).items() if value is not None}
        return self._logger.append_context_keys(**said)

    def alarm(self, name: str, **fields: object) -> None:
        """A log line at error level, and a counter of the same name: each part's, and the total that an alarm reads."""
        self._logger.error(name, extra=_loggable(fields))
        self._put({name: 1}, COUNT, {}, [[], [SERVICE]])

    def _put(
        self, values: Mapping[str, float], unit: str, dimensions: Mapping[str, str], series: list[list[str]]
    ) -> None:
        metrics = [{"Name": name, "Unit": unit} for name in values]
        directive = {"Namespace": self._namespace, "Dimensions": series, "Metrics": metrics}
        line = {
            "_aws": {"Timestamp": self._clock.now(), "CloudWatchMetrics": [directive]},
            SERVICE: self._part,
            **dimensions,
            **{name: [value] for name, value in values.items()},
        }
        sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
        sys.stdout.flush()


@functools.cache
def _logger(part: str) -> Logger:
    """One for each part: to make one costs more than to write a line with it, and a request makes several."""
    return Logger(service=part)


def _series(metric: str, dimensions: Mapping[str, str]) -> list[list[str]]:
    wanted = SERIES.get(metric)
    if wanted is None:
        return [[SERVICE, *(name for name in dimensions if name != FIELD_ONLY)]]
    return [list(one) for one in wanted if set(one) <= {SERVICE, *dimensions}]


def _loggable(fields: dict[str, object]) -> dict[str, object]:
    return {f"{name}_" if name in _TAKEN else name: value for name, value in fields.items()}

"""What a scenario costs by the list prices of `infra/prices.py`."""

from benchmarks.metering.chain import Part
from benchmarks.metering.scenarios import Count
from infra.prices import (
    ALARM_METRIC_MONTH,
    BACKUP_GB_MONTH,
    DASHBOARD_MONTH,
    EVENTBRIDGE_SCHEDULER,
    FAIR_SURCHARGE,
    GATEWAY_REQUESTS,
    GB_SECOND,
    INVOCATIONS,
    LOGS_COMPRESSED_TO,
    LOGS_GB,
    LOGS_GB_MONTH,
    METRIC_MONTH,
    MILLION,
    POLLER_HOUR,
    READ_UNIT_HOUR,
    READ_UNITS,
    SQS_REQUESTS,
    STORAGE_GB_MONTH,
    WRITE_UNIT_HOUR,
    WRITE_UNITS,
)

__all__ = [
    "ALARM_METRIC_MONTH",
    "BACKUP_GB_MONTH",
    "DASHBOARD_MONTH",
    "EVENTBRIDGE_SCHEDULER",
    "FAIR_SURCHARGE",
    "GATEWAY_REQUESTS",
    "GB_SECOND",
    "INVOCATIONS",
    "LOGS_COMPRESSED_TO",
    "LOGS_GB",
    "LOGS_GB_MONTH",
    "METRIC_MONTH",
    "MILLION",
    "POLLER_HOUR",
    "READ_UNITS",
    "READ_UNIT_HOUR",
    "SQS_REQUESTS",
    "STORAGE_GB_MONTH",
    "WRITE_UNITS",
    "WRITE_UNIT_HOUR",
    "of_part",
    "per_million",
    "running",
]


def per_million(count: Count) -> float:
    """A million firings like those counted, but for the time that functions run."""
    store = (count.writes + count.books) * WRITE_UNITS + count.reads * READ_UNITS
    queues = count.sqs * (SQS_REQUESTS + FAIR_SURCHARGE)
    return store + queues + count.invocations * INVOCATIONS + count.api_requests * GATEWAY_REQUESTS


def of_part(part: Part) -> float:
    """A million times what a part asked for, on queues without groups."""
    store = part.bill.writes * WRITE_UNITS + part.bill.reads * READ_UNITS
    return store + part.sqs * SQS_REQUESTS + part.invocations * INVOCATIONS


def running(seconds: float, memory_mb: int) -> float:
    """A million times a function that runs so long with so much memory."""
    return seconds * memory_mb / 1_024 * GB_SECOND * MILLION

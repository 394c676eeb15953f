"""What a scenario costs by the list prices of `infra/prices.py`."""

from benchmarks.metering.chain import Part
from benchmarks.metering.scenarios import Count
from infra.prices import (
    FAIR_SURCHARGE,
    GATEWAY_REQUESTS,
    INVOCATIONS,
    READ_UNITS,
    SQS_REQUESTS,
    WRITE_UNITS,
)


def per_million(count: Count) -> float:
    """A million firings like those counted, but for the time that functions run."""
    store = (count.writes + count.books) * WRITE_UNITS + count.reads * READ_UNITS
    queues = count.sqs * (SQS_REQUESTS + FAIR_SURCHARGE)
    return store + queues + count.invocations * INVOCATIONS + count.api_requests * GATEWAY_REQUESTS


def of_part(part: Part) -> float:
    """A million times what a part asked for, on queues without groups."""
    store = part.bill.writes * WRITE_UNITS + part.bill.reads * READ_UNITS
    return store + part.sqs * SQS_REQUESTS + part.invocations * INVOCATIONS

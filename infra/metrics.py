"""Metrics as data: what an alarm judges and a chart draws, the installation's own and those that AWS keeps of it.

Nothing here imports the CDK: the local stack draws the same dashboard and fires the same alarms from these values.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from cronfleet.adapters.sqs import queues

Statistic = Literal["Sum", "Average", "Minimum", "Maximum", "SampleCount", "p50", "p99"]

NAMESPACE: Final = "Cronfleet"
"""As `adapters/cloudwatch/telemetry.py` has it; a test compares them."""

SQS: Final = "AWS/SQS"
LAMBDA: Final = "AWS/Lambda"

MINUTE: Final = 60


@dataclass(frozen=True, slots=True)
class Metric:
    """One series in CloudWatch: its name, the dimensions that choose it, and how a period is summed up."""

    namespace: str
    name: str
    dimensions: tuple[tuple[str, str], ...]
    statistic: Statistic = "Sum"
    period_seconds: int = MINUTE

    def over(self, period_seconds: int) -> "Metric":
        """The same, over another period."""
        return replace(self, period_seconds=period_seconds)


def own(service: str, name: str, statistic: Statistic = "Sum", **dimensions: str) -> Metric:
    """A metric that the part `service` tells itself."""
    return Metric(NAMESPACE, name, (("service", service), *dimensions.items()), statistic)


def of_queue(prefix: str, queue: str, name: str, statistic: Statistic = "Maximum") -> Metric:
    """What SQS says about the queue of this name, which has no prefix here."""
    return Metric(SQS, name, (("QueueName", f"{prefix}-{queue}"),), statistic)


def of_function(prefix: str, function: str, name: str, statistic: Statistic = "Sum") -> Metric:
    """What Lambda says about the function of this name, which has no prefix here."""
    return Metric(LAMBDA, name, (("FunctionName", f"{prefix}-{function}"),), statistic)


def age(prefix: str, queue: queues.Queue, *, dead: bool = False) -> Metric:
    """How long the oldest message of a queue, or of the dead-letter queue behind it, has waited, in seconds."""
    return of_queue(prefix, queue.dead_letter_name if dead else queue.name, "ApproximateAgeOfOldestMessage")

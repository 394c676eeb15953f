"""Metrics as data: what an alarm judges and a chart draws, the installation's own and those that AWS keeps of it.

Nothing here imports the CDK: the local stack draws the same dashboard and fires the same alarms from these values.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final, Literal

from cronfleet.settings import namespace_of

Statistic = Literal["Sum", "Average", "Minimum", "Maximum", "SampleCount", "p50", "p99"]

SQS: Final = "AWS/SQS"
LAMBDA: Final = "AWS/Lambda"
DYNAMODB: Final = "AWS/DynamoDB"

MINUTE: Final = 60

MOST_IN_AN_ALARM: Final = 10
"""Metrics that an alarm on an expression may name (CloudWatch, PutMetricAlarm)."""


QUEUE_STANDING: Final = (
    "ApproximateNumberOfMessagesVisible",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesVisibleInQuietGroups",
    "ApproximateNumberOfNoisyGroups",
    "ApproximateAgeOfOldestMessage",
    "ApproximateAgeOfOldestMessageInQuietGroups",
)
"""What SQS says of how a queue stands. Quiet groups are those of a fair queue, where groups are tenants, that are not
noisy.
"""

STANDING: Final = frozenset(
    {"overdue", "unstarted", "drained", "batches_open", "breakers_open", "noticeboard_fill", *QUEUE_STANDING}
)
"""Metrics that tell how something stands, not what has happened: of these the last value counts, and no sum."""


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


@dataclass(frozen=True, slots=True)
class Expression:
    """Metric math: `text` in CloudWatch's words (arithmetic, and `SUM([a,b])`) over metrics by their ids in it."""

    text: str
    metrics: tuple[tuple[str, Metric], ...]
    period_seconds: int = MINUTE


@dataclass(frozen=True, slots=True)
class Search:
    """Every series of a name that has exactly these dimensions, one line for each value of the dimension `by`.

    `fixed` are dimensions whose value is given. An alarm cannot search: it needs series that it can name.
    """

    namespace: str
    name: str
    by: str
    fixed: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()
    statistic: Statistic = "Sum"
    period_seconds: int = MINUTE

    @property
    def dimensions(self) -> tuple[str, ...]:
        """The names of all dimensions of a series that is found."""
        return (*(name for name, _ in self.fixed), *self.others, self.by)


@dataclass(frozen=True, slots=True)
class Names:
    """How the metrics of one installation are found: its prefix begins all names and is its own namespace.

    Tables may have a prefix of their own, where they were restored beside others.
    """

    prefix: str
    tables: str = ""

    @property
    def namespace(self) -> str:
        """Where its own metrics are."""
        return namespace_of(self.prefix)

    def own(self, service: str, name: str, statistic: Statistic = "Sum", **dimensions: str) -> Metric:
        """A metric that the part `service` tells itself."""
        return Metric(self.namespace, name, (("service", service), *dimensions.items()), statistic)

    def called(self, name: str) -> Metric:
        """How often any part said that a person must look at it."""
        return Metric(self.namespace, name, ())

    def search(self, name: str, by: str, statistic: Statistic = "Sum", others: Iterable[str] = ()) -> Search:
        """Each part's own series of a name, by a dimension."""
        around = ("service", *others) if by != "service" else tuple(others)
        return Search(self.namespace, name, by, others=around, statistic=statistic)

    def queue(self, queue: str, name: str, statistic: Statistic = "Maximum") -> Metric:
        """What SQS says about the queue of this name, which has no prefix here."""
        return Metric(SQS, name, (("QueueName", f"{self.prefix}-{queue}"),), statistic)

    def age(self, queue: str) -> Metric:
        """How long the oldest message of a queue has waited, in seconds."""
        return self.queue(queue, "ApproximateAgeOfOldestMessage")

    def function(self, function: str, name: str, statistic: Statistic = "Sum") -> Metric:
        """What Lambda says about the function of this name, which has no prefix here."""
        return Metric(LAMBDA, name, (("FunctionName", f"{self.prefix}-{function}"),), statistic)

    def table(self, table: str, name: str, index: str = "") -> Metric:
        """What DynamoDB says about a table, or about one index of it and not about the table."""
        chosen = (("TableName", f"{self.tables or self.prefix}-{table}"),)
        return Metric(DYNAMODB, name, (*chosen, ("GlobalSecondaryIndexName", index)) if index else chosen)


def total(metrics: Iterable[Metric], period_seconds: int = MINUTE) -> Metric | Expression:
    """All of them added up; one that has no value counts nothing."""
    named = by_id(metrics)
    if len(named) == 1:
        return next(iter(named.values())).over(period_seconds)
    return Expression(sum_of(named), tuple(named.items()), period_seconds)


def sum_of(named: Iterable[str]) -> str:
    """The text that adds metrics up, by their ids."""
    return f"SUM([{','.join(named)}])"


def by_id(metrics: Iterable[Metric]) -> dict[str, Metric]:
    """Each under an id that follows from what it is: those of one chart share their ids, and no two have the same."""
    return {f"m{blake2b(repr(one).encode(), digest_size=4).hexdigest()}": one for one in metrics}


def with_period(metric: Metric | Expression, period_seconds: int) -> Metric | Expression:
    """The same, over another period."""
    if isinstance(metric, Metric):
        return metric.over(period_seconds)
    # The ids stay: they need to be told apart within one alarm, or one chart.
    named = tuple((name, one.over(period_seconds)) for name, one in metric.metrics)
    return Expression(metric.text, named, period_seconds)


def metrics_of(metric: Metric | Expression) -> Mapping[str, Metric]:
    """The series that it is made of, by their ids; a plain one has none."""
    return {"": metric} if isinstance(metric, Metric) else dict(metric.metrics)

"""The alarms as data: each has one name, which is also the heading of its section in docs/runbook.md.

The CDK app, the runbook's test and the local stack's drill all read this file. An alarm belongs here if somebody has
to do something when it goes off; what is only worth seeing stands on the dashboard.
"""

from dataclasses import dataclass
from typing import Final, Literal

from cronfleet.adapters.sqs import queues
from cronfleet.domain.tenant import TIERS
from infra.config.installation import Config
from infra.metrics import Metric, age, own

Comparison = Literal["above", "below"]

LATE_SECONDS: Final = {"standard": 30, "priority": 3}
"""What of its runs' lag a tier's 99th percentile may reach, for most of five minutes."""

ABSENT_MINUTES: Final = 3
"""Without a word for so long: by then the ticks that were laid ahead are used up."""

ERRANDS_OLD_SECONDS: Final = 300
"""An errand's message that waits for longer has been replaced by two others meanwhile: the clerk does not keep up."""

DEAD_OLD_SECONDS: Final = 3_600
"""A message that stands in a dead-letter queue for longer says that the consumer cannot finish with it."""

ROLLBACK_ALARMS: Final = tuple(f"lag-{tier}" for tier in TIERS)
"""The names of the alarms that take a deployment back while it is shifted."""


@dataclass(frozen=True, slots=True)
class AlarmSpec:
    """One alarm: it goes off when `to_alarm` of the last `of_periods` values of its metric lie beyond `threshold`.

    `name` has no prefix; the alarm is called `<prefix>-<name>`. `silence_is_bad` takes a period without any value for
    one beyond the threshold. `summary` is one sentence: what is wrong for whoever is woken by it.
    """

    name: str
    metric: Metric
    threshold: float
    summary: str
    comparison: Comparison = "above"
    of_periods: int = 1
    to_alarm: int = 1
    silence_is_bad: bool = False


def alarms(config: Config) -> tuple[AlarmSpec, ...]:
    """Every alarm of an installation."""
    return (*_lag(), *_absence(), *_queues(config.prefix))


def _lag() -> tuple[AlarmSpec, ...]:
    return tuple(
        AlarmSpec(
            f"lag-{tier}",
            own("worker", "lag", "p99", tier=tier),
            LATE_SECONDS[tier],
            f"Runs of the tier {tier} start late",
            of_periods=5,
            to_alarm=3,
        )
        for tier in TIERS
    )


def _absence() -> tuple[AlarmSpec, ...]:
    # It lies with CloudWatch alone: who watches the watcher must not be the same installation.
    return tuple(
        AlarmSpec(
            f"{part}-absent",
            own(part, metric),
            1,
            f"The {part} did no work for {ABSENT_MINUTES} minutes",
            comparison="below",
            of_periods=ABSENT_MINUTES,
            to_alarm=ABSENT_MINUTES,
            silence_is_bad=True,
        )
        for part, metric in (("ticker", "ticks_laid"), ("sweeper", "sweeps"))
    )


def _queues(prefix: str) -> tuple[AlarmSpec, ...]:
    errands = AlarmSpec(
        f"{queues.ERRANDS.name}-old",
        age(prefix, queues.ERRANDS),
        ERRANDS_OLD_SECONDS,
        "Errands wait for the clerk",
        of_periods=2,
        to_alarm=2,
    )
    dead = (
        AlarmSpec(
            f"{queue.dead_letter_name}-old",
            age(prefix, queue, dead=True).over(300),
            DEAD_OLD_SECONDS,
            f"The queue {queue.dead_letter_name} is not emptied",
        )
        for queue in queues.QUEUES
    )
    return (errands, *dead)

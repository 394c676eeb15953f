"""The alarms as data: each has one name, which is also the heading of its section in docs/runbook.md.

The CDK app, the runbook's test and the local stack read this file. An alarm belongs here if somebody has to do
something when it goes off; what is only worth seeing stands on the dashboard. It lies with CloudWatch alone: who
watches the watcher must not be the same installation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from cronfleet import settings
from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from cronfleet.domain.tenant import TIERS
from infra.config.context import ConfigError
from infra.config.installation import Config
from infra.metrics import Expression, Metric, Names, total, with_period

Comparison = Literal["above", "below"]

LATE_SECONDS: Final = {"standard": 30, "priority": 3}
"""What of its runs' lag a tier's 99th percentile may reach, for most of five minutes."""

QUIET_OLD_SECONDS: Final = queues.run_queue("standard").visibility_seconds + 600
"""How old a message of a tenant that sends little may be. The age of one whose worker died goes on until it is visible
again, though its run has long been taken over; what waits for less is `unstarted`, which the sweeper knows exactly.
"""

ABSENT_MINUTES: Final = 3
"""Without a word for so long: by then the ticks that were laid ahead are used up."""

ERRANDS_OLD_SECONDS: Final = 300
"""An errand's message that waits for longer has been replaced by two others meanwhile: the clerk does not keep up."""

TICKS_OLD_SECONDS: Final = 240
"""Ticks are laid up to 150 s ahead, and their age is counted from then: what is older waits for the dispatcher."""

LONG_OLD_SECONDS: Final = 1_800
"""A long run that waits for longer has no worker: as the installation's own incident has it (`LONG_AGE_OPENS`)."""

DEAD_OLD_SECONDS: Final = 3_600
"""A message that stands in a dead-letter queue for longer says that the consumer cannot finish with it."""

OVERDUE_SECONDS: Final = 120
"""As the installation's own incident of lag has it (`domain/self_watch.py`, `LAG_OPENS`)."""

UNSTARTED_SECONDS: Final = 420
"""As its incident of the queues' age has it for a few (`QUEUE_AGE_OF_FEW`): a lost message is sent again before."""

DRAINED_SECONDS: Final = 3_600
"""A drained installation claims nothing: longer than any update takes, it has been forgotten."""

FAILING: Final = {
    "ticker": 1,
    "sweeper": 1,
    "dispatcher": 5,
    "worker": 5,
    "clerk": 5,
    "dead-letters": 5,
    "authorizer": 5,
}
"""Failed invocations of a part in five minutes above which somebody looks: more than one deployment explains."""

FUNCTIONS_OF: Final[Mapping[str, tuple[str, ...]]] = {
    "worker": tuple(f"worker-{queue}" for queue in settings.FUNCTION_QUEUES),
    "dead-letters": ("dead_letters",),
}
"""The functions of a part that is not one function of its own name."""

CALLS: Final[Mapping[str, tuple[tuple[str, ...], str]]] = {
    "clock-skewed": (("clock_skewed",), "A process's clock is more than two seconds from the store's; it does nothing"),
    "parked": (
        ("schedule_parked", "item_parked", "retiming_failed"),
        "The scheduler has parked a schedule or a timer that it cannot carry out",
    ),
    "books-full": (("books_full",), "A shard's books hold as many open batches as they may: claimed runs do not start"),
    "noticeboard-full": (("noticeboard_full",), "The noticeboard is full: broken targets are called as if whole"),
    "messages-unreadable": (("message_unreadable",), "A queue has a message that no part can read"),
    "messages-undelivered": (
        ("run_undelivered", "message_lapsed", "run_refused"),
        "Messages were received in vain until their queue gave them up, or came too late to be obeyed",
    ),
    "ticks-refused": (("ticks_refused",), "The tick queue does not take all ticks"),
    "sweeper-hindered": (
        (
            "sweep_failed",
            "sweep_cut_short",
            "sealing_stopped",
            "deletion_stopped",
            "retiming_stopped",
            "letter_watch_stopped",
            "shard_watch_stopped",
            "self_watch_stopped",
            "forecast_stopped",
        ),
        "The sweeper cannot do a duty, or not for every shard",
    ),
    "items-damaged": (
        (
            "notices_damaged",
            "freezes_damaged",
            "batch_gone",
            "definition_gone",
            "definition_lost",
            "timer_impossible",
            "row_damaged",
        ),
        "The store holds an item that cannot be read, or lacks one that must be there",
    ),
    "errands-failing": (("errand_failed", "operation_stopped"), "The clerk fails with errands"),
    "executions-given-up": (
        ("execution_given_up",),
        "What was started elsewhere could not be seen or stopped in time, and may go on",
    ),
    "long-workers-failing": (
        ("place_ended", "place_stuck", "places_killed"),
        "Processes of long workers die, stand still, or do not stop in time",
    ),
    "notices-given-up": (("notice_given_up", "arrival_not_told"), "Somebody who wanted to be told of trouble was not"),
}
"""Alarm → what parts call out (`Telemetry.alarm`) that sets it off, and its summary."""

REPEATED: Final = frozenset(
    {"sweeper-hindered", "errands-failing", "executions-given-up", "ticks-refused", "long-workers-failing"}
)
"""What may happen once without anybody's doing, and is made good by the next minute."""

ROLLBACK_ALARMS: Final = (
    *(f"lag-{tier}" for tier in TIERS),
    "overdue",
    "api-failing",
    *(f"{part}-failing" for part in FAILING),
)
"""The names of the alarms that take a deployment back while it is shifted."""


@dataclass(frozen=True, slots=True)
class AlarmSpec:
    """One alarm: it goes off when `to_alarm` of the last `of_periods` values of its metric lie beyond `threshold`.

    `name` has no prefix; the alarm is called `<prefix>-<name>`. `silence_is_bad` takes a period without any value for
    one beyond the threshold. `summary` is one sentence: what is wrong for whoever is woken by it.
    """

    name: str
    metric: Metric | Expression
    threshold: float
    summary: str
    comparison: Comparison = "above"
    of_periods: int = 1
    to_alarm: int = 1
    silence_is_bad: bool = False


def alarms(config: Config) -> tuple[AlarmSpec, ...]:
    """Every alarm of an installation, with the thresholds that it has chosen; `ConfigError` names one that is none."""
    names = Names(config.prefix, config.tables.prefix)
    found = [spec for make in GROUPS for spec in make(names)]
    chosen = config.alarms.thresholds
    unknown = sorted(set(chosen) - {spec.name for spec in found})
    if unknown:
        there = ", ".join(spec.name for spec in found)
        raise ConfigError(f"context 'alarms.thresholds.{unknown[0]}' is no alarm: write one of {there}")
    return tuple(replace(spec, threshold=chosen.get(spec.name, spec.threshold)) for spec in found)


def _lag(names: Names) -> list[AlarmSpec]:
    late = [
        AlarmSpec(
            f"lag-{tier}",
            names.own("worker", "lag", "p99", tier=tier),
            LATE_SECONDS[tier],
            f"Runs of the tier {tier} start late",
            of_periods=5,
            to_alarm=3,
        )
        for tier in TIERS
    ]
    # Lag is measured where a run starts. What does not start at all, the sweeper sees.
    waiting = (
        ("overdue", OVERDUE_SECONDS, "Fires are due and nobody claims them"),
        ("unstarted", UNSTARTED_SECONDS, "Claimed runs wait for a worker"),
    )
    return late + [
        AlarmSpec(name, names.own("sweeper", name, "Maximum"), threshold, summary, of_periods=3, to_alarm=2)
        for name, threshold, summary in waiting
    ]


def _holds(names: Names) -> list[AlarmSpec]:
    return [
        AlarmSpec(
            "drained",
            names.own("sweeper", "drained", "Maximum"),
            DRAINED_SECONDS,
            "The installation is drained, and nobody has released it",
        )
    ]


def _absence(names: Names) -> list[AlarmSpec]:
    signs = (
        ("ticker", names.own("ticker", "ticks_laid")),
        ("sweeper", names.own("sweeper", "sweeps")),
        ("dispatcher", names.function("dispatcher", "Invocations")),
    )
    return [
        AlarmSpec(
            f"{part}-absent",
            sign,
            1,
            f"The {part} did no work for {ABSENT_MINUTES} minutes",
            comparison="below",
            of_periods=ABSENT_MINUTES,
            to_alarm=ABSENT_MINUTES,
            silence_is_bad=True,
        )
        for part, sign in signs
    ] + [
        AlarmSpec(
            "shards-stopped",
            names.own("sweeper", "quiet_shards"),
            0,
            "Shards get no ticks; the sweeper serves them once a minute",
            of_periods=5,
            to_alarm=3,
        )
    ]


def _failures(names: Names) -> list[AlarmSpec]:
    specs = [
        AlarmSpec(
            f"{part}-failing",
            with_period(total(names.function(one, "Errors") for one in FUNCTIONS_OF.get(part, (part,))), 300),
            threshold,
            f"Invocations of the {part} end in errors",
        )
        for part, threshold in FAILING.items()
    ]
    # A function that ends in an error has counted no request.
    answers = total([names.own("api", "requests", outcome="5xx"), names.function("api", "Errors")])
    return [*specs, AlarmSpec("api-failing", with_period(answers, 300), 5, "The API answers with 5xx")]


def _throttles(names: Names) -> list[AlarmSpec]:
    hot = (
        (schema.SCHEDULES.name, ""),
        (schema.SCHEDULES.name, schema.DUE.name),
        (schema.RUNS.name, ""),
        (schema.SHARDS.name, ""),
        (schema.TENANTS.name, ""),
    )
    kinds = ("WriteThrottleEvents", "ReadThrottleEvents")
    store = total(names.table(table, kind, index) for table, index in hot for kind in kinds)
    started = ("dispatcher", "sweeper", "ticker", *FUNCTIONS_OF["worker"])
    functions = total(names.function(one, "Throttles") for one in started)
    refused = with_period(total(names.own(part, "statements_refused") for part in ("dispatcher", "sweeper")), 900)
    return [
        AlarmSpec("store-throttled", store, 10, "DynamoDB throttles requests", of_periods=5, to_alarm=3),
        AlarmSpec("statements-refused", refused, 100, "DynamoDB refuses batches of statements: claims go one by one"),
        AlarmSpec("functions-throttled", functions, 0, "Lambda refuses to start functions", of_periods=5, to_alarm=3),
    ]


def _queues(names: Names) -> list[AlarmSpec]:
    waiting = [
        AlarmSpec(
            f"{queues.RUN_QUEUES[tier].name}-old",
            # Of the tenants that send little. A tenant that floods its tier waits for itself: that is fairness at work.
            names.queue(queues.RUN_QUEUES[tier].name, "ApproximateAgeOfOldestMessageInQuietGroups"),
            QUIET_OLD_SECONDS,
            f"Messages of quiet tenants wait in the queue of the tier {tier}",
            of_periods=3,
            to_alarm=2,
        )
        for tier in TIERS
    ]
    served = (
        (queues.LONG_RUNS, LONG_OLD_SECONDS, "Long runs wait for a long worker"),
        (queues.TICKS, TICKS_OLD_SECONDS, "Ticks wait for the dispatcher"),
        (queues.ERRANDS, ERRANDS_OLD_SECONDS, "Errands wait for the clerk"),
    )
    waiting += [
        AlarmSpec(f"{queue.name}-old", names.age(queue.name), seconds, summary, of_periods=2, to_alarm=2)
        for queue, seconds, summary in served
    ]
    return waiting + [
        AlarmSpec(
            f"{queue.dead_letter_name}-old",
            names.age(queue.dead_letter_name).over(300),
            DEAD_OLD_SECONDS,
            f"The queue {queue.dead_letter_name} is not emptied",
        )
        for queue in queues.QUEUES
    ]


def _lost(names: Names) -> list[AlarmSpec]:
    dead = total(
        names.own(part, "runs_ended", tier=tier, status="dead") for part in ("worker", "dead_letters") for tier in TIERS
    )
    resent = names.own("sweeper", "resent").over(900)
    return [
        AlarmSpec("dead-letters", with_period(dead, 300), 50, "Many runs died, out of attempts or undelivered"),
        AlarmSpec("messages-lost", resent, 10, "Messages were lost between dispatcher and worker, and sent again"),
    ]


def _calls(names: Names) -> list[AlarmSpec]:
    return [
        AlarmSpec(
            name,
            total(names.called(call) for call in calls),
            0,
            summary,
            of_periods=5 if name in REPEATED else 1,
            to_alarm=3 if name in REPEATED else 1,
        )
        for name, (calls, summary) in CALLS.items()
    ]


GROUPS: Final[tuple[Callable[[Names], list[AlarmSpec]], ...]] = (
    _lag,
    _holds,
    _absence,
    _failures,
    _throttles,
    _queues,
    _lost,
    _calls,
)

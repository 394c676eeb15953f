"""The dashboard as data: rows of widgets, from which the CDK makes the one in CloudWatch and the local stack its page.

A person reads it from the top: is anything wrong, is anybody late, what happens, what waits, what hinders, what it
costs, and who it is.
"""

from dataclasses import dataclass
from typing import Final, Literal

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.sqs import queues
from cronfleet.domain.tenant import TIERS
from infra import prices
from infra.alarms import FAILING, FUNCTIONS_OF
from infra.config.installation import Config
from infra.config.traces import TRACED
from infra.metrics import Expression, Metric, Names, Search, by_id, sum_of, total

Unit = Literal["seconds", "count", "percent", "dollars"]
Shape = Literal["lines", "stacked"]

COLUMNS: Final = 24
"""How wide a dashboard of CloudWatch is; a row's widgets share it."""

COST_SECONDS: Final = 300
"""A figure per firing swings with each minute's share of ticks; over five it is steady."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a chart."""

    label: str
    metric: Metric | Expression


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over time. `about` says in a sentence what is seen, and what is good; it stands where there is nothing."""

    title: str
    about: str
    lines: tuple[Line | Search, ...]
    unit: Unit = "count"
    shape: Shape = "lines"


@dataclass(frozen=True, slots=True)
class Figures:
    """The latest value of each line, large."""

    title: str
    about: str
    lines: tuple[Line, ...]
    unit: Unit = "count"


@dataclass(frozen=True, slots=True)
class States:
    """Every alarm and how it stands."""

    title: str
    about: str


@dataclass(frozen=True, slots=True)
class Top:
    """Who has most of something, out of the workers' one line per attempt: a tenant is never a metric's dimension.

    `field` names the field that tells one from the other; `value` what is added up of each line, by `Weight`.
    `only` are the values of `outcome` that count; all where it is empty.
    """

    title: str
    about: str
    field: str
    value: Literal["attempts", "lag"] = "attempts"
    only: tuple[str, ...] = ()


Widget = Chart | Figures | States | Top


@dataclass(frozen=True, slots=True)
class Row:
    """Widgets side by side, about one question."""

    title: str
    about: str
    widgets: tuple[Widget, ...]


LINE: Final = "attempt_finished"
"""The workers' line about each attempt that ended (`services/attempt_report.py`)."""

MOST_IN_TOP: Final = 10


def dashboard(config: Config) -> tuple[Row, ...]:
    """The rows of an installation's dashboard, from the top."""
    names = Names(config.prefix, config.tables.prefix)
    return (
        _standing(),
        _lag(names),
        _fires(names),
        _queues(names),
        _hands(names),
        _trouble(names),
        _store(names),
        _cost(names),
        _tenants(),
    )


def _standing() -> Row:
    return Row(
        "Alarms",
        "Each has a section of its name in docs/runbook.md.",
        (States("Alarms", "Every alarm, and how it stands."),),
    )


def _lag(names: Names) -> Row:
    tiers = tuple(
        Chart(
            f"Lag of the tier {tier}",
            "From the moment a fire is due to its run's start. Below a second is well, a few seconds is a full minute.",
            (
                Line("p50", names.own("worker", "lag", "p50", tier=tier)),
                Line("p99", names.own("worker", "lag", "p99", tier=tier)),
                Line("longest", names.own("worker", "lag", "Maximum", tier=tier)),
            ),
            "seconds",
        )
        for tier in TIERS
    )
    return Row(
        "Lag",
        "Is anybody late? Promised: a median below one second, 99 of 100 below three.",
        (
            *tiers,
            Chart(
                "Lag of each shard, p99",
                "A shard whose line leaves the others' has lost its ticks, or holds what is hot.",
                (names.search("lag", "shard", "p99"),),
                "seconds",
            ),
            Chart(
                "What waits and has not started",
                "The oldest fire that nobody claimed, and the oldest claimed run that no worker took, by the sweeper.",
                (
                    Line("for its claim", names.own("sweeper", "overdue", "Maximum")),
                    Line("for a worker", names.own("sweeper", "unstarted", "Maximum")),
                ),
                "seconds",
            ),
        ),
    )


def _fires(names: Names) -> Row:
    started = [names.own("worker", lag, "SampleCount", tier=tier) for lag in LAGS for tier in TIERS]
    return Row(
        "Fires",
        "What happens to fires: claimed by the dispatcher, started and ended by workers, or skipped for a reason.",
        (
            Chart(
                "Claimed and started",
                "Both lines lie on each other while workers keep up.",
                (
                    Line("claimed", total([names.own("dispatcher", "fires"), names.own("sweeper", "fires")])),
                    Line("started", total(started)),
                ),
            ),
            Chart(
                "Runs that ended, by status",
                "Succeeded is most of them; dead ones are out of attempts.",
                (names.search("runs_ended", "status", others=("tier",)),),
                shape="stacked",
            ),
            Chart(
                "Attempts, by outcome",
                "One that failed or timed out is tried again as its schedule's retry policy says.",
                (names.search("attempts", "outcome", others=("tier",)),),
                shape="stacked",
            ),
            Chart(
                "Skipped, by reason",
                "Fires that ended without a run, each with its reason in the ledger: docs/reasons.md.",
                (names.search("fires_skipped", "reason"),),
                shape="stacked",
            ),
            Chart(
                "Held back, by reason",
                "Attempts that wait without having called their target: for a turn, a slot, a breaker, a freeze.",
                (names.search("attempts_held_back", "reason"),),
                shape="stacked",
            ),
            Chart(
                "Retries and dead letters",
                "Attempts that will be made again, and runs that are given up.",
                (
                    Line("retries", total(names.own("worker", "retries", tier=tier) for tier in TIERS)),
                    Line("dead", total(names.own("worker", "runs_ended", tier=tier, status="dead") for tier in TIERS)),
                    Line("undelivered", names.called("run_undelivered")),
                ),
            ),
        ),
    )


LAGS: Final = ("lag", "catch_up_lag", "backfill_lag", "long_lag")
"""A first attempt's lag is counted under one of these: live work, what was caught up, backfills, and long runs."""


def _queues(names: Names) -> Row:
    shown = (*queues.RUN_QUEUES.values(), queues.TICKS, queues.ERRANDS)
    return Row(
        "Queues",
        "What waits. Of run queues the part of quiet tenants tells whether a noisy one is in anybody's way.",
        (
            Chart(
                "Age of the oldest message",
                "Seconds are well; minutes mean that whoever reads the queue does not keep up.",
                tuple(Line(queue.name, names.age(queue.name)) for queue in shown),
                "seconds",
            ),
            Chart(
                "Messages that wait",
                "Visible messages: what could be taken now.",
                tuple(
                    Line(queue.name, names.queue(queue.name, "ApproximateNumberOfMessagesVisible")) for queue in shown
                ),
            ),
            Chart(
                "Long workers",
                "Places for long runs, those that have one, and what waits: work beyond the places starts more.",
                (
                    Line("places", names.own("worker", "long_places", "Sum")),
                    Line("busy", names.own("worker", "long_busy", "Sum")),
                    Line("wait", names.queue(queues.LONG_RUNS.name, "ApproximateNumberOfMessagesVisible")),
                ),
            ),
            *(
                Chart(
                    f"{queue.name}: all tenants, and the quiet ones",
                    "While the quiet tenants' lines stay low, a backlog is one noisy tenant's own.",
                    (
                        Line("wait", names.queue(queue.name, "ApproximateNumberOfMessagesVisible")),
                        Line(
                            "of quiet ones", names.queue(queue.name, "ApproximateNumberOfMessagesVisibleInQuietGroups")
                        ),
                        Line("noisy tenants", names.queue(queue.name, "ApproximateNumberOfNoisyGroups")),
                        Line("in hand", names.queue(queue.name, "ApproximateNumberOfMessagesNotVisible")),
                    ),
                )
                for queue in queues.RUN_QUEUES.values()
            ),
            Chart(
                "Dead-letter queues",
                "Messages that nobody could take; their consumer writes each into the history and empties the queue.",
                tuple(
                    Line(
                        queue.dead_letter_name,
                        names.queue(queue.dead_letter_name, "ApproximateNumberOfMessagesVisible"),
                    )
                    for queue in queues.QUEUES
                ),
            ),
        ),
    )


def _hands(names: Names) -> Row:
    return Row(
        "Ticks, sweeps and books",
        "Whether the parts that make time go on do so, and what the sweeper had to put right.",
        (
            Chart(
                "Ticks laid and served",
                "A tick is for a shard and five seconds. Served ones fall short where ticks are missing.",
                (
                    Line("laid", names.own("ticker", "ticks_laid")),
                    Line("served", names.function("dispatcher", "Invocations")),
                ),
            ),
            Chart(
                "Shards without ticks",
                "The sweeper found them quiet for half a minute and served them itself. None is well.",
                (Line("quiet shards", names.own("sweeper", "quiet_shards", "Maximum")),),
            ),
            Chart(
                "Lost and made good",
                "Messages that were sent again, dead workers' runs that were revived, and workers that took one over.",
                (
                    Line("sent again", names.own("sweeper", "resent")),
                    Line("revived", names.own("sweeper", "revived")),
                    Line("taken over", names.own("worker", "takeovers")),
                ),
            ),
            Chart(
                "Open batches",
                "Batches of claims whose runs have not all ended. They rise with long jobs and with dead workers.",
                (Line("open", names.own("sweeper", "batches_open", "Maximum")),),
            ),
            Chart(
                "Without an answer",
                "What the store, a queue or the bus left unanswered. Each is asked again; many mean that they are ill.",
                (
                    Line("ticks", names.own("dispatcher", "ticks_unanswered")),
                    Line("messages", total(names.own("worker", "messages_unanswered", tier=tier) for tier in TIERS)),
                    Line("heartbeats", names.own("worker", "beats_unanswered")),
                    Line("shards taken by another", names.own("dispatcher", "leases_lost")),
                    Line("spans lost", total(names.own(part, "spans_lost") for part in sorted(TRACED))),
                    Line("events not told", total(names.own(part, "events_lost") for part in ("worker", "dispatcher"))),
                ),
            ),
            Chart(
                "Claims",
                "A lost claim is a stale look at the index and harmless; many say that shards are served twice.",
                (
                    Line("won", names.own("dispatcher", "claims_won")),
                    Line("lost", names.own("dispatcher", "claims_lost")),
                    Line("deferred", names.own("dispatcher", "deferrals")),
                    Line("caught up", names.own("dispatcher", "caught_up")),
                ),
            ),
        ),
    )


def _trouble(names: Names) -> Row:
    functions = [one for part in ("api", *FAILING) for one in FUNCTIONS_OF.get(part, (part,))]
    return Row(
        "Trouble",
        "What fails, of ours and of others.",
        (
            Chart(
                "Invocations that failed",
                "A function that ends in an error is started again; a line that stays is a fault of ours.",
                tuple(Line(one, names.function(one, "Errors")) for one in functions),
            ),
            Chart(
                "Invocations that Lambda refused",
                "Throttled: the account's concurrency, or a reserved one, is used up.",
                tuple(Line(one, names.function(one, "Throttles")) for one in functions),
            ),
            Chart(
                "Targets behind a breaker",
                "Targets that are left alone because they fail: docs/breakers.md. Looked at every fifth minute.",
                (Line("not closed", names.own("sweeper", "breakers_open", "Maximum").over(300)),),
            ),
            Chart(
                "Noticeboard, fullest sheet",
                "Past 100 % a broken target is called as if it were whole.",
                (Line("full", names.own("sweeper", "noticeboard_fill", "Maximum").over(300)),),
                "percent",
            ),
            Chart(
                "API requests, by outcome",
                "4xx are callers' mistakes, 5xx are ours.",
                (names.search("requests", "outcome"),),
                shape="stacked",
            ),
        ),
    )


def _store(names: Names) -> Row:
    places = [(table.name, index) for table in schema.TABLES for index in ("", *(one.name for one in table.indexes))]
    hot = [(table, index) for table, index in places if table in HOT]
    return Row(
        "Job store",
        "A throttled index throttles writes to its table, the API's pause and cancel included.",
        (
            Chart(
                "Throttled writes, by table and index",
                "None is well. One index partition takes 1,000 write units a second.",
                tuple(Line(_place(*one), names.table(one[0], "WriteThrottleEvents", one[1])) for one in hot),
            ),
            Chart(
                "Throttled reads, by table and index",
                "None is well.",
                tuple(Line(_place(*one), names.table(one[0], "ReadThrottleEvents", one[1])) for one in hot),
            ),
            Chart(
                "Write units, by table and index",
                "An index is charged by itself: a key that moves costs two.",
                tuple(Line(_place(*one), names.table(one[0], "ConsumedWriteCapacityUnits", one[1])) for one in hot),
                shape="stacked",
            ),
        ),
    )


HOT: Final = frozenset({schema.SCHEDULES.name, schema.RUNS.name, schema.SHARDS.name, schema.TENANTS.name})
"""Tables that every firing, or every tick, reads or writes."""


def _place(table: str, index: str) -> str:
    return f"{table}/{index}" if index else table


def _cost(names: Names) -> Row:
    places = [(table.name, index) for table in schema.TABLES for index in ("", *(one.name for one in table.indexes))]
    writes = [names.table(table, "ConsumedWriteCapacityUnits", index) for table, index in places]
    reads = [names.table(table, "ConsumedReadCapacityUnits", index) for table, index in places]
    functions = [one for part in ("api", *FAILING) for one in FUNCTIONS_OF.get(part, (part,))]
    calls = [names.function(one, "Invocations") for one in functions]
    # A batch of ten is one request, as sending and deleting go; receiving goes one by one.
    messages = [
        names.queue(queue.name, kind, "Sum")
        for queue in queues.QUEUES
        for kind in ("NumberOfMessagesReceived", "NumberOfEmptyReceives", "NumberOfMessagesDeleted")
    ]
    runs = [names.own("dispatcher", "fires"), names.own("sweeper", "fires")]
    parts = (
        ("job store: writes", writes, prices.WRITE_UNITS),
        ("job store: reads", reads, prices.READ_UNITS),
        ("functions: starts", calls, prices.INVOCATIONS),
        ("queues", messages, prices.SQS_REQUESTS + prices.FAIR_SURCHARGE),
    )
    shares = tuple(Line(label, _per_million(what, runs, price)) for label, what, price in parts)
    return Row(
        "Cost of a million firings",
        "What AWS counted of the last minutes, by list price, on demand; without the time that functions run and logs.",
        (
            Chart(
                "Dollars per million firings",
                "Ticks and sweeps cost the same whatever fires: the fewer firings, the dearer each looks.",
                shares,
                "dollars",
                "stacked",
            ),
            Figures(
                "Now, per million firings",
                "The same figures.",
                shares,
                "dollars",
            ),
        ),
    )


def _per_million(what: list[Metric], runs: list[Metric], price: float) -> Expression:
    units = by_id(metric.over(COST_SECONDS) for metric in what)
    fires = by_id(metric.over(COST_SECONDS) for metric in runs)
    # The price is of a million units: a unit's price times a million firings.
    text = f"{price} * {sum_of(units)} / {sum_of(fires)}"
    return Expression(text, tuple({**units, **fires}.items()), COST_SECONDS)


def _tenants() -> Row:
    failed = ("failed", "timed_out", "lost")
    return Row(
        "Tenants",
        "Out of the workers' lines, not out of metrics. What is logged by sample counts by its weight.",
        (
            Top("Most attempts", "Who uses the fleet.", "tenant"),
            Top("Most failures", "Whose targets fail.", "tenant", only=failed),
            Top("Longest lag in all", "Who waited: the lag of all runs, added up.", "tenant", "lag"),
            Top("Schedules that fail most", "Where to look first.", "schedule_id", only=failed),
        ),
    )

"""What sets off each alarm: really, where one machine can; by a metric's values, where it cannot."""

import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from botocore.exceptions import ClientError

from infra.alarms import FAILING, AlarmSpec
from infra.metrics import metrics_of
from local.drill.stack import PREFIX, Drilled

Deed = Callable[[Drilled], None]

NONSENSE: Final = {"c": "61 25 * * *", "z": "UTC"}
"""A cron trigger as the store has it, with an hour that is none."""
MANY: Final = 60
"""More dead runs than the alarm on them takes."""
WITHOUT_RECORDS: Final = ("dispatcher", "worker", "clerk", "dead-letters")
"""Parts that take messages, and fail when they are given none."""
FUNCTIONS: Final = {"worker": "worker-standard", "dead-letters": "dead_letters"}


def _nothing(_: Drilled) -> None:
    """Nothing is to be undone."""


@dataclass(frozen=True, slots=True)
class Cause:
    """What is done, which alarms it must set off, and how it is undone. `is_real`: no value was made up."""

    what: str
    alarms: tuple[str, ...]
    begin: Deed
    end: Deed = _nothing
    is_real: bool = True


@dataclass(slots=True)
class Environments:
    """The settings of functions that were taken away, to be given back."""

    kept: dict[str, dict[str, str]] = field(default_factory=dict)

    def take(self, stack: Drilled, function: str) -> None:
        """Leave a function without any."""
        self.kept[function] = stack.set_environment(function, {})

    def give_back(self, stack: Drilled, function: str) -> None:
        """As they were."""
        stack.set_environment(function, self.kept.pop(function))


@dataclass(frozen=True, slots=True)
class Barred:
    """A function that may run nowhere, and is called every few seconds all the same."""

    function: str
    is_over: threading.Event = field(default_factory=threading.Event)

    def begin(self, stack: Drilled) -> None:
        """Bar it, and call it until that is over."""
        client = stack.aws.client("lambda")
        client.put_function_concurrency(FunctionName=f"{PREFIX}-{self.function}", ReservedConcurrentExecutions=0)
        threading.Thread(target=self._call, args=(stack,), daemon=True).start()

    def end(self, stack: Drilled) -> None:
        """Let it run again."""
        self.is_over.set()
        stack.aws.client("lambda").delete_function_concurrency(FunctionName=f"{PREFIX}-{self.function}")

    def _call(self, stack: Drilled) -> None:
        while not self.is_over.wait(5):
            # That it is refused is what is wanted.
            with contextlib.suppress(ClientError):
                stack.invoke(self.function, {})


def at_once() -> list[Cause]:
    """What shows within a minute or two."""
    return [
        Cause(
            "somebody sends what is no run to a run queue",
            ("messages-unreadable",),
            lambda stack: stack.send("runs-standard", "hello"),
        ),
        Cause(
            "a tick lies in the dead-letter queue of ticks",
            ("messages-undelivered",),
            lambda stack: stack.send("ticks-dead", "{}"),
        ),
        Cause(
            "a schedule's stored trigger is made nonsense of", ("parked",), _spoil_trigger, _remove("drill-nonsense")
        ),
        Cause("a schedule loses its definition", ("items-damaged",), _lose_definition, _remove("drill-lost")),
        Cause(f"{MANY} runs die, each after its one attempt", ("dead-letters",), _let_runs_die),
        *(_failing(part, FAILING[part] + 1) for part in FAILING),
        _api_failing(),
    ]


def without_dispatcher() -> list[Cause]:
    """What shows after minutes without a dispatcher, while the sweeper goes on; and what takes as long."""
    barred = Barred("worker-backfill")
    return [
        Cause(
            "the tick queue is not polled",
            ("dispatcher-absent", "ticks-old", "shards-stopped"),
            lambda stack: stack.set_polling("ticks", enabled=False),
            lambda stack: stack.set_polling("ticks", enabled=True),
        ),
        Cause(
            "a function may run nowhere, and is called again and again",
            ("functions-throttled",),
            barred.begin,
            barred.end,
        ),
    ]


def without_clockwork() -> list[Cause]:
    """What shows after minutes in which EventBridge Scheduler calls nobody."""
    return [
        Cause(
            f"EventBridge Scheduler no longer calls the {part}",
            (f"{part}-absent",),
            lambda stack, part=part: stack.set_schedule(part, enabled=False),  # type: ignore[misc]  # bound as it is
            lambda stack, part=part: stack.set_schedule(part, enabled=True),  # type: ignore[misc]  # as above
        )
        for part in ("ticker", "sweeper")
    ]


def by_values(spec: AlarmSpec) -> Cause:
    """Values beyond the threshold, put where they count for another minute only."""
    return Cause("values of its metric are put", (spec.name,), lambda stack: put_values(stack, spec), is_real=False)


def put_values(stack: Drilled, spec: AlarmSpec) -> None:
    """As many bad values as the alarm takes, in the oldest of the periods that it looks at."""
    metric = next(iter(metrics_of(spec.metric).values()))
    now, period = datetime.now(UTC), metric.period_seconds
    # Far beyond: a percentile lies between it and what really happens.
    value = 2 * spec.threshold + 1 if spec.comparison == "above" else spec.threshold - 1
    for number in range(spec.of_periods - spec.to_alarm, spec.of_periods):
        # Near the end of its period, so that the alarm is soon over; yet the alarm is looked at every few seconds.
        at = now - timedelta(seconds=period * (number + 1) - min(45, period / 2))
        datum = {
            "MetricName": metric.name,
            "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions],
            "Timestamp": at,
            "Value": value,
        }
        stack.aws.client("cloudwatch").put_metric_data(Namespace=metric.namespace, MetricData=[datum])


def _failing(part: str, times: int) -> Cause:
    function, name = FUNCTIONS.get(part, part), f"{part}-failing"
    if part in WITHOUT_RECORDS:
        what = f"the {part} is called {times} times with what it cannot read"
        return Cause(what, (name,), lambda stack: stack.invoke(function, {}, times))
    settings = Environments()

    def begin(stack: Drilled) -> None:
        settings.take(stack, function)
        stack.invoke(function, {}, times)

    def end(stack: Drilled) -> None:
        settings.give_back(stack, function)

    return Cause(f"the {part} is called {times} times without its settings", (name,), begin, end)


def _api_failing() -> Cause:
    settings = Environments()
    asked: dict[str, Any] = {
        "version": "2.0",
        "rawPath": "/v1/health",
        "rawQueryString": "",
        "headers": {},
        "isBase64Encoded": False,
        "requestContext": {
            "http": {"method": "GET", "path": "/v1/health", "sourceIp": "127.0.0.1"},
            "stage": "$default",
            "authorizer": {"lambda": {"tenant": "demo", "tier": "standard", "role": "viewer", "key_id": "drill"}},
        },
    }

    def begin(stack: Drilled) -> None:
        settings.take(stack, "api")
        stack.invoke("api", asked, 6)

    what = "the API is asked six times without its settings"
    return Cause(what, ("api-failing",), begin, lambda stack: settings.give_back(stack, "api"))


def _remove(schedule_id: str) -> Deed:
    """Out of the store itself: of what has been damaged there, the API can say no more than that."""

    def end(stack: Drilled) -> None:
        for item in stack.items_of(schedule_id):
            key = {"pk": item["pk"], "sk": item["sk"]}
            stack.aws.client("dynamodb").delete_item(TableName=f"{PREFIX}-schedules", Key=key)

    return end


def _spoil_trigger(stack: Drilled) -> None:
    _put(stack, "drill-nonsense", {"every": "10s"}, {"handler": "demo.heartbeat"})
    for item in stack.items_of("drill-nonsense"):
        if "trigger" in item and "due_at" in item:
            stack.aws.client("dynamodb").update_item(
                TableName=f"{PREFIX}-schedules",
                Key={"pk": item["pk"], "sk": item["sk"]},
                UpdateExpression="SET #trigger = :nonsense",
                ExpressionAttributeNames={"#trigger": "trigger"},
                ExpressionAttributeValues={":nonsense": {"S": json.dumps(NONSENSE)}},
            )


def _lose_definition(stack: Drilled) -> None:
    _put(stack, "drill-lost", {"every": "10s"}, {"handler": "demo.heartbeat"})
    for item in stack.items_of("drill-lost"):
        if item["sk"]["S"].startswith("V#"):
            key = {"pk": item["pk"], "sk": item["sk"]}
            stack.aws.client("dynamodb").delete_item(TableName=f"{PREFIX}-schedules", Key=key)


def _let_runs_die(stack: Drilled) -> None:
    # Else their target would be left alone after the first few.
    once = {"retry": {"max_attempts": 1}, "target_breaker": False}
    for number in range(MANY):
        soon = (datetime.now(UTC) + timedelta(seconds=20)).replace(microsecond=0).isoformat().replace("+00:00", "Z")
        _put(stack, f"drill-dies-{number}", {"at": soon}, {"handler": "demo.flaky"}, once, {"failures": 99})


def _put(stack: Drilled, name: str, trigger: Any, target: Any, policies: Any = None, payload: Any = None) -> None:
    body = {"trigger": trigger, "target": target, "policies": policies or {}, "payload": payload}
    stack.api.call("PUT", f"/v1/schedules/{name}", body)

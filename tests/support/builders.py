"""Builders of domain values: a test names only what it is about."""

from datetime import UTC, datetime
from typing import Any

from cronfleet.domain.backlog import stretches_of
from cronfleet.domain.instant import SECOND, Instant, from_datetime
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.run import RunKey, RunMessage
from cronfleet.domain.schedule import Definition, Policies, Spec, Status, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import CronTrigger, IntervalTrigger, Trigger, fires

TENANT = "acme"


def at(text: str) -> Instant:
    """`at("2026-12-01 02:00")` or with seconds, in UTC."""
    return from_datetime(datetime.fromisoformat(text).replace(tzinfo=UTC))


def cron(expression: str, timezone: str = "UTC") -> CronTrigger:
    return CronTrigger(expression, timezone)


def every(seconds: int, anchor: Instant = 0) -> IntervalTrigger:
    return IntervalTrigger(seconds, anchor)


def timer(trigger: Trigger, nominal_at: Instant | None, **changes: Any) -> Timer:
    """An active timer that waits for `nominal_at`, without jitter unless told."""
    values: dict[str, Any] = {
        "tenant": TENANT,
        "schedule_id": "nightly",
        "tier": "standard",
        "shard": 0,
        "status": Status.ACTIVE,
        "trigger": trigger,
        "misfire": Misfire(),
        "overlap": Overlap.ALLOW,
        "jitter_seconds": 0,
        "timeout_seconds": 60,
        "version": 1,
        "epoch": 1,
        "epoch_starts": (0,),
        "born_epoch": 1,
        "rev": 1,
        "nominal_at": nominal_at,
        "due_at": nominal_at,
        "change_id": "created",
    }
    return Timer(**{**values, **changes})


def definition(trigger: Trigger, schedule_id: str = "nightly", **spec: Any) -> Definition:
    values: dict[str, Any] = {"target": HandlerTarget("billing.nightly"), "policies": Policies()}
    return Definition(TENANT, schedule_id, 1, Spec(trigger, **{**values, **spec}), author="tests", created_at=0)


def message(nominal_at: Instant, **changes: Any) -> RunMessage:
    values: dict[str, Any] = {
        "key": RunKey(TENANT, changes.pop("schedule_id", "nightly"), changes.pop("epoch", 1), nominal_at),
        "tier": "standard",
        "attempt": 1,
        "due_at": nominal_at,
        "claimed_at": nominal_at - 5 * SECOND,
        "batch": "0.1.1",
        "version": 1,
        "timeout_seconds": 60,
    }
    return RunMessage(**{**values, **changes})


def backlog_of(timer: Timer) -> list[Instant]:
    """The nominals that wait in a timer's backlog."""
    stretches = stretches_of(timer.backlog)
    return [nominal for one in stretches for nominal in fires(timer.trigger, one.first_at - 1, one.last_at)]

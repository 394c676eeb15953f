"""Values of every kind that a store must keep exactly."""

from dataclasses import replace
from typing import Any

from cronfleet.domain.audit import AuditEntry
from cronfleet.domain.cancel_request import CancelRequest
from cronfleet.domain.claim import Batch, BatchId, Fire, RunClaim, RunTimer, ScheduleClaim, SkippedRange, TimerKind
from cronfleet.domain.clock_policy import Gap, Repeat
from cronfleet.domain.cron_grammar import Dialect
from cronfleet.domain.dependency import AfterTrigger, Else, On
from cronfleet.domain.execution import Execution
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.progress import Progress
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.retry import Backoff, BackoffKind, Retry
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus
from cronfleet.domain.schedule import Definition, Hold, Pause, Policies, Shadow, Spec, Status, Timer
from cronfleet.domain.slot import SlotLease
from cronfleet.domain.spread import Spread
from cronfleet.domain.target import (
    EcsTaskTarget,
    EventBridgeTarget,
    HandlerTarget,
    LambdaTarget,
    SnsTarget,
    SqsTarget,
    StepFunctionsTarget,
    WebhookTarget,
)
from cronfleet.domain.trace import TraceContext
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger
from cronfleet.domain.zone_stamp import ZoneStamp
from tests.support.builders import TENANT, cron, definition, every, timer
from tests.support.settable_clock import NOON

MINUTELY = every(60)
ORIGIN = TraceContext("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", sampled=True)
WHY = Reason(Code.TENANT_RATE, "the tenant has had its share", {"until": NOON, "of": "tick"})


def waiting(schedule_id: str = "nightly", due_at: Instant | None = NOON, **changes: Any) -> Timer:
    """A timer that waits for `due_at`; `None` for one that waits for nothing."""
    changes.setdefault("change_id", f"created {schedule_id}")
    nominal_at = changes.pop("nominal_at", due_at)
    return timer(MINUTELY, nominal_at, due_at=due_at, schedule_id=schedule_id, **changes)


def changed(before: Timer, change_id: str, **changes: Any) -> Timer:
    """What a caller's change makes of a timer."""
    return replace(before, rev=before.rev + 1, change_id=change_id, **changes)


def timers() -> list[Timer]:
    """Timers of every kind."""
    paused = Pause("ops@acme", NOON, "quarter end – läuft später", NOON + DAY)
    full = Misfire(MisfirePolicy.CATCH_UP, 25, 7, 3_600, 10)
    return [
        waiting("plain"),
        waiting("counted", is_counted=True),
        waiting("spread", jitter_seconds=734, is_spread=True),
        waiting("spread by nothing", is_spread=True),
        waiting("fed", feeds=True),
        timer(AfterTrigger(("load", "clean"), On.FAILURE, 7_200, Else.RUN), None, schedule_id="after"),
        waiting("nothing-left", None, status=Status.COMPLETED, claim_batch="3.17.2"),
        waiting("paused", NOON + DAY, status=Status.PAUSED, pause=paused, nominal_at=NOON + MINUTE),
        waiting("held", None, status=Status.HELD, hold=Hold("ops@acme", NOON), nominal_at=NOON),
        waiting("shadow", status=Status.HELD, hold=Hold("ops@acme", NOON, Shadow("dev@acme", NOON + 1))),
        waiting("parked", None, status=Status.PARKED, parked=Reason(Code.UNREADABLE, "no such zone")),
        waiting("deferred", NOON + 5 * SECOND, nominal_at=NOON, deferred=WHY),
        waiting("tombstone", None, status=Status.CANCELLED, epoch=9, epoch_starts=(NOON,), rev=30),
        timer(
            CronTrigger("30 2 ? * 2#1 2027/2", "Europe/Paris", Gap.AFTER, Repeat.BOTH, Dialect.AWS),
            NOON,
            schedule_id="chosen",
        ),
        timer(
            cron("0 2 * * *", "Asia/Kolkata"),
            NOON,
            schedule_id="full",
            tier="priority",
            shard=63,
            misfire=full,
            after_pause=Misfire(MisfirePolicy.FIRE_ONCE, 1, 300, DAY // SECOND, 1),
            overlap=Overlap.SKIP,
            jitter_seconds=60,
            timeout_seconds=840,
            version=7,
            epoch=3,
            epoch_starts=(NOON - 2 * DAY, NOON - DAY),
            born_epoch=1,
            rev=12,
            due_at=NOON + 42 * SECOND,
            start_at=NOON - 9 * DAY,
            end_at=NOON + 9 * DAY,
            claim_batch="63.4.1",
            zone_data=ZoneStamp("2026f", 19_800),
            created_at=NOON - 9 * DAY - 1,
            updated_at=NOON - 1,
        ),
        replace(waiting("once"), trigger=OneShotTrigger(NOON, "2026-11-30T17:30:00+05:30", None)),
        replace(waiting("once-zoned"), trigger=OneShotTrigger(NOON, "2026-11-30T17:30:00", "Asia/Kolkata")),
    ]


def definitions() -> list[Definition]:
    """Definitions of every kind of target, payload and policy."""
    policies = Policies(
        Misfire(MisfirePolicy.SKIP, 1, 0), Overlap.SKIP, 30, Retry(1, Backoff(BackoffKind.FIXED, 1, 2)), 5
    )
    policies = replace(policies, after_pause=Misfire(MisfirePolicy.CATCH_UP, 3, 300, 60, 600))
    payload = {"amount": 0.1, "nested": [None, True, {"ключ": "значение"}], "empty": "", "half": "\ud83d"}
    spec = Spec(
        cron("*/5 * * * *"),
        WebhookTarget("https://example.com/hook", "cronfleet/acme/hook"),
        "billing",
        "Sends the bills.",
        payload,
        policies,
        {"team": "billing", "stage": "prod"},
        NOON,
        NOON + DAY,
    )
    return [
        definition(MINUTELY, "handler"),
        definition(MINUTELY, "function", target=LambdaTarget("cronfleet-target-bills"), payload=[]),
        definition(MINUTELY, "bare-hook", target=WebhookTarget("https://example.com"), payload="text"),
        Definition(TENANT, "full", 12, spec, "ops@acme", NOON, "as agreed"),
        *(definition(MINUTELY, f"role-{number}", target=one) for number, one in enumerate(ROLE_TARGETS)),
        definition(MINUTELY, "named", target=HandlerTarget("billing.nightly"), payload=0),
        definition(MINUTELY, "beating", policies=Policies(heartbeat_seconds=30)),
        definition(MINUTELY, "spread", policies=Policies(spread=Spread(3_600, 734))),
    ]


ROLE = "arn:aws:iam::123456789012:role/cronfleet-target-bills"
_AT = "us-east-1:123456789012"
ROLE_TARGETS = (
    SqsTarget(f"arn:aws:sqs:{_AT}:bills", ROLE),
    SnsTarget(f"arn:aws:sns:{_AT}:bills", ROLE),
    EventBridgeTarget(f"arn:aws:events:{_AT}:event-bus/default", ROLE, "acme.bills", "Bills"),
    StepFunctionsTarget(f"arn:aws:states:{_AT}:stateMachine:bills", ROLE),
    EcsTaskTarget(
        f"arn:aws:ecs:{_AT}:task-definition/bills:3", f"arn:aws:ecs:{_AT}:cluster/c", "job", ROLE, subnets=("s",)
    ),
)
"""Targets of every kind that is called as a role."""


def run(nominal_at: Instant = NOON, cause: str = "schedule", **changes: Any) -> Run:
    """A row that a worker has just started."""
    key = RunKey(TENANT, changes.pop("schedule_id", "nightly"), changes.pop("epoch", 1), nominal_at, cause)
    values: dict[str, Any] = {
        "status": RunStatus.RUNNING,
        "due_at": nominal_at,
        "tier": "standard",
        "version": 1,
        "batch": "0.1.1",
        "claimed_at": nominal_at - 7_654,
        "fence": 1,
        "attempts": (Attempt(1, 1, "0" * 26, nominal_at + 12),),
        "lease_until": nominal_at + 70_012,
        "started_at": nominal_at + 12,
        "lag_ms": 12,
    }
    return Run(key, **{**values, **changes})


def rows() -> list[Run]:
    """Rows of every kind."""
    failed = Attempt(1, 1, "a" * 26, NOON, NOON + 5, Outcome.FAILED, "ValueError: no «bill»")
    lost = Attempt(2, 2, "b" * 26, NOON + 9, NOON + 10, Outcome.LOST, None)
    going = Attempt(3, 3, "c" * 26, NOON + 11)
    elsewhere = Execution(NOON + 12, NOON + HOUR, "arn:aws:states:…:execution:billing:run_1-3")
    slot = SlotLease(2, 7, NOON + 2 * HOUR)
    started = replace(elsewhere, is_started=True, stopping_at=NOON + 13, slot=slot, holder="acme~nightly/3/x")
    manual = "manual-01kb0000000000000000000000"
    missed = Reason(Code.MISSED, "nothing fired until 12:00", {"noticed_at": NOON})
    return [
        run(),
        run(NOON + 2 * MINUTE, kept_days=400),
        run(NOON + MINUTE, rev=7, fence=3, attempts=(failed, lost, going)),
        run(NOON + 4 * MINUTE, attempts=(replace(failed, execution=elsewhere), replace(going, execution=started))),
        run(NOON, manual, status=RunStatus.QUEUED, attempts=(), payload=None, has_payload=True, started_at=None),
        run(NOON + SECOND, manual, status=RunStatus.QUEUED, payload={"a": [1.5, "x"]}, has_payload=True),
        run(NOON, "rerun-o1x2", ancestor="acme~nightly~1~20261130T110000Z~schedule", operation="o1", is_pinned=True),
        run(NOON + 3 * MINUTE, status=RunStatus.QUEUED, joined={}, attempts=(), started_at=None),
        run(NOON + HOUR, manual, origin=ORIGIN),
        run(NOON, "rerun-o1x3", flows_on=True, joined={"load": RunStatus.SUCCEEDED, "clean": RunStatus.DEAD}),
        run(NOON + HOUR, status=RunStatus.WAITING, lease_until=None, retry_at=NOON + DAY, reason=WHY),
        run(
            NOON + DAY,
            cancel=CancelRequest(NOON + 1, "ada", "wrong day"),
            progress=Progress(NOON + 2, 0.25, "a «half»"),
        ),
        run(NOON + DAY + MINUTE, progress=Progress(NOON + 2)),
        run(NOON + DAY + HOUR, progress=Progress(NOON + 2, 1.0)),
        run(NOON - HOUR, status=RunStatus.DEAD, finished_at=NOON, attempts=(failed,), lease_until=None, reason=missed),
        Run(
            RunKey(TENANT, "nightly", 2, NOON),
            RunStatus.MISSED,
            NOON,
            "priority",
            until_nominal_at=NOON + DAY,
            finished_at=NOON + DAY,
            reason=missed,
        ),
    ]


def run_timer(attempt: int = 2, due_at: Instant = NOON, **changes: Any) -> RunTimer:
    key = RunKey(TENANT, changes.pop("schedule_id", "nightly"), 1, NOON)
    values: dict[str, Any] = {"tier": "standard", "shard": 0, "version": 1, "timeout_seconds": 60}
    return RunTimer(key, TimerKind.RETRY, attempt, due_at, **{**values, **changes})


def claim_of(one: Timer, *due_ats: Instant, following: Instant | None = NOON + MINUTE) -> ScheduleClaim:
    """The claim of what `one` waits for, and of the further times in `due_ats`."""
    assert one.nominal_at is not None
    assert one.due_at is not None
    fires = (Fire(one.nominal_at, one.due_at), *(Fire(due_at, due_at) for due_at in due_ats))
    return ScheduleClaim(
        one.tenant,
        one.schedule_id,
        one.tier,
        one.rev,
        one.epoch,
        one.version,
        one.timeout_seconds,
        one.nominal_at,
        one.due_at,
        fires,
        skipped=(),
        following=None if following is None else Fire(following, following),
    )


def batch(batch_id: BatchId, *claims: ScheduleClaim | RunClaim, previous: BatchId | None = None) -> Batch:
    return Batch(batch_id, previous, NOON - 3, claims)


def skipping(claim: ScheduleClaim) -> ScheduleClaim:
    """The same claim, with fires before it that are dropped."""
    first_at = claim.nominal_at - DAY
    return replace(claim, fires=(), skipped=(SkippedRange(first_at, claim.nominal_at, WHY),))


def audit(entry_id: str = "entry-1", **changes: Any) -> AuditEntry:
    values: dict[str, Any] = {
        "tenant": TENANT,
        "at": NOON,
        "actor": "key:demo",
        "action": "pause",
        "subject": "schedule:nightly",
        "request_id": f"request of {entry_id}",
        "before": {"status": "active", "payload": None},
        "after": {"status": "paused", "share": 0.5},
        "reason": "",
    }
    return AuditEntry(entry_id=entry_id, **{**values, **changes})

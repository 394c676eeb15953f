"""The form in which callers see schedules and runs: plain JSON values, instants as RFC 3339 text.

The API answers with it, and the audit log keeps it. Every default is spelled out.
"""

from typing import Any

from cronfleet.domain.backlog import Backlog
from cronfleet.domain.claim import Fire
from cronfleet.domain.dispatch_plan import regular_fire
from cronfleet.domain.explanation import Explanation
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.objective_form import objectives_form
from cronfleet.domain.outlook import NamedFire
from cronfleet.domain.reason import Reason, detail_form
from cronfleet.domain.run import Attempt, Run
from cronfleet.domain.schedule import BreakerPolicy, Definition, Policies, Spec, Status, Timer
from cronfleet.domain.spread import spread_text
from cronfleet.domain.target_form import target_form
from cronfleet.domain.time_text import interval_text
from cronfleet.domain.trigger import describe

Form = dict[str, Any]


def _text(instant: Instant | None) -> str | None:
    return None if instant is None else to_text(instant)


def spec_form(spec: Spec) -> Form:
    """What a caller writes to get this `spec`."""
    return {
        "description": spec.description,
        "owner": spec.owner,
        "trigger": describe(spec.trigger),
        "target": target_form(spec.target),
        "payload": spec.payload,
        "policies": policies_form(spec.policies),
        "labels": dict(spec.labels),
        "start_at": _text(spec.start_at),
        "end_at": _text(spec.end_at),
        "objectives": None if spec.objectives is None else objectives_form(spec.objectives),
    }


def policies_form(policies: Policies) -> Form:
    """All policies."""
    retry = policies.retry
    return {
        "misfire": _misfire_form(policies.misfire),
        "after_pause": _misfire_form(policies.after_pause),
        "overlap": policies.overlap.value,
        "concurrency_key": policies.concurrency_key or None,
        "jitter_seconds": policies.jitter_seconds,
        "spread": None if policies.spread is None else spread_text(policies.spread),
        "retry": {
            "max_attempts": retry.max_attempts,
            "backoff": {
                "kind": retry.backoff.kind.value,
                "base_seconds": retry.backoff.base_seconds,
                "max_seconds": retry.backoff.max_seconds,
            },
        },
        "timeout_seconds": policies.timeout_seconds,
        "heartbeat_timeout": interval_text(policies.heartbeat_seconds) if policies.heartbeat_seconds else None,
        "breaker": _breaker_form(policies.breaker),
        "target_breaker": policies.target_breaker,
    }


def _breaker_form(breaker: BreakerPolicy | None) -> Form | None:
    if breaker is None:
        return None
    return {"failures": breaker.failures, "cooldown": interval_text(breaker.cooldown_seconds)}


def _misfire_form(misfire: Misfire) -> Form:
    return {
        "policy": misfire.policy.value,
        "max": misfire.max,
        "grace_seconds": misfire.grace_seconds,
        "window_seconds": misfire.window_seconds,
        "per_minute": misfire.per_minute,
    }


def schedule_form(timer: Timer, definition: Definition) -> Form:
    """A schedule: what its caller wrote, and where it stands."""
    fires = timer.status is Status.ACTIVE
    return {
        "id": timer.schedule_id,
        **spec_form(definition.spec),
        "status": timer.status.value,
        "version": timer.version,
        "next_fire_at": _text(timer.nominal_at) if fires else None,
        "next_due_at": _next_due_at(timer) if fires else None,
        "catching_up": _backlog_form(timer.backlog) if fires else None,
        "paused": _pause_form(timer),
        "hold": _hold_form(timer),
        "parked": reason_form(timer.parked),
        "deferred": reason_form(timer.deferred),
        "spread_offset_seconds": timer.jitter_seconds if timer.is_spread else None,
        "created_at": to_text(timer.created_at),
        "updated_at": to_text(timer.updated_at),
    }


def _next_due_at(timer: Timer) -> str | None:
    fire = regular_fire(timer)
    return None if fire is None else to_text(fire.due_at)


def _backlog_form(backlog: Backlog | None) -> Form | None:
    """What is still to be caught up, and when the next turn comes."""
    if backlog is None:
        return None
    stretches = [
        {
            "from_nominal_at": to_text(one.first_at),
            "until_nominal_at": to_text(one.last_at),
            "per_minute": one.per_minute,
            "window_seconds": one.window_seconds,
            "caught_up": reason_form(one.late.reason),
        }
        for one in backlog.stretches
    ]
    return {"next_turn_at": to_text(backlog.due_at), "stretches": stretches}


def _pause_form(timer: Timer) -> Form | None:
    pause = timer.pause
    if pause is None:
        return None
    return {"by": pause.by, "reason": pause.reason, "at": to_text(pause.at), "until": _text(pause.until)}


def _hold_form(timer: Timer) -> Form | None:
    hold = timer.hold
    if hold is None:
        return None
    shadow = None if hold.shadow is None else {"by": hold.shadow.by, "at": to_text(hold.shadow.at)}
    return {"by": hold.by, "at": to_text(hold.at), "shadow": shadow}


def reason_form(reason: Reason | None) -> Form | None:
    """Why: the code, a sentence, and details."""
    if reason is None:
        return None
    return {"code": reason.code.value, "text": reason.text, "detail": detail_form(reason.detail)}


def fire_form(fire: Fire) -> Form:
    """A fire: the calendar's time and ours."""
    return {"nominal_at": to_text(fire.nominal_at), "due_at": to_text(fire.due_at)}


def named_fire_form(fire: NamedFire) -> Form:
    """A fire, and whether a freeze holds it."""
    return {**fire_form(Fire(fire.nominal_at, fire.due_at)), "frozen": fire.is_frozen}


def run_form(run: Run) -> Form:
    """A row of the ledger: a run, a skip, or a range (which has `until_nominal_at`)."""
    return {
        "run_id": run.key.run_id,
        "schedule_id": run.key.schedule_id,
        "cause": run.key.cause,
        "nominal_at": to_text(run.key.nominal_at),
        "until_nominal_at": _text(run.until_nominal_at),
        "due_at": to_text(run.due_at),
        "claimed_at": _text(run.claimed_at),
        "started_at": _text(run.started_at),
        "finished_at": _text(run.finished_at),
        "lag_seconds": None if run.lag_ms is None else run.lag_ms / 1_000,
        "status": run.status.value,
        "version": run.version,
        "is_pinned": run.is_pinned,
        "ancestor": run.ancestor or None,
        "operation": run.operation or None,
        "trace_id": None if run.until_nominal_at is not None else run.trace.trace_id,
        "lane": run.key.lane.value,
        "parents": None if run.joined is None else {name: end.value for name, end in sorted(run.joined.items())},
        "retry_at": _text(run.retry_at),
        "resent_at": _text(run.resent_at),
        "reason": reason_form(run.reason),
        "cancel_requested": _cancel_form(run),
        "progress": _progress_form(run),
        "caught_up": None if run.late is None else reason_form(run.late.reason),
        "attempts": [_attempt_form(attempt) for attempt in run.attempts],
    }


def _cancel_form(run: Run) -> Form | None:
    """Who asked for the cancellation of a run that was running."""
    cancel = run.cancel
    return None if cancel is None else {"at": to_text(cancel.at), "by": cancel.by, "reason": cancel.reason}


def _progress_form(run: Run) -> Form | None:
    """What the latest attempt last told of itself."""
    told = run.progress
    if told is None:
        return None
    return {"beat_at": to_text(told.beat_at), "fraction": told.fraction, "text": told.text}


def _attempt_form(attempt: Attempt) -> Form:
    return {
        "number": attempt.number,
        "fence": attempt.fence,
        "started_at": to_text(attempt.started_at),
        "finished_at": _text(attempt.finished_at),
        "outcome": None if attempt.outcome is None else attempt.outcome.value,
        "error": attempt.error,
        "execution": _execution_form(attempt),
    }


def _execution_form(attempt: Attempt) -> Form | None:
    """What was handed over for the attempt, to go on elsewhere."""
    execution = attempt.execution
    if execution is None:
        return None
    began_at, deadline_at = to_text(execution.began_at), to_text(execution.deadline_at)
    return {"handle": execution.handle or None, "began_at": began_at, "deadline_at": deadline_at}


def explanation_form(explanation: Explanation) -> Form:
    """What became of one time, or of a stretch of fires (which has `until_nominal_at`)."""
    return {
        "at": to_text(explanation.at),
        "until_nominal_at": _text(explanation.until_nominal_at),
        "count": explanation.count,
        "code": explanation.code.value,
        "text": explanation.text,
        "detail": dict(explanation.detail),
        "is_named": explanation.is_named,
        "is_decided": explanation.is_decided,
        "run": None if explanation.run is None else run_form(explanation.run),
        "others": [run_form(run) for run in explanation.others],
    }

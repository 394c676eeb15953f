"""Attempts: who may start a run, whether it may go on, and what its end means.

Three decisions, each a pure function: `decide_start` (may this message start an attempt of that row?),
`decide_admission` (the row is ours: does the schedule still want it?) and `decide_finish` (what does the
outcome make of the row?). `docs/states.md` shows them as tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.execution import Execution
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.frozen import frozen_reason, in_force, look_again
from cronfleet.domain.hold import Hold, hold_detail, hold_words
from cronfleet.domain.instant import MINUTE, SECOND, Instant, ceil_second
from cronfleet.domain.join import decide_join
from cronfleet.domain.lag import lag_ms
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.long_run import lease_until, stops_at
from cronfleet.domain.reason import Code, Detail, Reason
from cronfleet.domain.retry import Retry, next_attempt_at
from cronfleet.domain.run import (
    MAX_ERROR_CHARACTERS,
    MAX_INTERRUPTIONS,
    Attempt,
    Outcome,
    Run,
    RunMessage,
    RunStatus,
    too_old,
)
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.time_limit import is_long
from cronfleet.domain.trigger import UNCOMPUTABLE, latest_fires

FINISH_MARGIN: Final = 5 * SECOND
"""The end of a lease that an attempt never runs into: there it is stopped and its end is written."""

PAUSE_CHECK: Final = MINUTE
"""How often a retry that waits out a pause looks again, when the pause has no end of its own."""


@dataclass(frozen=True, slots=True)
class Start:
    """Write `run` (which holds the new attempt) on the condition that the stored row is still the one decided on.

    `is_takeover`: the message was sent for an earlier attempt, whose worker died; what was taken for that has to be
    looked at.
    """

    run: Run
    is_takeover: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    """Write `run`, which is terminal, and delete the message."""

    run: Run


@dataclass(frozen=True, slots=True)
class Drop:
    """Delete the message: it has nothing to start. Giving it back would dead-letter a live run."""

    reason: Reason


StartDecision: TypeAlias = Start | Refuse | Drop


def _blank(message: RunMessage) -> Run:
    return Run(
        message.key,
        RunStatus.QUEUED,
        due_at=message.due_at,
        tier=message.tier,
        rev=0,
        version=message.version,
        batch=message.batch,
        claimed_at=message.claimed_at,
        late=message.late,
        kept_days=message.kept_days,
        origin=message.trace,
    )


def _started(row: Run, message: RunMessage, owner: str, now: Instant) -> Run:
    attempt = Attempt(row.attempt + 1, row.fence + 1, owner, now)
    first = row.started_at is None
    return row.moved(
        RunStatus.RUNNING,
        fence=attempt.fence,
        attempts=(*row.attempts, attempt),
        lease_until=lease_until(message.timeout_seconds, now),
        retry_at=None,
        batch=message.batch,
        claimed_at=message.claimed_at if first else row.claimed_at,
        version=row.version or message.version,
        started_at=now if first else row.started_at,
        lag_ms=lag_ms(row.due_at, now) if first else row.lag_ms,
        resent_at=message.resent_at or row.resent_at,
        progress=None,
    )


def decide_start(row: Run | None, message: RunMessage, owner: str, now: Instant) -> StartDecision:
    """Whether `message` may start an attempt on `row` (`None`: there is no row).

    Allowed when there is no row and this is attempt 1, when the row is queued, when it is running under an
    expired lease (a takeover, which counts as an attempt), and when it waits for exactly this attempt. A run whose
    worker died and whose cancellation had been asked for ends instead.
    """
    refusal = too_old(message.claimed_at, now)
    if row is None:
        blank = _blank(message)
        if refusal is not None:
            return Refuse(blank.ended(RunStatus.REFUSED, now, refusal))
        if message.attempt == 1:
            return Start(_started(blank, message, owner, now))
        return Drop(Reason(Code.OUT_OF_TURN, f"attempt {message.attempt} of a run that has no row"))
    if row.is_terminal:
        return Drop(Reason(Code.FINISHED, f"the run is {row.status}"))
    if row.status is RunStatus.RUNNING:
        return _take_over(row, message, owner, now)
    if refusal is not None:
        return Refuse(row.ended(RunStatus.REFUSED, now, refusal))
    if row.status is RunStatus.QUEUED or _in_turn(row, message, now):
        return Start(_started(row, message, owner, now))
    return Drop(Reason(Code.OUT_OF_TURN, f"attempt {message.attempt}; the run waits for {row.attempt + 1}"))


def _in_turn(row: Run, message: RunMessage, now: Instant) -> bool:
    if message.attempt != row.attempt + 1 or row.retry_at is None:
        return False
    # A stray copy from before the attempt was put off has its number too; but it is older.
    return row.retry_at <= min(now, message.due_at)


def _take_over(row: Run, message: RunMessage, owner: str, now: Instant) -> StartDecision:
    if row.execution is not None:
        # Whatever its lease says: its errand ends it, and a second attempt beside it would be a second run.
        return Drop(Reason(Code.LIVE_LEASE, f"attempt {row.attempt} goes on elsewhere, and is followed"))
    if row.lease_until is not None and row.lease_until > now:
        return Drop(Reason(Code.LIVE_LEASE, f"attempt {row.attempt} holds a lease", {"lease_until": row.lease_until}))
    lost = _close_attempt(row, Outcome.LOST, "its worker stopped without a word", now)
    if row.cancel is not None:
        return Refuse(lost.ended(RunStatus.CANCELLED, now, row.cancel.as_reason))
    return Start(_started(lost, message, owner, now), is_takeover=True)


def _close_attempt(row: Run, outcome: Outcome, error: str | None, now: Instant) -> Run:
    text = None if error is None else error[:MAX_ERROR_CHARACTERS]
    closed = replace(row.attempts[-1], finished_at=now, outcome=outcome, error=text)
    return replace(row, attempts=(*row.attempts[:-1], closed))


@dataclass(frozen=True, slots=True)
class Admit:
    """Call the target under definition `version`."""

    version: int


@dataclass(frozen=True, slots=True)
class End:
    """Do not call the target; the row becomes `status` for `reason`."""

    status: RunStatus
    reason: Reason


@dataclass(frozen=True, slots=True)
class Wait:
    """Do not call the target yet; the same attempt is tried again at `until`.

    `late` is why a run is late that has not begun yet. With `may_come_at` it may be woken from then on.
    """

    until: Instant
    reason: Reason
    late: Late | None = None
    may_come_at: Instant | None = None


Admission: TypeAlias = Admit | End | Wait


def decide_admission(run: Run, timer: Timer | None, now: Instant, freezes: Sequence[Freeze] = ()) -> Admission:
    """Whether the schedule, read strongly after the row was started, still wants this attempt.

    Other causes pass a pause and a changed trigger, but not the end of the schedule's life: one that is created
    anew under the same id owes its predecessor nothing. A retry waits out a pause; a first attempt ends with it.
    `freezes` are those of the schedule that are in force or have lately ended: nothing passes one.
    """
    if timer is None or timer.status is Status.CANCELLED or run.key.epoch < timer.born_epoch:
        return End(RunStatus.CANCELLED, Reason(Code.CANCELLED, "the schedule was cancelled before the run started"))
    first = run.attempt == 1
    if run.key.is_scheduled:
        if timer.status in (Status.HELD, Status.PARKED):
            return _hold_back(first, now, Reason(Code.NOT_ON, f"the schedule is {timer.status}"))
        if timer.status is Status.PAUSED:
            return _hold_back(first, now, paused_reason(timer), timer.due_at)
        # Asked of later attempts too: they get here only if the first one's worker died before it could say so.
        ended_at = timer.epoch_ended_at(run.key.epoch)
        if ended_at is not None and run.own_due_at > ended_at:
            text = "the trigger changed, or the schedule was resumed, before this fire was due"
            return End(RunStatus.SKIPPED, Reason(Code.SUPERSEDED, text, {"epoch": timer.epoch}))
    return (
        _joined(run, timer)
        or _frozen(run, timer, now, freezes)
        or Admit(timer.version if first and not run.is_pinned else run.version)
    )


def _joined(run: Run, timer: Timer) -> End | None:
    """What the ends of its parents make of a run that they name. Later attempts are its own affair."""
    if run.joined is None or (run.attempt > 1 and run.attempts[-2].outcome is not Outcome.LOST):
        return None
    if not isinstance(timer.trigger, AfterTrigger) or run.key.epoch != timer.epoch:
        return End(RunStatus.SKIPPED, Reason(Code.SUPERSEDED, "the trigger changed before this run had begun"))
    verdict = decide_join(run, timer.trigger)
    return None if verdict is None else End(*verdict)


def _frozen(run: Run, timer: Timer, now: Instant, freezes: Sequence[Freeze]) -> Admission | None:
    """What a freeze makes of an attempt: a fire that was claimed when it came ends with it, unless the schedule wants
    what a pause held back; whatever else waits for the thaw.
    """
    freeze = in_force(freezes, now)
    if run.key.is_scheduled and run.attempt == 1:
        over = freeze or _waited_out(run, now, freezes)
        if over is not None and not _is_wanted(run, timer, over, now):
            return End(RunStatus.FROZEN, frozen_reason(over, "was claimed and not started"))
    if freeze is None:
        return None
    late = run.late or Late(Cause.FREEZE, run.key.nominal_at, run.key.nominal_at, now)
    return Wait(look_again(freeze, now), frozen_reason(freeze, "waits for the thaw"), late)


def _waited_out(run: Run, now: Instant, freezes: Sequence[Freeze]) -> Freeze | None:
    """The freeze for whose end `run` was put off, now that it is over."""
    if run.late is None or run.late.cause is not Cause.FREEZE:
        return None
    ended = [one for one in freezes if one.has_ended(now) and (one.until or 0) > run.due_at]
    return max(ended, key=lambda one: one.until or 0, default=None)


def _is_wanted(run: Run, timer: Timer, freeze: Freeze, now: Instant) -> bool:
    """Whether the schedule's policy for pauses wants a fire that was claimed when `freeze` came.

    It wants the newest of what was held back: what the freeze has held back since counts before it.
    """
    late, nominal_at, policy = run.late, run.key.nominal_at, timer.after_pause
    if late is not None and (late.cause is not Cause.FREEZE or late.from_at != late.until_at):
        return True  # To be caught up it was wanted already.
    if policy.window_seconds is not None and nominal_at < now - policy.window_seconds * SECOND:
        return False
    until = now if freeze.until is None else min(now, freeze.until - 1)
    try:
        newer = latest_fires(timer.trigger, nominal_at, timer.capped(until), policy.wanted)
    except UNCOMPUTABLE:
        newer = []  # Its schedule is about to be parked; this fire was named while it still computed.
    return len(newer) < policy.wanted


def paused_reason(timer: Timer) -> Reason:
    """Why nothing starts while `timer` is paused: who paused it and what they said."""
    pause = timer.pause
    if pause is None:
        return Reason(Code.PAUSED, "paused by someone")
    said = f": {pause.reason}" if pause.reason else ""
    detail: Detail = {"by": pause.by, "why": pause.reason, "paused_at": pause.at}
    return Reason(Code.PAUSED, f"paused by {pause.by}{said}", detail)


def _hold_back(first: bool, now: Instant, reason: Reason, until: Instant | None = None) -> Admission:
    if first:
        return End(RunStatus.SKIPPED, reason)
    return Wait(max(until or 0, now + PAUSE_CHECK), reason)


def not_admitted(run: Run, end: End, now: Instant) -> Run:
    """The row after admission refused its attempt for good."""
    closed = _close_attempt(run, Outcome.NOT_STARTED, end.reason.text, now)
    return closed.ended(end.status, now, end.reason)


def held_back(run: Run, wait: Wait) -> Run:
    """The row after admission put its attempt off: the attempt was not made, so its number comes again."""
    previous = run.attempts[:-1]
    retry_at = wait.until if wait.may_come_at is None else wait.may_come_at
    put_off = run.moved(RunStatus.WAITING, attempts=previous, lease_until=None, retry_at=retry_at, reason=wait.reason)
    if previous:
        return put_off
    # Lag is counted to the start of the first attempt that is made.
    return replace(put_off, started_at=None, lag_ms=None, late=wait.late or run.late)


def versioned(run: Run, version: int, seconds: int, now: Instant) -> Run:
    """The row after an edit came between claim and start: the new version noted, the lease fit to its limit.

    Written before the target is called, so that later attempts keep the version of the first.
    """
    return run.moved(RunStatus.RUNNING, version=version, lease_until=lease_until(seconds, now))


def handed_over(run: Run, execution: Execution) -> Run:
    """The row of an attempt that goes on elsewhere, or after something was noted of that."""
    attempts = (*run.attempts[:-1], replace(run.attempts[-1], execution=execution))
    return run.moved(RunStatus.RUNNING, attempts=attempts, lease_until=execution.lease_until)


def deadline_at(run: Run, timeout_seconds: int, now: Instant) -> Instant:
    """When the attempt is stopped: its time limit from `now`, and never inside the end of a lease for all of it.

    A short lease is renewed meanwhile: only one that is nearly over already leaves no time at all.
    """
    limit_at = now + timeout_seconds * SECOND
    if is_long(timeout_seconds):
        return limit_at if now < stops_at(run) else now
    lease_end = run.lease_until if run.lease_until is not None else now
    return min(limit_at, lease_end - FINISH_MARGIN)


def for_other_workers(now: Instant) -> Wait:
    """What an attempt waits for whose limit was raised past a worker function's, or lowered, on its way to one."""
    text = "its limit was changed while it was on its way, so that it goes to workers of the other kind"
    return Wait(ceil_second(now) + SECOND, Reason(Code.OTHER_WORKERS, text))


def for_release(run: Run, hold: Hold, now: Instant) -> Wait:
    """What an attempt waits for that was started when its installation had become a standby: nobody is called there."""
    late = run.late or Late(Cause.HOLD, run.key.nominal_at, run.key.nominal_at, now)
    return Wait(ceil_second(now) + SECOND, Reason(Code.HELD, hold_words(hold), hold_detail(hold)), late)


def attempts_left(run: Run, retry: Retry) -> End | None:
    """A takeover counts as an attempt: the end of a run whose workers died once too often."""
    if run.tries <= retry.max_attempts:
        return None
    text = f"all {retry.max_attempts} attempts failed; the last was lost with its worker"
    return End(RunStatus.DEAD, Reason(Code.ATTEMPTS, text))


@dataclass(frozen=True, slots=True)
class Result:
    """What a target call came to; `error` is one short line. A failure that is not `retryable` ends the run."""

    outcome: Outcome
    error: str | None = None
    retryable: bool = True


def decide_finish(run: Run, result: Result, retry: Retry, now: Instant, target: str = "") -> Run:
    """The row after its attempt ended: succeeded, waiting for the next attempt, or dead.

    Cancelled, if that was asked for and it did not succeed all the same. `target` is the kind of target that was
    called, for the signature of a failure.
    """
    closed = _close_attempt(run, result.outcome, result.error, now)
    if result.outcome is Outcome.SUCCEEDED:
        return closed.ended(RunStatus.SUCCEEDED, now)
    if run.cancel is not None:
        return closed.ended(RunStatus.CANCELLED, now, run.cancel.as_reason)
    if result.outcome is Outcome.INTERRUPTED and closed.interruptions <= MAX_INTERRUPTIONS:
        # Its next attempt begins as soon as there is somebody to make it.
        reason = Reason(Code.INTERRUPTED, f"{result.error or 'its worker had to stop'}; it goes on elsewhere")
        return closed.moved(RunStatus.WAITING, retry_at=ceil_second(now), lease_until=None, reason=reason)
    if not result.retryable:
        text = f"{result.error}; a retry cannot mend it"
        return closed.ended(RunStatus.DEAD, now, Reason(Code.PERMANENT, text), target)
    due = next_attempt_at(retry, run.key.run_id, closed.tries, now)
    if due is None:
        return closed.ended(RunStatus.DEAD, now, Reason(Code.ATTEMPTS, f"all {run.attempt} attempts failed"), target)
    return closed.moved(RunStatus.WAITING, retry_at=due, lease_until=None, reason=None)


def is_still_held(run: Run, stored: Run) -> bool:
    """Whether `stored`, found where `run` was to be written, is still the attempt that `run` was decided for."""
    return stored.status is RunStatus.RUNNING and stored.fence == run.fence


def _noted_by_all(run: Run, stored: Run) -> tuple[Attempt, ...]:
    """The attempts of `run`, what was noted by others of the execution of the last one included."""
    last, noted = run.attempts[-1], stored.execution
    if last.execution is None or noted is None or last.fence != stored.attempts[-1].fence:
        return run.attempts
    return (*run.attempts[:-1], replace(last, execution=last.execution.on_top_of(noted)))


def heeding(run: Run, stored: Run, now: Instant) -> Run:
    """What `run` comes to on top of `stored`, which is still held, but no longer as it was when `run` was decided.

    Somebody asked for the run's cancellation meanwhile: then it has no further attempt, and no other end but success.
    """
    cancel = stored.cancel
    on_top = replace(run, rev=stored.rev + 1, cancel=cancel, attempts=_noted_by_all(run, stored))
    if cancel is None or run.status in (RunStatus.RUNNING, RunStatus.SUCCEEDED):
        return on_top
    return replace(
        on_top,
        status=RunStatus.CANCELLED,
        finished_at=run.finished_at or now,
        retry_at=None,
        lease_until=None,
        reason=cancel.as_reason,
        signature=None,
    )

"""Explain: why a schedule ran at a time, or did not. Facts in, exactly one typed explanation out.

The ledger has the first word: a row or a range says what became of a fire. Without one, the timer says where the fire
waits. For a time that nothing named, the trigger, its window, the clock of its zone and the schedule's history say why.
`docs/reasons.md` is the table of codes and their details.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from cronfleet.domain import naming
from cronfleet.domain.attempt import paused_reason
from cronfleet.domain.backlog import Stretch
from cronfleet.domain.books import FIRST_RESEND
from cronfleet.domain.claim import Fire
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.dispatch_plan import first_fire, in_line, regular_fire
from cronfleet.domain.execution import Execution
from cronfleet.domain.explanation import Claimed, Explanation, Facts, Said, Value
from cronfleet.domain.freeze import Freeze
from cronfleet.domain.frozen import freeze_of, frozen_reason, in_force
from cronfleet.domain.hold import Hold, hold_detail, hold_words
from cronfleet.domain.holding import held_reason, shadow_reason
from cronfleet.domain.instant import DAY, SECOND, Instant, to_text
from cronfleet.domain.join import missing, waiting_reason
from cronfleet.domain.lifeline import Span
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import ROW_LIFE_SECONDS, Outcome, Run, RunStatus
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE
from cronfleet.domain.unnamed import not_there, unnamed
from cronfleet.domain.zone_release import ZoneRelease
from cronfleet.domain.zone_stamp import moving_zone


def explain(at: Instant, facts: Facts) -> Explanation:
    """The one explanation of what the schedule did, or will do, at `at`."""
    named = _is_named(at, facts)
    row, others = _own(facts, named)
    if row is not None:
        return _of_row(at, row, others, facts)
    if facts.span is None:
        text = "the schedule's changes are not looked through that far back, and the ledger has no row for this time"
        return Explanation(at, Code.FORGOTTEN, text, is_named=False)
    if not facts.span.is_alive or facts.named_by is None:
        return not_there(at, facts.span, facts)
    if named:
        return _with(_undecided(at, facts), others)
    return unnamed(at, facts.named_by, facts)


def may_be_claimed(at: Instant, facts: Facts) -> bool:
    """Whether the dispatch log could say more: a fire that the timer no longer waits for, and that has no row."""
    row, _ = _own(facts, named=True)
    if row is not None:
        return not row.is_terminal and row.status is not RunStatus.RUNNING
    return _is_named(at, facts) and not _is_waited_for(at, facts.timer, facts.span) and not _is_forgotten(at, facts)


def _is_named(at: Instant, facts: Facts) -> bool:
    """Whether the schedule named `at`; a trigger that no longer computes names what its timer waits for."""
    timer = facts.named_by
    if timer is None or at % SECOND:
        return False
    try:
        return naming.is_inside(timer, at) and naming.names(timer.trigger, at)
    except UNCOMPUTABLE:
        return timer.nominal_at is not None and at >= timer.nominal_at


# --- rows ------------------------------------------------------------------------------------------------------


def _own(facts: Facts, named: bool) -> tuple[Run | None, tuple[Run, ...]]:
    """The row that counts for this time, and the others.

    A row of the epoch whose own the time is, or of a later one (a resume that caught up), counts. One of an earlier
    epoch (claimed ahead of a change) counts only where the time is not named anew.
    """
    epoch = facts.span.epoch if facts.span else 0
    newest_first = sorted(facts.rows, key=lambda row: row.key.epoch, reverse=True)
    own = [row for row in newest_first if row.key.epoch >= epoch]
    if not own and not named:
        own = newest_first
    row = own[0] if own else None
    return row, tuple(other for other in newest_first if other is not row)


_BY_STATUS: Final = {
    RunStatus.DEAD: Code.ATTEMPTS,
    RunStatus.CANCELLED: Code.CANCELLED,
    RunStatus.SKIPPED: Code.SUPERSEDED,
    RunStatus.MISSED: Code.MISSED,
    RunStatus.PAUSED: Code.PAUSED,
    RunStatus.HELD: Code.NOT_ON,
    RunStatus.SHADOW: Code.SHADOW,
    RunStatus.FROZEN: Code.FROZEN,
    RunStatus.REFUSED: Code.NOT_ON,
}
"""What a row without a reason of its own stands for; there is none that the product writes."""


def _of_row(at: Instant, row: Run, others: tuple[Run, ...], facts: Facts) -> Explanation:
    code, text, detail = _SAID.get(row.status, _not_run)(row, facts)
    last_at = row.until_nominal_at
    return Explanation(
        at,
        code,
        text,
        _row_detail(row) | detail,
        is_decided=row.is_terminal,
        run=row,
        others=others,
        until_nominal_at=last_at,
        count=None if last_at is not None else 1,
    )


def _ran(run: Run, _: Facts) -> Said:
    lag = _seconds(run.lag_ms or 0)
    text = f"ran: attempt {run.attempt}, under version {run.version}; started {lag} s after it was due"
    return Code.RAN, text if run.late is None else f"{run.late.reason.text}; {text}", {}


def _running(run: Run, facts: Facts) -> Said:
    until = run.lease_until or 0
    text = f"attempt {run.attempt} has been running since {to_text(run.attempts[-1].started_at)}"
    if run.execution is not None:
        text += _elsewhere(run.execution)
    elif until <= facts.now:
        text += f"; its worker's lease ended at {to_text(until)}, and it is about to be taken over"
    if run.cancel is not None:
        text += f"; {run.cancel.by} asked for its cancellation at {to_text(run.cancel.at)}"
    return Code.RUNNING, text, {"lease_until_at": to_text(until)}


def _elsewhere(execution: Execution) -> str:
    name = f" as {execution.handle}" if execution.handle else ""
    return f"; it goes on elsewhere{name}, is followed, and is stopped at {to_text(execution.deadline_at)}"


def _waiting(run: Run, facts: Facts) -> Said:
    until = run.retry_at or 0
    why = f" ({run.reason.text})" if run.reason else ""
    text = f"waits for attempt {run.attempt + 1} until {to_text(until)}{why}"
    detail: dict[str, Value] = {"retry_at": to_text(until), "attempts": run.attempt, "errors": _errors(run)}
    if run.reason:
        detail["held_back"] = run.reason.code.value
    return Code.RETRYING, text, detail | _resend_detail(facts.claimed)


def _queued(run: Run, facts: Facts) -> Said:
    claimed = facts.claimed
    if claimed is not None and claimed.resends:
        return Code.RESENT, _resent_text(claimed), {"batch": claimed.batch, **_resend_detail(claimed)}
    if facts.put_off is not None:
        return facts.put_off.code, f"is written down to run; {facts.put_off.text}", _detail_of(facts.put_off)
    trigger = facts.timer.trigger
    if run.joined is not None and isinstance(trigger, AfterTrigger) and (late := missing(trigger, run.joined)):
        waited = waiting_reason(run, late)
        return waited.code, waited.text, _detail_of(waited)
    return Code.QUEUED, f"is written down to run under version {run.version}, and waits for a worker", {}


def _not_run(run: Run, _: Facts) -> Said:
    reason = run.reason or Reason(_BY_STATUS[run.status], f"is {run.status}")
    detail = _detail_of(reason)
    if run.attempts:
        detail |= {"attempts": run.attempt, "errors": _errors(run)}
    if run.until_nominal_at is None:
        errors = f": {'; '.join(_errors(run))}" if run.status is RunStatus.DEAD else ""
        return reason.code, f"did not run through: {reason.text}{errors}" if errors else reason.text, detail
    stretch = f"from {to_text(run.key.nominal_at)} to {to_text(run.until_nominal_at)}"
    detail["from_nominal_at"] = to_text(run.key.nominal_at)
    detail["until_nominal_at"] = to_text(run.until_nominal_at)
    return reason.code, f"{reason.text} (nothing ran {stretch})", detail


_SAID: Final[Mapping[RunStatus, Callable[[Run, Facts], Said]]] = {
    RunStatus.SUCCEEDED: _ran,
    RunStatus.RUNNING: _running,
    RunStatus.WAITING: _waiting,
    RunStatus.QUEUED: _queued,
}


def _row_detail(run: Run) -> dict[str, Value]:
    """What every row tells: which run, from which version, claimed by which batch, how late, sent again when."""
    detail: dict[str, Value] = {"run_id": run.key.run_id, "epoch": run.key.epoch}
    if run.until_nominal_at is None:
        detail |= {"due_at": to_text(run.due_at), "version": run.version}
    if run.batch:
        detail["batch"] = run.batch
    if run.claimed_at is not None:
        detail["claimed_at"] = to_text(run.claimed_at)
    if run.started_at is not None:
        detail |= {"started_at": to_text(run.started_at), "lag_seconds": _seconds(run.lag_ms or 0)}
    if run.resent_at is not None:
        detail["resent_at"] = to_text(run.resent_at)
    if run.late is not None:
        detail |= _detail_of(run.late.reason)
    return detail


def _errors(run: Run) -> list[str]:
    return [
        f"attempt {attempt.number} {(attempt.outcome or Outcome.LOST).value}: {attempt.error or 'no more was said'}"
        for attempt in run.attempts
        if attempt.outcome is not Outcome.SUCCEEDED
    ]


_RENAMED: Final = {"until": "until_at", "run_id": "in_the_way"}
"""Stored details under names that say more here: an overlap's `run_id` is the other run's."""


def _detail_of(reason: Reason) -> dict[str, Value]:
    """A stored reason's details, which hold instants as numbers; here they are text, under names that end in `_at`."""
    named = {_RENAMED.get(name, name): value for name, value in reason.detail.items()}
    return {
        name: to_text(value) if isinstance(value, int) and name.endswith("_at") else value
        for name, value in named.items()
    }


def _seconds(milliseconds: int) -> float:
    return milliseconds / SECOND


def _with(explanation: Explanation, others: tuple[Run, ...]) -> Explanation:
    return replace(explanation, others=others) if others else explanation


# --- named, and nothing in the ledger yet ----------------------------------------------------------------------

_ROW_LIFE: Final = ROW_LIFE_SECONDS * SECOND


def _is_forgotten(at: Instant, facts: Facts) -> bool:
    """Whether a row of this time may be gone by now, or is not shown any more."""
    return facts.now - at > min(_ROW_LIFE, facts.retention)


def _is_waited_for(at: Instant, timer: Timer, span: Span | None) -> bool:
    """Whether the timer still waits for the fire at `at`, or for an earlier one."""
    if timer.backlog is not None and timer.backlog.stretch_of(at) is not None:
        return True
    if span is None or timer.nominal_at is None or at < timer.nominal_at:
        return False
    return span.epoch == timer.epoch


def _undecided(at: Instant, facts: Facts) -> Explanation:
    timer = facts.timer
    if not _is_waited_for(at, timer, facts.span):
        return _claimed(at, facts)
    match timer.status:
        case Status.PAUSED if timer.due_at is None or at <= max(timer.due_at, facts.now):
            return _paused(at, timer)
        case Status.PAUSED:
            return _ahead(at, at, f"the pause ends at {to_text(timer.due_at or 0)}, before this time")
        case Status.ACTIVE:
            return _awaited(at, timer, facts)
        case _:
            return _not_on(at, timer, facts.now)


def _claimed(at: Instant, facts: Facts) -> Explanation:
    claimed = facts.claimed
    if _is_forgotten(at, facts):
        days = facts.retention // DAY
        text = f"the ledger shows {days} day{'s' * (days > 1)} back, and has no row of this time any more"
        return Explanation(at, Code.FORGOTTEN, text, is_decided=True)
    if claimed is None and facts.zone_data is not None and _is_news(at, facts.zone_data, facts):
        return _named_since(at, facts.zone_data, facts)
    if claimed is None:
        text = "it is claimed, and no worker has started it yet; the sweeper sends it again if its message was lost"
        return Explanation(at, Code.QUEUED, text)
    detail: dict[str, Value] = {"batch": claimed.batch, "claimed_at": to_text(claimed.claimed_at)}
    if claimed.skipped is not None:
        return Explanation(at, claimed.skipped.code, claimed.skipped.text, detail | _detail_of(claimed.skipped))
    if claimed.resends:
        return Explanation(at, Code.RESENT, _resent_text(claimed), detail | _resend_detail(claimed))
    text = f"it was claimed at {to_text(claimed.claimed_at)} by batch {claimed.batch}; no worker has started it yet"
    return Explanation(at, Code.QUEUED, text, detail)


def _is_news(at: Instant, known: ZoneRelease, facts: Facts) -> bool:
    """Whether zone data that came later names `at`, and nothing else knows of it.

    By `FIRST_RESEND` the sweeper holds whatever was claimed and not started, so that it would be known.
    """
    return at < known.since and facts.now - at > FIRST_RESEND


def _named_since(at: Instant, known: ZoneRelease, facts: Facts) -> Explanation:
    zone = moving_zone(facts.named_by.trigger) if facts.named_by else None
    text = f"zone data {known.release} names this time; it is in force since {to_text(known.since)}, and the zone data "
    text += "of that time did not name it"
    detail: dict[str, Value] = {"release": known.release, "in_force_at": to_text(known.since), "timezone": zone}
    return Explanation(at, Code.ZONE_DATA, text, detail, is_named=False, is_decided=True)


def _resent_text(claimed: Claimed) -> str:
    return (
        f"it was claimed at {to_text(claimed.claimed_at)} by batch {claimed.batch}; no worker started it in time, "
        f"so it was sent again ({claimed.resends} times); if it is not started, the next time is "
        f"{to_text(claimed.resend_at or 0)}"
    )


def _resend_detail(claimed: Claimed | None) -> dict[str, Value]:
    if claimed is None or not claimed.resends:
        return {}
    return {"resends": claimed.resends, "resend_at": to_text(claimed.resend_at or 0)}


def _awaited(at: Instant, timer: Timer, facts: Facts) -> Explanation:
    """A fire that an active timer waits for, or will once an earlier one is claimed."""
    stretch = None if timer.backlog is None else timer.backlog.stretch_of(at)
    if stretch is not None:
        return _catching_up(at, timer, stretch, facts)
    fire = _fire(at, timer)
    freeze = freeze_of(_named_fire(at, timer), facts.freezes, facts.now)
    if freeze is not None:
        return _frozen(at, freeze, timer, facts.now)
    if timer.deferred is not None and (at == timer.nominal_at or in_line(timer, fire) != fire):
        return _deferred(at, timer, timer.deferred)
    if fire.due_at > facts.now:
        return _ahead(at, fire.due_at, _why_not_yet(fire, timer))
    late = _seconds(facts.now - fire.due_at)
    if facts.hold is not None:
        return _held_up(at, fire, facts.hold, late)
    text = f"it has been due since {to_text(fire.due_at)}, {late} s ago, and no dispatcher has claimed it yet"
    return Explanation(at, Code.DUE, text, {"due_at": to_text(fire.due_at), "late_seconds": late})


def _held_up(at: Instant, fire: Fire, hold: Hold, late: float) -> Explanation:
    """A fire that is due while the installation is held."""
    text = f"it has been due since {to_text(fire.due_at)}, and nothing is claimed: {hold_words(hold)}"
    detail: dict[str, Value] = {"due_at": to_text(fire.due_at), "late_seconds": late}
    return Explanation(at, Code.HELD, text, detail | _detail_of(Reason(Code.HELD, text, hold_detail(hold))))


def _deferred(at: Instant, timer: Timer, reason: Reason) -> Explanation:
    """A fire that waits for a place, or behind the one that does."""
    text, first_at, place = reason.text, timer.nominal_at or at, timer.reserved_at or timer.due_at or at
    if at != first_at:
        text = f"it waits behind the fire of {to_text(first_at)}: {text}"
    return Explanation(at, reason.code, text, _detail_of(reason) | {"due_at": to_text(place)})


def _frozen(at: Instant, freeze: Freeze, timer: Timer, now: Instant) -> Explanation:
    """A fire that a freeze holds back, or will."""
    said = "is held back, and about to be noted" if at <= now else "will not start unless it is thawed before"
    if timer.after_pause.wanted:
        said += "; what the schedule's policy for pauses wants runs after the thaw"
    reason = frozen_reason(freeze, said)
    return Explanation(at, reason.code, reason.text, _detail_of(reason))


def _catching_up(at: Instant, timer: Timer, stretch: Stretch, facts: Facts) -> Explanation:
    """A missed fire that waits for its turn."""
    turn_at = to_text(timer.backlog.due_at if timer.backlog else at)
    text = f"{stretch.late.reason.text}; it waits for its turn: at most {stretch.per_minute} run a minute, "
    text += f"oldest first, the next at {turn_at}"
    detail = _detail_of(stretch.late.reason) | {"per_minute": stretch.per_minute, "next_turn_at": turn_at}
    freeze = in_force(facts.freezes, facts.now)
    if freeze is not None:
        text += f"; not before the thaw: {frozen_reason(freeze).text}"
        detail["freeze_id"] = freeze.freeze_id
    return Explanation(at, Code.CATCHING_UP, text, detail)


def _fire(at: Instant, timer: Timer) -> Fire:
    if at == timer.nominal_at:
        return regular_fire(timer) or Fire(at, at)
    return _named_fire(at, timer)


def _named_fire(at: Instant, timer: Timer) -> Fire:
    """The fire at `at`, due when the trigger and its jitter say."""
    try:
        return first_fire(timer, at - 1) or Fire(at, at)
    except UNCOMPUTABLE:
        return Fire(at, at)  # Its schedule is about to be parked; until then this time counts as it stands.


def _why_not_yet(fire: Fire, timer: Timer) -> str:
    seconds = (fire.due_at - fire.nominal_at) // SECOND
    if not timer.is_spread or not seconds:
        return "its time has not come"
    if seconds != timer.jitter_seconds:
        return f"its time has not come: it is put off by {seconds} s, as the schedule is spread"
    return f"its time has not come: each fire of the schedule is put off by {seconds} s, as it is spread"


def _ahead(at: Instant, due_at: Instant, why: str) -> Explanation:
    return Explanation(at, Code.NOT_DUE, f"{why}: it is due at {to_text(due_at)}", {"due_at": to_text(due_at)})


def _paused(at: Instant, timer: Timer) -> Explanation:
    reason = paused_reason(timer)
    text, detail = reason.text, _detail_of(reason)
    if timer.pause is not None:
        text += f", since {to_text(timer.pause.at)}"
    if timer.due_at is not None:
        text += f" until {to_text(timer.due_at)}"
        detail["resume_at"] = to_text(timer.due_at)
    return Explanation(at, Code.PAUSED, text, detail)


def _not_on(at: Instant, timer: Timer, now: Instant) -> Explanation:
    detail: dict[str, Value] = {"status": timer.status.value}
    if timer.is_shadow:
        said = "is not sent, and about to be noted" if at <= now else "will not be sent, but noted"
        reason = shadow_reason(timer, said)
        return Explanation(at, Code.SHADOW, reason.text, _detail_of(reason))
    if timer.status is Status.HELD and timer.parked is None:
        reason = held_reason(timer)
        return Explanation(at, Code.NOT_ON, reason.text, detail | _detail_of(reason))
    if timer.parked is None:
        return Explanation(at, Code.NOT_ON, f"the schedule is {timer.status}", detail)
    detail |= {"parked_code": timer.parked.code.value, "why": timer.parked.text}
    text = f"the schedule is parked since {to_text(timer.updated_at)}: {timer.parked.text}"
    return Explanation(at, Code.NOT_ON, text, detail | {"parked_at": to_text(timer.updated_at)})

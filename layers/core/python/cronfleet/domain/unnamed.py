"""Why nothing names a time: no schedule, its window, a changed clock, a replaced version, or the trigger itself."""

from cronfleet.domain import naming
from cronfleet.domain.calendar_reason import why_taken
from cronfleet.domain.clock_policy import Gap
from cronfleet.domain.dependency import AfterTrigger
from cronfleet.domain.explanation import Explanation, Facts, Replaced, Said, Value
from cronfleet.domain.instant import SECOND, Instant, to_text
from cronfleet.domain.lifeline import Span
from cronfleet.domain.reason import Code
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.trigger import UNCOMPUTABLE, OneShotTrigger


def not_there(at: Instant, span: Span, facts: Facts) -> Explanation:
    """Why nothing is named at `at`: the schedule was not created yet, or deleted."""
    if span.epoch == 0:
        born = span.until or 0
        text = f"the schedule was created at {to_text(born)}; it fires later than that"
        return Explanation(at, Code.NOT_CREATED, text, {"created_at": to_text(born)}, is_named=False, is_decided=True)
    detail: dict[str, Value] = {"deleted_at": to_text(span.since)}
    text = f"the schedule was deleted at {to_text(span.since)}"
    if facts.deletion is not None:
        detail |= {"by": facts.deletion.actor, "why": facts.deletion.reason}
        text += f" by {facts.deletion.actor}" + (f": {facts.deletion.reason}" if facts.deletion.reason else "")
    if span.until is not None:
        detail["created_at"] = to_text(span.until)
        text += f", and created anew at {to_text(span.until)}"
    return Explanation(at, Code.DELETED, text, detail, is_named=False, is_decided=at <= facts.now)


def unnamed(at: Instant, timer: Timer, facts: Facts) -> Explanation:
    """Why a schedule that is there does not name `at`, and which times around it are named."""
    try:
        earlier, later = naming.nearest(timer, at)
        code, text, detail = _why_unnamed(at, timer, facts)
    except UNCOMPUTABLE as error:
        earlier = later = None
        code, text, detail = Code.NOT_NAMED, f"what the trigger names cannot be worked out ({error})", {}
    detail |= {
        "earlier_at": None if earlier is None else to_text(earlier),
        "later_at": None if later is None else to_text(later),
        "version": timer.version,
    }
    around = ", ".join(f"{word} {to_text(one)}" for word, one in (("before", earlier), ("after", later)) if one)
    near = f"; the nearest that it names: {around}" if around else "; it names no other"
    return Explanation(at, code, text + near, detail, is_named=False, is_decided=at <= facts.now)


def _why_unnamed(at: Instant, timer: Timer, facts: Facts) -> Said:
    if at % SECOND == 0 and naming.names(timer.trigger, at):
        return _outside(at, timer)
    change = naming.clock_change(timer.trigger, at)
    if change is not None:
        return _changed_clock(change)
    taken = why_taken(timer.trigger, at)
    if facts.replaced is not None:
        return _replaced(facts.replaced, taken)
    if taken is not None:
        return taken
    if isinstance(timer.trigger, OneShotTrigger) and facts.timer.status is Status.COMPLETED:
        fired_at = to_text(timer.trigger.at)
        return Code.COMPLETED, f"the schedule names one instant, {fired_at}, and is done", {"fired_at": fired_at}
    if isinstance(timer.trigger, AfterTrigger):
        return Code.NOT_NAMED, f"none of {', '.join(timer.trigger.parents)} had a run at this time", {}
    return Code.NOT_NAMED, "the trigger does not name this time", {}


def _replaced(replaced: Replaced, taken: Said | None) -> Said:
    """What another version did to the time; where its calendar is the reason, that goes first."""
    by = replaced.by
    text = f"version {replaced.version} named this time; version {by.version} replaced it at "
    text += f"{to_text(replaced.at)} ({by.author}{': ' if by.reason else ''}{by.reason})"
    detail: dict[str, Value] = {"named_by_version": replaced.version, "replaced_by_version": by.version}
    detail |= {"replaced_at": to_text(replaced.at), "by": by.author, "why": by.reason}
    if taken is None:
        return Code.SUPERSEDED, text, detail
    code, why, more = taken
    return code, f"{why}; {text}", more | detail


def _outside(at: Instant, timer: Timer) -> Said:
    if timer.start_at is not None and at < timer.start_at:
        start = to_text(timer.start_at)
        return (
            Code.BEFORE_START,
            f"the trigger names this time, but the schedule starts at {start}",
            {"start_at": start},
        )
    end = to_text(timer.end_at or 0)
    return Code.AFTER_END, f"the trigger names this time, but the schedule ended at {end}", {"end_at": end}


def _changed_clock(change: naming.ClockChange) -> Said:
    fired = None if change.fired_at is None else to_text(change.fired_at)
    detail: dict[str, Value] = {"local": change.local, "timezone": change.zone, "fired_at": fired}
    detail["policy"] = None if change.policy is None else change.policy.value
    if change.is_gap:
        instead = f"it fires at the end of the gap instead, {fired}" if fired else "nothing fires in its place"
        if change.policy is Gap.SKIP:
            instead += ", as its gap policy, skip, has it"
        return Code.DST_GAP, f"{change.local} does not exist in {change.zone}: {instead}", detail
    text = f"{change.local} comes twice in {change.zone}: only the {change.policy} pass is used, {fired}"
    return Code.DST_OVERLAP, text, detail

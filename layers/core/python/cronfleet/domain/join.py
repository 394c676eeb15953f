"""Join: what a schedule makes of the ends of its parents.

The row of a run that waits for parents holds which of them have ended, and how (`Run.joined`). Each end is written into
it on the condition of its `rev`, in the transaction that ends the parent's own row; the last one moves its timer to
now. So whoever dies, nothing is missed, and nobody has to look. Without the last one it starts at its deadline.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cronfleet.domain.claim import RunTimer, first_attempt
from cronfleet.domain.dependency import AfterTrigger, Else, On
from cronfleet.domain.instant import EARLIEST, SECOND, Instant, ceil_second, to_text
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.schedule import Status, Timer

FAILED: Final = frozenset({RunStatus.DEAD, RunStatus.REFUSED})
"""The ends of a parent that count as a failure. All but these and success count as "did not run"."""


def missing(trigger: AfterTrigger, joined: Mapping[str, RunStatus]) -> tuple[str, ...]:
    """The parents that have not ended yet."""
    return tuple(parent for parent in trigger.parents if parent not in joined)


def flows(run: Run) -> bool:
    """Whether dependants follow `run`: every fire of its schedule that became a run, and what was asked to flow on."""
    return run.until_nominal_at is None and (run.key.is_scheduled or run.flows_on)


def follows(dependant: Timer, run: Run) -> bool:
    """Whether `dependant`, as it stands now, has a fire that `run` names."""
    trigger, nominal_at = dependant.trigger, run.key.nominal_at
    if not isinstance(trigger, AfterTrigger) or run.key.schedule_id not in trigger.parents:
        return False
    if dependant.status in (Status.CANCELLED, Status.HELD):
        return False
    if nominal_at < (dependant.start_at or EARLIEST) or dependant.capped(nominal_at) < nominal_at:
        return False
    # It follows what begins after it was told to; half of a join would come too late for ever.
    return run.started_at is None or run.started_at >= dependant.epoch_since


def key_after(dependant: Timer, run: Run) -> RunKey:
    """The run of `dependant` that `run` names: its nominal time, and its cause."""
    return RunKey(dependant.tenant, dependant.schedule_id, dependant.epoch, run.key.nominal_at, run.key.cause)


def opened(dependant: Timer, run: Run, now: Instant) -> Run:
    """The row that waits for the parents, `run` being the first of them that is seen; due at its deadline."""
    within = _policy(dependant).within_seconds * SECOND
    begin = run.key.nominal_at if run.key.is_scheduled else now
    return Run(
        key_after(dependant, run),
        RunStatus.QUEUED,
        due_at=ceil_second(max(begin + within, now)),
        tier=dependant.tier,
        version=dependant.version,
        kept_days=run.kept_days,
        operation=run.operation,
        joined={},
        origin=run.trace,
        flows_on=run.flows_on,
    )


def arrived(row: Run, dependant: Timer, parent: Run, now: Instant) -> Run | None:
    """`row` after `parent` has ended: due now if it was the last; `None` when the row waits for nobody any more."""
    if row.status is not RunStatus.QUEUED or row.joined is None:
        return None
    joined = {**row.joined, parent.key.schedule_id: parent.status}
    complete = not missing(_policy(dependant), joined)
    # What is due by its deadline already may be on its way: it starts no earlier than its row says.
    due_at = min(row.due_at, ceil_second(now)) if complete else row.due_at
    return row.moved(RunStatus.QUEUED, joined=joined, due_at=due_at)


def timer_of(row: Run, dependant: Timer) -> RunTimer:
    """What wakes `row` when it is due."""
    return replace(first_attempt(row.key, dependant, row.due_at, row.carried), version=row.version)


def _policy(dependant: Timer) -> AfterTrigger:
    if not isinstance(dependant.trigger, AfterTrigger):
        raise TypeError(f"{dependant.key} follows nobody")
    return dependant.trigger


def decide_join(run: Run, trigger: AfterTrigger) -> tuple[RunStatus, Reason] | None:
    """What becomes of a run whose turn has come: `None`, it runs; else the status that it ends with, and why."""
    joined = run.joined or {}
    reason = _why_not(run.key.nominal_at, trigger, joined)
    if reason is None or trigger.otherwise is Else.RUN:
        return None
    return (RunStatus.DEAD if trigger.otherwise is Else.FAIL else RunStatus.SKIPPED), reason


def _why_not(nominal_at: Instant, trigger: AfterTrigger, joined: Mapping[str, RunStatus]) -> Reason | None:
    """Why the ends of the parents are not what `trigger` waits for; `None` when they are."""
    late = missing(trigger, joined)
    if trigger.on is On.FAILURE:
        if any(status in FAILED for status in joined.values()):
            return None
        if not late:
            return Reason(Code.PARENTS, f"no parent failed: {said(joined)}", detail_of(joined))
    if late:
        return late_reason(nominal_at, late, joined)
    others = {name: status for name, status in joined.items() if status is not RunStatus.SUCCEEDED}
    if trigger.on is On.SUCCESS and others:
        return Reason(Code.PARENTS, f"not every parent succeeded: {said(others)}", detail_of(joined))
    return None


def late_reason(nominal_at: Instant, late: tuple[str, ...], joined: Mapping[str, RunStatus]) -> Reason:
    """Why a run did not wait any longer."""
    have = "has" if len(late) == 1 else "have"
    text = f"{', '.join(late)} {have} not ended in time for {to_text(nominal_at)}"
    return Reason(Code.PARENT_LATE, text, detail_of(joined) | {"missing": ", ".join(late)})


def waiting_reason(row: Run, late: tuple[str, ...]) -> Reason:
    """What a row waits for, and until when."""
    joined = row.joined or {}
    have = "has" if len(late) == 1 else "have"
    text = f"waits until {to_text(row.due_at)} for {', '.join(late)}, which {have} not ended yet"
    ended = f"; {said(joined)}" if joined else ""
    return Reason(Code.WAITS_FOR_PARENTS, text + ended, detail_of(joined) | {"missing": ", ".join(late)})


def said(joined: Mapping[str, RunStatus]) -> str:
    """`load is dead, clean is skipped`."""
    return ", ".join(f"{name} is {status.value}" for name, status in sorted(joined.items()))


def detail_of(joined: Mapping[str, RunStatus]) -> dict[str, str | int]:
    """The ends of the parents, for machines: `load=dead, clean=skipped`."""
    return {"parents": ", ".join(f"{name}={status.value}" for name, status in sorted(joined.items()))}

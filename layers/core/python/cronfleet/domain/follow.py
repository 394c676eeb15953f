"""Following: what is done about an execution after each look at it, until it is over or given up."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from cronfleet.domain.attempt import Result
from cronfleet.domain.execution import STOP_WAIT, Execution
from cronfleet.domain.instant import MINUTE, SECOND, Instant, to_text
from cronfleet.domain.run import Outcome, Run

FIRST_LOOK: Final = 10 * SECOND
"""The first look comes after this; sooner ones would find most starts still settling."""

LONGEST_LOOK: Final = 5 * MINUTE
"""Between two looks at most: an end is known so much later at worst."""

LOOK_SHARE: Final = 4
"""The wait is this part of what has gone by: an end is known a quarter late at worst, and twelve looks make an hour."""

STOP_LOOK: Final = 5 * SECOND
"""How soon is looked again at what was told to stop, or is not known yet."""

SETTLING: Final = MINUTE
"""How long its service may not know yet what it has accepted; and how late a worker's own start may still arrive."""


class Phase(StrEnum):
    """Where an execution stands."""

    UNKNOWN = "unknown"
    """Its service knows none of that name: it was never started, or is forgotten."""
    GOING = "going"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found; of one that is over, what it came to, when, and the end of what it said.

    `handle` is its ARN, where the look had to find that out.
    """

    phase: Phase
    result: Result | None = None
    ended_at: Instant | None = None
    said: tuple[str, ...] = ()
    handle: str = ""


@dataclass(frozen=True, slots=True)
class Start:
    """Ask for the start again: the worker that was to do so died, or heard no answer."""


@dataclass(frozen=True, slots=True)
class Stop:
    """Note that it is being stopped, if that is not noted yet, and tell it so, for this reason; look again at `at`."""

    why: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Look:
    """Look again at `at`."""

    at: Instant


@dataclass(frozen=True, slots=True)
class GiveUp:
    """The attempt is over with `result`; what was started for it may go on."""

    result: Result


Step: TypeAlias = Start | Stop | Look | GiveUp | Result
"""A result: the attempt is over."""


def next_look(execution: Execution, now: Instant) -> Instant:
    """When to look again at what goes on."""
    gone_by = max(0, now - execution.began_at)
    wait = min(max(FIRST_LOOK, gone_by // LOOK_SHARE), LONGEST_LOOK)
    return max(min(now + wait, execution.deadline_at), now + SECOND)


def decide_step(run: Run, execution: Execution, seen: Seen | None, now: Instant) -> Step:
    """What to do about the execution of `run` after a look (`None`: it could not be seen).

    What is past its time, or was asked to end, is stopped, and given up when it does not end all the same.
    """
    if seen is not None and seen.phase is Phase.OVER:
        return _over(run, execution, seen, now)
    is_late = run.cancel is None or run.cancel.at > execution.deadline_at
    stop_at = execution.deadline_at if is_late or run.cancel is None else run.cancel.at
    if now < stop_at:
        return _goes_on(execution, seen, now)
    how = Outcome.TIMED_OUT if is_late else Outcome.CANCELLED
    why = "at its time limit" if is_late else "because its cancellation was asked for"
    if seen is not None and seen.phase is Phase.UNKNOWN:
        if now < execution.began_at + SETTLING:
            return Look(now + STOP_LOOK)
        return Result(how, f"stopped {why}: its service knows nothing of it")
    # Counted from when it was first told to: whoever was to do that may have been away for long.
    if execution.stopping_at is not None and now >= execution.stopping_at + STOP_WAIT:
        found = "could not be seen" if seen is None else "did not stop"
        return GiveUp(Result(how, f"given up {why}: it {found}, and may go on"))
    return Stop(f"cronfleet stopped it {why}", now + STOP_LOOK)


def _over(run: Run, execution: Execution, seen: Seen, now: Instant) -> Result:
    result = seen.result or Result(Outcome.FAILED, "it ended, and did not say how")
    if result.outcome is Outcome.SUCCEEDED:
        return result
    ended_at = now if seen.ended_at is None else seen.ended_at
    if execution.stopping_at is not None:
        ended_at += SECOND - 1  # A service may tell whole seconds: what we stopped has not ended before that.
    if run.cancel is not None and run.cancel.at <= ended_at:
        return Result(Outcome.CANCELLED, result.error)
    if ended_at >= execution.deadline_at:
        return Result(Outcome.TIMED_OUT, f"stopped at its time limit, {to_text(execution.deadline_at)}")
    return result


def _goes_on(execution: Execution, seen: Seen | None, now: Instant) -> Step:
    if seen is None or seen.phase is Phase.GOING:
        return Look(next_look(execution, now))
    if not execution.is_started:
        return Start()
    if now < execution.began_at + SETTLING:
        return Look(now + STOP_LOOK)
    return Result(Outcome.FAILED, "its service knows it no more: how it ended is unknown")

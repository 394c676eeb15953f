"""Spread: a schedule's fires come the same while after their nominal time, drawn once so that the peak gets flatter.

Two offsets are drawn from a hash of the schedule, its trigger and its window; the one at which less is due, by the
forecast, is taken and kept. Of two choices most of the gain is had already, and they bear a forecast that is an hour
old, because only half of those that see the same hollow can fall into it (Mitzenmacher, The Power of Two Choices).
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice, pairwise
from typing import Final, TypeAlias

from cronfleet.domain.calendar_form import describe_rule
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.jitter import MAX_JITTER_SECONDS
from cronfleet.domain.time_text import interval_text, parse_interval
from cronfleet.domain.trigger import CronTrigger, Trigger, describe, fires

AUTO: Final = "auto"
DEFAULT_WINDOW_SECONDS: Final = 3_600
SHORTEST_WINDOW_SECONDS: Final = 1
LONGEST_WINDOW_SECONDS: Final = MAX_JITTER_SECONDS

CANDIDATES: Final = 2
FIRES_LOOKED_AT: Final = 48
"""Fires whose distances say how far an offset may go, and whose minutes say how much is due at one."""

Load: TypeAlias = Callable[[Instant], int]
"""How many fires are due in the minute of an instant, of the whole installation; 0 where nobody knows."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Fires come `offset_seconds` after their nominal time; `None`: it is still to be drawn.

    The offset is at most `window_seconds`, and less than the distance to the next fire.
    """

    window_seconds: int = DEFAULT_WINDOW_SECONDS
    offset_seconds: int | None = None


def parse_spread(text: str) -> Spread:
    """What `auto` or `auto:30m` asks for; `Invalid` without a field for anything else."""
    name, colon, window = text.partition(":")
    hint = 'write "auto", or "auto:" and the most that a fire may be put off, such as "auto:30m"'
    if name != AUTO:
        raise Invalid("", f"is {text!r:.40}; {hint}")
    if not colon:
        return Spread()
    try:
        return Spread(parse_interval(window, SHORTEST_WINDOW_SECONDS, LONGEST_WINDOW_SECONDS))
    except Invalid as error:
        raise Invalid("", f"is {text!r:.40}, whose window {error.reason}; {hint}") from error


def spread_text(spread: Spread) -> str:
    """What a caller writes to get this `spread`."""
    if spread.window_seconds == DEFAULT_WINDOW_SECONDS:
        return AUTO
    return f"{AUTO}:{interval_text(spread.window_seconds)}"


def kept(spread: Spread, trigger: Trigger, before: Spread | None, before_trigger: Trigger | None) -> Spread:
    """`spread` with the offset that the schedule has already, if neither its trigger nor its window has changed."""
    if before is None or before_trigger is None or before.window_seconds != spread.window_seconds:
        return spread
    return before if _said(before_trigger) == _said(trigger) else spread


def draw(spread: Spread, key: str, trigger: Trigger, after: Instant, load: Load | None) -> Spread:
    """`spread` with an offset for the schedule of that `key`, whose fires later than `after` are looked at.

    The same schedule, trigger, window and load give the same offset. Raises what `UNCOMPUTABLE` names.
    """
    ahead = list(islice(fires(trigger, after), FIRES_LOOKED_AT))
    most = min([spread.window_seconds, *((later - earlier - 1) // SECOND for earlier, later in pairwise(ahead))])
    offsets = [_candidate(number, key, trigger, spread.window_seconds) % (most + 1) for number in range(CANDIDATES)]
    if load is None:
        return replace(spread, offset_seconds=offsets[0])
    return replace(spread, offset_seconds=min(offsets, key=lambda one: sum(load(at + one * SECOND) for at in ahead)))


def _candidate(number: int, key: str, trigger: Trigger, window_seconds: int) -> int:
    said = json.dumps([number, key, _said(trigger), window_seconds], sort_keys=True)
    return int.from_bytes(blake2b(said.encode(), digest_size=8).digest())


def _said(trigger: Trigger) -> dict[str, object]:
    """What `trigger` says, whichever version of its calendar it goes by: a new one moves no offset."""
    form = describe(trigger)
    if isinstance(trigger, CronTrigger) and trigger.calendar is not None:
        form["calendar"] = describe_rule(replace(trigger.calendar, version=0))
    return form

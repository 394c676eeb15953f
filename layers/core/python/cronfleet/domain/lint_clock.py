"""Checks of the zone: what its next changes do to the times named, policies without effect, names that mislead."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.calendared import search_of
from cronfleet.domain.clock_policy import Gap
from cronfleet.domain.cron import Cron
from cronfleet.domain.cron_words import listed
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import SECOND, to_text
from cronfleet.domain.lint_cron import CronLook, date_of, wall_words
from cronfleet.domain.time_text import parse_moment
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.domain.warning import Warning, WarningCode  # noqa: A004 - the word that callers see
from cronfleet.domain.zone_names import current_name
from cronfleet.domain.zones import DAY_SECONDS, Zone

CHANGES_SHOWN: Final = 2
LOOK_AHEAD_SECONDS: Final = 800 * DAY_SECONDS
"""More than two years: a zone whose clock does not change by then has no change to speak of."""
TIMES_SHOWN: Final = 3
MOST_MINUTES: Final = 24 * 60

_FIXED: Final = re.compile(r"Etc/GMT([+-])([1-9]\d?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a zone's clock at the UTC second `at`: its offset before and after."""

    at: int
    before: int
    after: int

    @property
    def is_gap(self) -> bool:
        """The clock jumps ahead."""
        return self.after > self.before

    @property
    def low(self) -> int:
        """The first wall second that is skipped, or shown again."""
        return self.at + min(self.before, self.after)

    @property
    def high(self) -> int:
        """The wall second after the last one that is skipped, or shown again."""
        return self.at + max(self.before, self.after)


def next_changes(zone: Zone, after: int) -> Iterator[Change]:
    """The zone's changes later than the UTC second `after`, as far as is looked ahead."""
    segment = zone.segment_at(after)
    until = after + LOOK_AHEAD_SECONDS
    while segment is not None and segment.end <= until:
        following = zone.segment_at(segment.end)
        if following is not None and following.offset != segment.offset:
            yield Change(segment.end, segment.offset, following.offset)
        segment = following


def changes(look: CronLook) -> Iterator[Warning]:
    """What the next two changes do to the times that are named."""
    cron = search_of(look.trigger)
    said: list[str] = []
    affected = False
    for change in islice(next_changes(look.zone, look.after // SECOND), CHANGES_SHOWN):
        walls = [*islice(_named(cron, change), MOST_MINUTES)]
        if _goes_on(look, change, walls):
            walls = []
        affected = affected or bool(walls)
        said.append(f"{_change_words(change)}: {_effect(look, change, walls)}")
    if affected:
        yield Warning(WarningCode.DST_CHANGE, f"The clock in {look.zone.name} changes. {'. '.join(said)}")


def _named(cron: Cron, change: Change) -> Iterator[int]:
    wall = cron.next_wall(change.low)
    while wall is not None and wall < change.high:
        yield wall
        wall = cron.next_wall(wall + 1)


def _goes_on(look: CronLook, change: Change, walls: list[int]) -> bool:
    """Whether a wildcard job simply goes on by the real clock: the hours around are named like the hour itself."""
    if look.fields.fixed_time or not walls:
        return False
    shift = (change.after - change.before) // 60
    hours = {hour % 24 for hour in range(change.low // 3600 - 1, change.high // 3600 + 1)}
    return hours <= {*look.fields.hours} and {(minute + shift) % 60 for minute in look.fields.minutes} == {
        *look.fields.minutes
    }


def _change_words(change: Change) -> str:
    old, new = wall_words(change.at + change.before), wall_words(change.at + change.after)
    moves = "jumps ahead" if change.is_gap else "goes back"
    return f"On {date_of(change.at + change.before).isoformat()} at {old} it {moves} to {new}"


def _effect(look: CronLook, change: Change, walls: list[int]) -> str:
    if not walls:
        return "no time that it names is touched"
    return _in_gap(look, change, walls) if change.is_gap else _in_overlap(look, change, walls)


def _in_gap(look: CronLook, change: Change, walls: list[int]) -> str:
    one = len(walls) == 1
    missing = f"{_times(walls)} {'does' if one else 'do'} not exist {_when(change, walls)}"
    moves = look.fields.fixed_time and look.trigger.gap_policy is Gap.AFTER
    if not moves or look.trigger.next_after(change.at * SECOND - 1) != change.at * SECOND:
        return f"{missing}, so {'that fire is' if one else 'those fires are'} skipped"
    at, instant = wall_words(change.high), to_text(change.at * SECOND)
    if search_of(look.trigger).next_wall(change.high) == change.high:
        return f"{missing}, so {'it falls' if one else 'they fall'} together with the fire at {at} ({instant})"
    return f"{missing}, so it fires {'' if one else 'once '}at {at} instead ({instant})"


def _in_overlap(look: CronLook, change: Change, walls: list[int]) -> str:
    first, second = walls[0] - change.before, walls[0] - change.after
    fired = [at for at in (first, second) if look.trigger.next_after(at * SECOND - 1) == at * SECOND]
    comes = f"{_times(walls)} {'comes' if len(walls) == 1 else 'come'} twice {_when(change, walls)}"
    instants = listed(to_text(at * SECOND) for at in fired) if fired else "never"
    which = "both times" if len(fired) != 1 else "the first time" if fired == [first] else "the second time"
    return f"{comes}, and it fires {which} ({instants})"


def _when(change: Change, walls: list[int]) -> str:
    """At midnight the clock goes back into the day before."""
    day = date_of(walls[0])
    return "that day" if day == date_of(change.at + change.before) else f"on {day.isoformat()}"


def _times(walls: list[int]) -> str:
    shown = [wall_words(wall) for wall in walls[:TIMES_SHOWN]]
    return listed([*shown, f"{len(walls) - TIMES_SHOWN} more"] if len(walls) > TIMES_SHOWN else shown)


def policy(look: CronLook) -> Iterator[Warning]:
    """`gap` and `overlap` decide nothing for a wildcard job, and nothing where the clock never changes."""
    chosen = {"gap": look.trigger.gap, "overlap": look.trigger.overlap}
    names = [name for name, choice in chosen.items() if choice is not None]
    if not names:
        return
    has = "have" if len(names) > 1 else "has"
    if not look.fields.fixed_time:
        why = "the minute or the hour begins with `*`, and such a job fires whenever the clock really shows its times"
    elif next(next_changes(look.zone, look.after // SECOND), None) is None:
        why = f"the clock in {look.zone.name} does not change in the next two years"
    else:
        return
    yield Warning(
        WarningCode.DST_POLICY_WITHOUT_EFFECT,
        f"{listed(f'`{name}`' for name in names)} {has} no effect here: {why}",
    )


def zone_name(name: str | None) -> Iterator[Warning]:
    """Names that are old, or say the opposite of what they seem to."""
    if name is None:
        return
    current = current_name(name)
    if current is not None:
        yield Warning(WarningCode.ZONE_ALIAS, f"{name} is an old name, kept as a link; write {current}")
    fixed = _FIXED.fullmatch(name)
    if fixed:
        sign, side, other = ("-", "behind", "-") if fixed[1] == "+" else ("+", "ahead of", "+")
        hours = int(fixed[2])
        yield Warning(
            WarningCode.ZONE_FIXED_OFFSET,
            f"{name} is {hours} hour{'s' * (hours > 1)} {side} UTC (UTC{sign}{hours:02}:00) all year, the sign being "
            f"reversed by an old custom; for UTC{fixed[1]}{hours:02}:00 write Etc/GMT{other}{hours}, and for a place "
            "with daylight saving time its own name",
        )


def one_shot(trigger: OneShotTrigger) -> Iterator[Warning]:
    """A local time that a change of the clock skips, or shows twice."""
    if trigger.timezone is None:
        return
    try:
        written = parse_moment(trigger.text, "at")
    except Invalid:
        return  # a stored text of older days; the instant is what counts
    second = trigger.at // SECOND
    zone = zones.load(trigger.timezone)
    segment = zone.segment_at(second)
    if segment is None or written.offset_seconds is not None:
        return
    wall = written.rounded_up().wall_seconds
    fires = f"it fires at {wall_words(second + segment.offset)} ({to_text(trigger.at)})"
    if second + segment.offset != wall:
        yield Warning(WarningCode.DST_CHANGE, f"{wall_words(wall)} does not exist that day in {zone.name}: {fires}")
    elif segment.end - second <= timedelta(days=1).total_seconds():
        following = zone.segment_at(segment.end)
        if following and following.offset < segment.offset and wall >= segment.end + following.offset:
            yield Warning(
                WarningCode.DST_CHANGE,
                f"{wall_words(wall)} comes twice that day in {zone.name}: {fires}, the first time",
            )

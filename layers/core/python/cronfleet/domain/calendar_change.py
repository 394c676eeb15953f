"""What a calendar's new version changes for those who use it, and whether it is about to run out."""

from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain import zones
from cronfleet.domain.calendar import RUNS_OUT_DAYS, Calendar, CalendarRule, Missing, day_text
from cronfleet.domain.calendared import CalendaredCron, search_of
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, SECOND, Instant, floor_second, to_text
from cronfleet.domain.trigger import CronTrigger, Trigger
from cronfleet.domain.zones import DAY_SECONDS

CHANGED_DAYS: Final = 366
"""How far ahead changed dates are looked for."""
MAX_CHANGED_DATES: Final = 50
"""Dates that are shown of one schedule, each way."""


@dataclass(frozen=True, slots=True)
class Changed:
    """The days on which a schedule would fire no more, and those on which it would fire instead or besides.

    `is_cut`: there are more than are shown.
    """

    removed: tuple[int, ...]
    added: tuple[int, ...]
    is_cut: bool = False

    @property
    def is_nothing(self) -> bool:
        """Whether every day stays as it is."""
        return not self.removed and not self.added


def bound_to(trigger: Trigger, content: Calendar | Missing | None) -> Trigger:
    """`trigger` with `content` as what its calendar holds; one that uses no calendar as it is."""
    if not isinstance(trigger, CronTrigger) or trigger.calendar is None:
        return trigger
    return replace(trigger, calendar=replace(trigger.calendar, days=content))


def check_fires(trigger: Trigger, now: Instant) -> None:
    """Refuses a trigger whose calendar leaves it no time after `now`; one without a calendar was judged when read."""
    rule = rule_of(trigger)
    if rule is not None and trigger.next_after(now) is None:
        raise Invalid(
            "calendar",
            f"leaves no day on which it can fire after {to_text(floor_second(now))}: with {rule.mode.value} of "
            f"{rule.name!r} it would never fire",
        )


def under(trigger: CronTrigger, calendar: Calendar) -> CronTrigger:
    """`trigger` under this version of its calendar."""
    rule = trigger.calendar
    if rule is None:
        raise ValueError("the trigger uses no calendar")
    return replace(trigger, calendar=replace(rule, version=calendar.version, days=calendar))


def follows(trigger: Trigger, name: str, version: int) -> CronTrigger | None:
    """`trigger`, if it uses the calendar `name`, in a version before `version`, and is not pinned to that."""
    rule = rule_of(trigger)
    if rule is None or rule.name != name or rule.pinned or rule.version >= version:
        return None
    return trigger if isinstance(trigger, CronTrigger) else None


def rule_of(trigger: Trigger) -> CalendarRule | None:
    """The calendar rule of `trigger`, if it has one."""
    return trigger.calendar if isinstance(trigger, CronTrigger) else None


def changed(trigger: CronTrigger, calendar: Calendar, today: int) -> Changed:
    """What `calendar` changes for `trigger` from `today` on, in `CHANGED_DAYS` days."""
    last = today + CHANGED_DAYS
    before, after = _days(trigger, today, last), _days(under(trigger, calendar), today, last)
    removed, added = sorted(before - after), sorted(after - before)
    is_cut = max(len(removed), len(added)) > MAX_CHANGED_DATES
    return Changed(tuple(removed[:MAX_CHANGED_DATES]), tuple(added[:MAX_CHANGED_DATES]), is_cut)


def _days(trigger: CronTrigger, first: int, last: int) -> set[int]:
    search = search_of(trigger)
    return set(search.days(first, last)) if isinstance(search, CalendaredCron) else set()


def today_of(now: Instant) -> int:
    """The day that it is in UTC."""
    return now // DAY


def runs_out(covers_until: int, now: Instant) -> str | None:
    """Says that a calendar is about to run out, or has; None while it is far from that."""
    left = covers_until - today_of(now)
    if left > RUNS_OUT_DAYS:
        return None
    if left < 0:
        return f"it knew dates up to {day_text(covers_until)} only: every later weekday counts as a business day"
    return f"it knows dates up to {day_text(covers_until)} only, {left} days from now: put a version that goes on"


def why_running_out(trigger: Trigger, now: Instant) -> str | None:
    """Says that the calendar of `trigger` runs out, or does before the next fire; None where neither is so."""
    rule = rule_of(trigger)
    if rule is None or not isinstance(rule.days, Calendar):
        return None
    covers_until = rule.days.covers_until
    said = runs_out(covers_until, now)
    if said is not None:
        return f"calendar {rule.name!r}, version {rule.version}: {said}"
    following = trigger.next_after(now)
    if following is None or local_day(trigger, following) <= covers_until:
        return None
    until = day_text(covers_until)
    return (
        f"calendar {rule.name!r}, version {rule.version}: the next fire lies past {until}, up to which it knows dates"
    )


def local_day(trigger: Trigger, instant: Instant) -> int:
    """The day that it is at `instant` in the zone of `trigger`."""
    second = instant // SECOND
    wall = zones.load(trigger.timezone).wall_at(second) if isinstance(trigger, CronTrigger) else second
    return wall // DAY_SECONDS

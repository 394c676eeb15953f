"""What a calendar did to a time that an expression names: which date it was, why it was taken away, where it went."""

from dataclasses import replace
from typing import Final

from cronfleet.domain import calendared, zones
from cronfleet.domain.calendar import Calendar, CalendarRule, Mode, day_text
from cronfleet.domain.calendared import CalendaredCron, Fate
from cronfleet.domain.explanation import Said, Value
from cronfleet.domain.instant import SECOND, Instant, to_text
from cronfleet.domain.reason import Code
from cronfleet.domain.trigger import CronTrigger, Trigger
from cronfleet.domain.zones import DAY_SECONDS

_KINDS: Final = {"holiday": "a holiday", "weekend": "no business day", "freeze": "frozen"}


def why_taken(trigger: Trigger, at: Instant) -> Said | None:
    """Why `trigger` does not name `at`, if its expression does and its calendar is the reason."""
    if not isinstance(trigger, CronTrigger) or trigger.calendar is None or at % SECOND:
        return None
    search = calendared.search_of(trigger)
    if not isinstance(search, CalendaredCron) or replace(trigger, calendar=None).next_after(at - 1) != at:
        return None
    day, time_of_day = divmod(zones.load(trigger.timezone).wall_at(at // SECOND), DAY_SECONDS)
    fate = search.fate_of(day)
    if fate is None:
        return None
    rolled_to = None if fate.target is None else _instant_of(trigger, fate.target * DAY_SECONDS + time_of_day)
    rule, content = trigger.calendar, trigger.calendar.content
    detail: dict[str, Value] = {
        "calendar": rule.name,
        "calendar_version": rule.version,
        "mode": rule.mode.value,
        "date": day_text(day),
        "day": fate.kind,
        "label": fate.label,
        "rolled_to_at": None if rolled_to is None else to_text(rolled_to),
        "covers_until": day_text(content.covers_until),
    }
    return Code.CALENDAR, _text(rule, content, day, fate, rolled_to), detail


def _instant_of(trigger: CronTrigger, wall: int) -> Instant | None:
    """When the clock shows `wall` for `trigger`, if that is a time that it names."""
    second = zones.load(trigger.timezone).first_instant(wall)
    if second is None:
        return None
    found = trigger.next_after(second * SECOND - 1)
    # In an overlap the trigger may have chosen the second pass.
    return found if found is not None and found // SECOND - second < DAY_SECONDS else None


def _text(rule: CalendarRule, content: Calendar, day: int, fate: Fate, rolled_to: Instant | None) -> str:
    where = f"calendar {rule.name!r}, version {rule.version}"
    if rule.mode is Mode.NTH_BUSINESS_DAY and fate.number is not None:
        chosen = f", which is {day_text(fate.chosen)}" if fate.chosen is not None else ""
        text = f"{day_text(day)} is business day {fate.number} of its month in {where}; the schedule runs on "
        return f"{text}business day {rule.nth}{chosen}" + _beyond(content, day)
    label = f" ({fate.label})" if fate.label else ""
    text = f"{day_text(day)} is {_KINDS[fate.kind]}{label} in {where}"
    if fate.target is None:
        return f"{text}: nothing fires in its place" + _beyond(content, day)
    if fate.blocked_by is not None:
        text = f"{text}: it would have moved to {day_text(fate.target)}, which is frozen ({fate.blocked_by})"
    elif rolled_to is None:
        text = f"{text}: it would have moved to {day_text(fate.target)}, where the clock has no such time"
    else:
        text = f"{text}: it moved to {to_text(rolled_to)}"
    return text + _beyond(content, max(day, fate.target))


def _beyond(content: Calendar, day: int) -> str:
    if day <= content.covers_until:
        return ""
    return f"; the calendar knows dates up to {day_text(content.covers_until)} only, so a holiday after it is not in it"

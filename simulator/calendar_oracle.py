"""An oracle for calendars: which days an expression comes to under one, by walking from day to day.

Shares no code with the product, and reads what callers wrote: the calendar's form and the trigger's. Every day is asked
by itself whether anything lands on it, by looking at all days around it.
"""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any

from simulator.oracle import Oracle

DAY = timedelta(days=1)
_WEEK = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


class CalendarOracle(Oracle):
    """One expression in one zone, under the calendar `use["content"]` as `use` says."""

    def __init__(self, expression: str, zone_name: str, *chosen: str, use: Mapping[str, Any]) -> None:
        super().__init__(expression, zone_name, *chosen)
        self._use = use
        self._landed: dict[date, bool] = {}
        content = use["content"]
        self._weekend = {_WEEK.index(name) for name in content.get("weekend", ["saturday", "sunday"])}
        self._holidays, self._workdays, self._frozen = (
            {day for entry in content.get(name, []) for day in _days(entry)}
            for name in ("holidays", "workdays", "freezes")
        )

    def _day_matches(self, day: date) -> bool:
        known = self._landed.get(day)
        if known is None:
            known = self._landed[day] = day not in self._frozen and self._lands_on(day)
        return known

    def _lands_on(self, day: date) -> bool:
        mode = self._use["mode"]
        named = super()._day_matches
        if mode == "exclude":
            return named(day) and (day not in self._holidays or day in self._workdays)
        if mode == "nth_business_day":
            return self._is_nth(day, self._use["nth"]) and day.month in self._months
        if not self._is_business(day):
            return False
        if mode == "business_days":
            return named(day)
        step = -DAY if mode == "roll_forward" else DAY  # back to the days that roll onto this one
        return named(day) or self._any_before_business(day + step, step, named)

    def _any_before_business(self, day: date, step: timedelta, named: Callable[[date], bool]) -> bool:
        while not self._is_business(day):
            if named(day):
                return True
            day += step
        return False

    def _is_business(self, day: date) -> bool:
        return day in self._workdays or (day not in self._holidays and day.weekday() not in self._weekend)

    def _is_nth(self, day: date, nth: int) -> bool:
        month = [day.replace(day=1)]
        while (month[-1] + DAY).month == day.month:
            month.append(month[-1] + DAY)
        business = [one for one in month if self._is_business(one)]
        return len(business) >= abs(nth) and business[nth - 1 if nth > 0 else nth] == day


def _days(entry: Any) -> list[date]:
    if isinstance(entry, str):
        return [date.fromisoformat(entry)]
    first = date.fromisoformat(entry.get("date") or entry["from"])
    last = date.fromisoformat(entry.get("date") or entry["to"])
    return [first + n * DAY for n in range((last - first).days + 1)]

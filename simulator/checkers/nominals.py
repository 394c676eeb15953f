"""Nominal times of a trigger, worked out independently: from the form that callers see, by the simulator's oracle."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from simulator.calendar_oracle import CalendarOracle
from simulator.oracle import Oracle

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def instant(text: str) -> int:
    """Milliseconds of RFC 3339 text in UTC."""
    return round((datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH) / timedelta(milliseconds=1))


def nominals(trigger: Mapping[str, Any], after: int, until: int) -> list[int]:
    """Every nominal in (after, until], oldest first. A trigger's `calendar` holds the calendar itself as `content`."""
    if until <= after:
        return []
    if "every" in trigger:
        return _of_interval(trigger, after, until)
    if "at" in trigger:
        at = _at(trigger["at"])
        return [at] if after < at <= until else []
    use = json.dumps(trigger.get("calendar"), sort_keys=True)
    chosen = trigger["cron"], trigger["timezone"], trigger.get("gap", ""), trigger.get("overlap", "")
    return [at for at in _of_cron(*chosen, use, after - after % 60_000, until) if at > after]


def _of_interval(trigger: Mapping[str, Any], after: int, until: int) -> list[int]:
    number, unit = re.fullmatch(r"(\d+)([smhd])", trigger["every"]).groups()  # type: ignore[union-attr]  # the API took it
    every, anchor = int(number) * _UNITS[unit], instant(trigger["anchor"])
    first = after + every - (after - anchor) % every
    return list(range(first, until + 1, every))


def _at(text: str) -> int:
    return int(text) if text.isdecimal() else instant(text)


@cache
def _of_cron(
    expression: str, timezone: str, gap: str, overlap: str, use: str, after: int, until: int
) -> tuple[int, ...]:
    begin, end = (_EPOCH + timedelta(milliseconds=at) for at in (after, until))
    calendar = json.loads(use)
    chosen = expression, timezone, gap, overlap
    oracle = Oracle(*chosen) if calendar is None else CalendarOracle(*chosen, use=calendar)
    return tuple(round((at - _EPOCH) / timedelta(milliseconds=1)) for at in oracle.fires(begin, end))

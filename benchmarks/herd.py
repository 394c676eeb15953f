"""A herd: recurring schedules of many tenants that are all due in one second, as items of the due index.

Expressions are such as public crontabs have (`benchmarks.cron_mix` counts those), but only what fires at this second:
on the hour most, then every few minutes, each minute, once a day, on weekdays, weekly, monthly; two fifths in UTC, the
rest over the zones that people live in. The shares are assumed: what is wanted is many pairs of expression and zone,
each of which some schedules share. Ids, tenants and zones are drawn by a hash, so that every run has the same herd.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import blake2b
from itertools import accumulate, product
from typing import Any, Final
from zoneinfo import ZoneInfo

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.items.timers import timer_item
from cronfleet.domain.dispatch_plan import first_fire
from cronfleet.domain.instant import Instant, to_datetime
from cronfleet.domain.schedule import Timer
from cronfleet.domain.trigger import CronTrigger
from cronfleet.domain.zone_stamp import stamp
from tests.support.builders import timer
from tests.support.settable_clock import NOON

PER_TENANT: Final = 100
"""Schedules of a tenant, on average: few have many, many have few."""
JITTER_SECONDS: Final = 30

ZONES: Final = (
    "UTC",
    "America/New_York",
    "America/Los_Angeles",
    "America/Chicago",
    "America/Sao_Paulo",
    "America/Toronto",
    "America/Mexico_City",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Paris",
    "Europe/Madrid",
    "Europe/Warsaw",
    "Europe/Istanbul",
    "Africa/Lagos",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Singapore",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Asia/Seoul",
    "Asia/Jakarta",
    "Australia/Sydney",
    "Pacific/Auckland",
    "Etc/UTC",
    "America/Bogota",
)
_UTC_SHARE: Final = 16
"""Of 40: so much of the herd is in UTC."""

_EXPRESSIONS: Final = (
    ("0 * * * *", 30),
    ("*/5 * * * *", 20),
    ("*/15 * * * *", 12),
    ("{minute} {hour} * * *", 12),
    ("* * * * *", 6),
    ("*/10 * * * *", 5),
    ("*/30 * * * *", 5),
    ("{minute} {hour} * * 1-5", 4),
    ("0,30 9-17,{hour} * * MON-FRI", 2),
    ("{minute} {hour} * * {weekday}", 2),
    ("{minute} {hour} {day} * *", 1),
    ("{minute} {hour} {day},15 1-12/1 *", 1),
)
"""Each with its share of a hundred."""


def pairs(at: Instant = NOON) -> list[tuple[CronTrigger, int]]:
    """Each (expression, zone) of the herd that fires at `at`, with its weight: 300 of them."""
    found = []
    for (expression, share), zone in product(_EXPRESSIONS, ZONES):
        local: datetime = to_datetime(at).astimezone(ZoneInfo(zone))
        weight = share * (_UTC_SHARE * (len(ZONES) - 1) // (40 - _UTC_SHARE) if zone == "UTC" else 1)
        weekday = local.isoweekday() % 7
        text = expression.format(minute=local.minute, hour=local.hour, day=local.day, weekday=weekday)
        found.append((CronTrigger(text, zone), weight))
    return found


def herd(count: int, *, is_jittered: bool = False) -> Iterator[Timer]:
    """`count` timers that wait for noon, or for what their jitter makes of it."""
    at = NOON
    known = pairs(at)
    sums = list(accumulate(weight for _, weight in known))
    tenants = max(20, min(200, count // PER_TENANT))
    for number in range(count):
        drawn = int.from_bytes(blake2b(str(number).encode(), digest_size=8).digest(), "big")
        trigger = known[_place(sums, drawn % sums[-1])][0]
        # The square draws the first tenants more often.
        tenant = (drawn >> 32) % tenants * ((drawn >> 40) % tenants) // tenants
        made = timer(
            trigger,
            at,
            schedule_id=f"job-{drawn:016x}",
            tenant=f"customer-{tenant:03}",
            zone_data=stamp(trigger, at),
            labels=(f"{drawn % 97:06x}",),
            rev=1 + drawn % 9,
            version=1 + drawn % 3,
        )
        yield _jittered(made) if is_jittered else made


def _jittered(made: Timer) -> Timer:
    """`made`, due when its jitter says."""
    waiting = replace(made, jitter_seconds=JITTER_SECONDS)
    fire = first_fire(waiting, NOON - 1)
    return waiting if fire is None else replace(waiting, due_at=fire.due_at)


def _place(sums: Sequence[int], drawn: int) -> int:
    return next(place for place, total in enumerate(sums) if drawn < total)


def due_items(timers: Sequence[Timer]) -> list[Any]:
    """The `timers` as the due index shows them, each with texts of its own, as a client reads them."""
    return [json.loads(json.dumps(_projected(timer_item(one)))) for one in timers]


def _projected(item: Mapping[str, Any]) -> dict[str, Any]:
    shown = ("pk", "sk", "due_shard", "due_at", *schema.DUE_PROJECTION)
    return {name: value for name, value in item.items() if name in shown}

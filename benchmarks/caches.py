"""`python -m benchmarks.caches`: what the caches of the hot path weigh when they are full; and how to empty them.

Measured by what Python allocates for as many entries as each keeps, all different and of ordinary length.
"""

import gc
import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any, Final

from benchmarks.figures import Figure, report
from cronfleet.adapters.dynamodb.items import timers
from cronfleet.domain import instant, quota, zone_stamp
from cronfleet.domain.cron import EXPRESSIONS_KEPT
from cronfleet.domain.instant import SECOND
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger
from tests.support.builders import cron, timer
from tests.support.settable_clock import NOON

BUDGET_MEGABYTES: Final = 16
_ZONE: Final = "Europe/Berlin"
_MEGABYTE: Final = 1_000_000


def forget() -> None:
    """Empty every cache that the package keeps by functools, as in a new process."""
    for one in kept():
        one.cache_clear()


def kept() -> list[Any]:
    """Every cache that functools keeps for the package, methods' included."""
    return [
        one
        for one in gc.get_objects()
        if isinstance(one, _KIND) and str(getattr(one, "__module__", "")).startswith("cronfleet.")
    ]


_KIND: Final = type(cache(lambda: None))


def _expression(number: int) -> str:
    minute, rest = number % 60, number // 60
    return f"{minute} {rest % 24} {1 + rest // 24 % 28} * *"


def _ask_for_fires() -> None:
    for number in range(EXPRESSIONS_KEPT):
        cron(_expression(number), _ZONE).next_after(NOON)


def _ask_for_stamps() -> None:
    for number in range(zone_stamp.STAMPS_KEPT):
        zone_stamp.stamp(CronTrigger("0 * * * *", _ZONE), NOON + number * SECOND)


def _read_timers() -> None:
    for number in range(timers.TEXTS_KEPT):
        misfire = Misfire(MisfirePolicy.CATCH_UP, number, window_seconds=3_600)
        waiting = timer(cron(_expression(number), _ZONE), NOON, misfire=misfire, jitter_seconds=30)
        timers.timer_of(timers.timer_item(waiting))


def _write_instants() -> None:
    for number in range(instant.COMPACT_KEPT):
        instant.to_compact(NOON + number * SECOND)


def _ask_for_quotas() -> None:
    for number in range(quota.QUOTAS_KEPT):
        quota.quotas_of(Tenant("acme", quotas=(("burst", 1 + number), ("fires_per_second", 1 + number))))


FILLED: Final[tuple[tuple[str, Callable[[], None]], ...]] = (
    ("expressions, with a next fire of each", _ask_for_fires),
    ("stamps of the zone data", _ask_for_stamps),
    ("texts of triggers and policies", _read_timers),
    ("instants in run ids", _write_instants),
    ("quotas", _ask_for_quotas),
)


def grown_by(fill: Callable[[], None]) -> int:
    """Bytes that are still there once `fill` has been done."""
    gc.collect()
    before, _ = tracemalloc.get_traced_memory()
    fill()
    gc.collect()
    return tracemalloc.get_traced_memory()[0] - before


def main() -> None:
    """Print the figures."""
    for _, fill in FILLED:  # what is imported and built for the first time is no cache
        fill()
    forget()
    tracemalloc.start()
    total = 0
    for name, fill in FILLED:
        grown = grown_by(fill)
        total += grown
        print(f"  {name:<40} {grown / _MEGABYTE:5.2f} MB")
    report(
        Figure(
            "Dispatcher",
            "caches of the hot path, all of them full",
            f"{total / _MEGABYTE:.1f} MB",
            budget=f"≤ {BUDGET_MEGABYTES} MB",
            kept=total <= BUDGET_MEGABYTES * _MEGABYTE,
        )
    )


if __name__ == "__main__":
    main()

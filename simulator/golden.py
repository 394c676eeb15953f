"""The golden table: what representative expressions do at every change of every canonical zone, 2018 to 2037.

One line a zone: its name, how many days with a change it has, how many fires the expressions have around them under all
policies, and a digest of these fires. The lines come from `WallOracle` alone, never from the product:
`python -m benchmarks.golden_zones --write` makes them, without `--write` it holds the product against the oracle.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import resources
from itertools import product
from typing import Final

from simulator.oracle import WallOracle, zone

FIRST: Final = datetime(2018, 1, 1, tzinfo=UTC)
END: Final = datetime(2038, 1, 1, tzinfo=UTC)
QUIET: Final = datetime(2026, 3, 29, tzinfo=UTC)
"""The day that is looked at in a zone whose clock never changes."""
AROUND: Final = timedelta(days=2)
DAY: Final = timedelta(days=1)

FIXED: Final = (
    "0 0 * * *",
    "30 0 * * *",
    "15 1 * * *",
    "30 2 * * *",
    "0 3 * * *",
    "30 22-1 * * SUN",
    "0-59/30 0-23 * * *",
    "45 2 L * *",
    "10 0-3/3 1-7 * 0",
    "cron(30 1 ? * SUN *)",
    "cron(15 0/1 * * ? 2018/3)",
)
"""Fixed-time: each policy does something else with them."""
WILDCARD: Final = ("*/20 * * * *", "30 * * * *", "0 */2 * * *", "*/15 2 * * *", "cron(0/25 * * * ? *)")
"""No policy does anything with them."""
DAILY: Final = ("30 2 * * *", "0 0 * * *", "cron(30 1 ? * SUN *)")
"""Those that the long form follows through every day of the twenty years."""
POLICIES: Final = tuple(product(("skip", "after"), ("first", "second", "both")))

Fires = Callable[[str, str, str, str, datetime, datetime], Iterable[datetime]]
"""Whatever names fires: (expression, zone, gap, overlap, after, until) → the fires in (after, until]."""


def canonical_zones() -> list[str]:
    """The names that are no links, by the package's own zone file."""
    text = resources.files("tzdata").joinpath("zoneinfo", "tzdata.zi").read_text(encoding="ascii")
    names = (line.split()[1] for line in text.splitlines() if line.startswith("Z "))
    return sorted(name for name in names if name != "Factory")


def changes(name: str) -> list[datetime]:
    """The days, as their midnights in UTC, in whose course the zone's offset changes."""
    place, days = zone(name), (END - FIRST).days
    offsets = [(FIRST + n * DAY).astimezone(place).utcoffset() for n in range(days + 1)]
    return [FIRST + n * DAY for n in range(days) if offsets[n] != offsets[n + 1]]


def cases() -> Iterator[tuple[str, str, str]]:
    """Each expression with each policy, as (expression, gap, overlap)."""
    for expression, (gap, overlap) in product(FIXED, POLICIES):
        yield expression, gap, overlap
    for expression, (gap, overlap) in product(WILDCARD, (("after", "first"), ("skip", "both"))):
        yield expression, gap, overlap


def windows(name: str) -> list[tuple[datetime, datetime]]:
    """The stretches that are looked at, as (after, until]."""
    return [(day - AROUND, day + DAY + AROUND) for day in changes(name) or [QUIET]]


def line(name: str, fires: Fires) -> str:
    """The zone's line, as `fires` has it."""
    digest, count = hashlib.sha256(), 0
    stretches = windows(name)
    for after, until in stretches:
        for expression, gap, overlap in cases():
            found = [int(moment.timestamp()) for moment in fires(expression, name, gap, overlap, after, until)]
            count += len(found)
            digest.update(f"{expression}|{gap}|{overlap}|{found}\n".encode())
    return f"{name} {len(changes(name))} {count} {digest.hexdigest()[:16]}"


def oracle(expression: str, name: str, gap: str, overlap: str, after: datetime, until: datetime) -> Iterable[datetime]:
    """`Fires` by asking wall-clock times."""
    return WallOracle(expression, name, gap, overlap).fires(after, until)

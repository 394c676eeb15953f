"""A cron mix as people really write it, for benchmarks that need a population: `python -m benchmarks.cron_mix`.

**Where it comes from.** `FOUND` holds the lines of 45 files called `crontab` or `docker/crontab` in public
repositories, picked from the first hundred of an index of each name (so digits and A to J) before anybody had looked
into them, at most the first 12 lines of a file so that none weighs too much; and 44 expressions of GitHub workflows,
Kubernetes CronJobs and Airflow DAGs in public repositories, all that a search for the field's name brought up.
`@reboot` and lines that are commented out are left out, `*/60` is written `0`.

**What is assumed.** That a service's schedules are written as those lines are; and the zones, since crontabs name none:
three fifths in UTC (which workflows and most clusters mean), the rest where business is done; no calendar.

Every line as often as it was found is much: a tenth of them say `* * * * *`. An installation with millions of schedules
has fewer such. `thinned(target)` keeps what fires up to once an hour as found, and lets what fires more often count
less, all of it by one factor, so that the mean is what is asked for.
"""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import accumulate
from typing import Final

from cronfleet.domain.instant import DAY, Instant, from_datetime
from cronfleet.domain.trigger import CronTrigger, fires

FOUND: Final[tuple[str, ...]] = (
    # Files called crontab, one a line.
    *("0 */5 * * *", "0 8-21 * * *", "*/1 * * * *"),
    *("*/1 * * * *", "*/15 * * * *", "0 * * * *", "0 2 * * *", "0 3 * * 6", "0 5 1 * *"),
    *("30 4 * * *", "0 4 * * *", "0 1 * * *", "30 0 * * *", "0 0 * * 0", "0 1 * * 1", "0 4 * * *"),
    *("15 6 * * *", "16 6 * * *", "17 6 * * *", "20 6 * * *"),
    *("* * * * *", "* * * * *"),
    *("0,5,10,15,20,25,30,35,41,45,50,55 * * * *", "0 0 * * 3"),
    *("@hourly", "@daily"),
    *("0 0,12 * * *",),
    *("*/5 * * * *", "*/5 * * * *"),
    *("0 17 * * *", "1 17 * * *", "30 17 * * *"),
    *("*/1 * * * *", "*/1 * * * *", "* * * * *", "* * * * *"),
    *("* * * * *",),
    *("0 0 * * *",),
    *("* * * * *",),
    *("* * * * *",),
    *("0 * * * *", "0 0 * * *"),
    *("46 3 * * 1", "47 3 * * 1", "48 3 * * *"),
    *("0 3 */15 * *", "0 4 */30 * *", "0 5 */30 * *"),
    *("0 0 * * *", "0 2 * * *", "0 3 * * *"),
    *("14 14 * * *",),
    *("00 6 * * *",),
    *("0 1,12 * * *",),
    *("0 */3 * * *",),
    *("0 0 * * *", "0 1 * * *"),
    *("0 0 * * *", "0 0 * * *"),
    *("* * * * *",),
    *("17 * * * *", "55 23 * * *", "47 6 * * 7", "52 6 1 * *"),
    *("00 02 * * *", "10 02 * * *", "50 02 * * *", "30 03 * * *", "32 03 * * *", "33 03 * * *"),
    *("34 03 * * *", "28 03 * * *", "26 03 * * *", "34 03 * * *", "35 03 * * *", "36 03 * * *"),
    *("0 10 * * 1-5", "0 10 * * 1-5"),
    *("*/30 * * * *",),
    *("0 * * * *", "0 */2 * * *", "0 6 * * *"),
    *("30 2 * * *",),
    *("@hourly",),
    *("0 */6 * * *", "0 2 * * *"),
    *("0 * * * *", "0 0 * * *", "30 0 * * *", "0 2 * * 0", "0 3 * * 0"),
    *("*/15 * * * *", "*/10 * * * *", "0 3 * * *", "0 4 * * *", "0 5 * * *", "0 7 * * *", "0 8 * * 1", "0 6 1 * *"),
    *("0 * * * *",),
    *("0 6 * * *", "0 2 * * *", "0 */6 * * *", "0 */4 * * *", "*/10 18-23,0-1 * * *", "*/15 15-19 * * *", "0 3 * * 0"),
    *("* * * * *",),
    *("*/2 * * * *", "0 * * * *", "45 1 * * *", "30 2 1 * *", "0 4 * * *", "0 5 * * *"),
    *("0,7,15,22,30,37,45,52 * * * *", "55 3 * * *", "2,17,32,47 * * * *", "55 2 * * *", "0 */1 * * *"),
    *("*/10 * * * *", "0 4 * * *"),
    *("42 2 * * *",),
    *("5 * * * *", "10 * * * *", "15 * * * *", "0 2 1 * *"),
    *("*/5 * * * *", "* * * * *"),
    *("30 20 * * *", "0 22 * * *", "10 22 * * *", "15 22 * * *", "20 22 * * *", "0 8 * * *", "0 13 * * *"),
    # GitHub workflows.
    *("0 4 * * *", "0 6 * * 1", "0 8 * * *", "0 */3 * * *", "0 2 * * 0", "0 */6 * * *", "0 4 * * *", "0 21 * * 0-4"),
    *("0 0 * * *", "0 * * * *", "0 6 * * *", "0 22 * * *", "0 0 * * 0", "0 2 * * 1", "0 0 * * *", "*/10 * * * *"),
    *("0 7 * * *", "0 0 * * *", "0 3 1 1 *", "0 0 * * *", "0 8 * * 1-5", "0 0 * * 0", "0 0 * * 0", "0 12 * * *"),
    *("19 0 * * 2", "0 0 * * 0", "0 */2 * * *", "0 5 * * 1", "0 2 * * *", "30 4 * * *"),
    # Kubernetes CronJobs.
    *("0 2 * * *", "0 5 * * *", "0 6 * * *", "0 3 * * *", "*/1 * * * *", "0 2 * * *", "0 * * * *", "*/5 * * * *"),
    # Airflow DAGs.
    *("0 9 * * *", "@daily", "@hourly", "@daily", "10 */1 * * 1,2,3,6,7", "@weekly"),
)
"""Expressions as often as they were found."""

ZONES: Final[Mapping[str, int]] = {
    "UTC": 60,
    "America/New_York": 10,
    "Europe/Berlin": 8,
    "America/Los_Angeles": 5,
    "Asia/Kolkata": 5,
    "Europe/London": 5,
    "Asia/Tokyo": 3,
    "America/Sao_Paulo": 2,
    "Australia/Sydney": 2,
}
"""Of a hundred schedules, how many are written in which zone: an assumption."""

FIRES_A_DAY: Final = 14.4
"""Of one schedule on average, by which the mix is thinned: 100,000 firings a minute of ten million."""

HOURLY: Final = 24.0
"""Fires a day above which `thinned` lets a line count less."""

MEASURED_FROM: Final[Instant] = from_datetime(datetime(2026, 11, 30, tzinfo=UTC))
MEASURED_DAYS: Final = 28
"""Over which fires a day are counted: four whole weeks, from a Monday."""


@dataclass(frozen=True, slots=True)
class Line:
    """One expression, how often it counts, and how often a day it fires."""

    expression: str
    weight: float
    fires_a_day: float


@cache
def found() -> tuple[Line, ...]:
    """Every expression of `FOUND`, the most frequent first."""
    return tuple(Line(text, count, _fires_a_day(text)) for text, count in Counter(FOUND).most_common())


def _fires_a_day(expression: str) -> float:
    until = MEASURED_FROM + MEASURED_DAYS * DAY - 1
    return sum(1 for _ in fires(CronTrigger(expression, "UTC"), MEASURED_FROM - 1, until)) / MEASURED_DAYS


def mean_fires_a_day(lines: tuple[Line, ...]) -> float:
    """Fires a day of one schedule, on average."""
    return sum(line.weight * line.fires_a_day for line in lines) / sum(line.weight for line in lines)


@cache
def thinned(target: float) -> tuple[Line, ...]:
    """`found()`, what fires more often than hourly counting less, so that the mean is `target` fires a day.

    Raises `ValueError` where no factor does it.
    """
    slow = tuple(line for line in found() if line.fires_a_day <= HOURLY)
    fast = tuple(line for line in found() if line.fires_a_day > HOURLY)
    least, most = mean_fires_a_day(slow), mean_fires_a_day(found())
    if not least <= target <= most:
        raise ValueError(f"{target:g} fires a day cannot be had: write {least:.1f} to {most:.1f}")
    missing = sum(line.weight * (target - line.fires_a_day) for line in slow)
    factor = missing / sum(line.weight * (line.fires_a_day - target) for line in fast)
    return slow + tuple(Line(line.expression, line.weight * factor, line.fires_a_day) for line in fast)


def drawn(rng: random.Random, count: int, lines: tuple[Line, ...] | None = None) -> list[tuple[str, str]]:
    """`count` pairs of expression and zone; the same for the same `rng`. `lines` left out: as found."""
    chosen = found() if lines is None else lines
    expressions = rng.choices(
        [line.expression for line in chosen], cum_weights=list(accumulate(line.weight for line in chosen)), k=count
    )
    zones = rng.choices(list(ZONES), cum_weights=list(accumulate(ZONES.values())), k=count)
    return list(zip(expressions, zones, strict=True))


def main() -> None:
    """Print the mix."""
    lines = found()
    total = sum(line.weight for line in lines)
    print(f"{len(FOUND)} lines, {len(lines)} different; {mean_fires_a_day(lines):.1f} fires a day on average")
    for share, what in (
        (sum(line.weight for line in lines if line.fires_a_day >= 1_440), "every minute"),
        (sum(line.weight for line in lines if HOURLY < line.fires_a_day < 1_440), "more often than hourly"),
        (sum(line.weight for line in lines if 1.5 < line.fires_a_day <= HOURLY), "up to hourly, more than daily"),
        (sum(line.weight for line in lines if 0.9 < line.fires_a_day <= 1.5), "daily"),
        (sum(line.weight for line in lines if line.fires_a_day <= 0.9), "rarer"),
        (sum(line.weight for line in lines if _starts_at(line.expression, "0 ", "00 ", "@")), "at minute 0 alone"),
        (sum(line.weight for line in lines if _starts_at(line.expression, "0 0 ", "@daily", "@weekly")), "at midnight"),
    ):
        print(f"  {share / total:6.1%}  {what}")
    for line in lines[:20]:
        print(f"  {line.weight:4.0f}  {line.expression}")


def _starts_at(expression: str, *beginnings: str) -> bool:
    return expression.startswith(beginnings)


if __name__ == "__main__":
    main()

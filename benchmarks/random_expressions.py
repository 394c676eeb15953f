"""`python -m benchmarks.random_expressions`: random expressions of both dialects against an independent walk.

Each is drawn with a zone, a policy and a moment, often near a change of that zone's clock, and in one case of ten
spoilt at one character. What the product accepts must fire exactly when the oracle says, for 26 hours minute by minute
and then for a year by wall-clock times; what it refuses as "can never fire" the oracle must not name in forty years.
`--count 100000 --seed 1`; prints every difference with the line for `python -m cronfleet.preview` that shows it.
"""

import argparse
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from itertools import islice
from typing import Final

from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import from_datetime, to_datetime
from cronfleet.domain.trigger import CronTrigger, fires, parse_trigger
from simulator import golden
from simulator.oracle import Oracle, WallOracle, utc

WALK: Final = timedelta(hours=26)
"""How far the walk goes minute by minute."""
FOR_ONE_PLACE: Final = 50
"""Texts that are compared in one zone at one moment: the walk keeps what the clock shows there."""
YEAR: Final = timedelta(days=366)
LAST: Final = utc("2201-01-01T00:00:00Z")
MAX_COMPARED: Final = 40
"""Fires that are compared in the year."""
REPORTED: Final = 20
NAMES: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
SPOILERS: Final = "*/,-?#LWH@%+. 0123456789\u2013\u00a0x"


class Draw:
    """Texts, drawn from `rng`."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def item(self, low: int, high: int, near: int, *, star: bool = True, step: bool = True, wrap: bool = True) -> str:
        """A star, a value, a range or a step."""
        rng = self.rng
        first = near if rng.random() < 0.5 else rng.randint(low, high)
        last = rng.randint(low if wrap else first, high)
        size = rng.choice([1, 2, 3, 5, 7, 10, 15, 20, rng.randint(1, high + 3)])
        kinds: list[Callable[[], str]] = [lambda: str(first), lambda: f"{first:02}", lambda: f"{first}-{last}"]
        kinds += [lambda: f"{first}-{last}/{size}"] if step else []
        kinds += [lambda: f"{first}/{size}"] if step and not (low == 0 and high == 7) else []
        kinds += [lambda: "*"] * 3 if star else []
        kinds += [lambda: f"*/{size}"] * 2 if star and step else []
        return rng.choice(kinds)()

    def field(self, low: int, high: int, near: int, **forms: bool) -> str:
        """A list of one to three items."""
        return ",".join(self.item(low, high, near, **forms) for _ in range(self.rng.choice([1, 1, 1, 1, 2, 3])))

    def month_day(self, near: int) -> str:
        """Numbers, or one of the words for days of a month."""
        rng = self.rng
        words = ["L", "LW", "l", f"L-{rng.randint(1, 30)}", f"{rng.randint(1, 31)}W", f"{near}W", f"{near}w"]
        if rng.random() < 0.3:
            return ",".join(rng.choice(words) for _ in range(rng.choice([1, 1, 2])))
        return self.field(1, 31, near)

    def month(self, near: int) -> str:
        """Mostly a star, so that most of them fire soon."""
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            return "*"
        return rng.choice(MONTHS).title() if kind < 0.7 else self.field(1, 12, near)

    def weekday(self, low: int) -> str:
        """Numbers from `low` to 7, names, `d#n`, `dL`; AWS, which counts from 1, has its own `L` and no steps."""
        rng = self.rng
        day = rng.choice([str(rng.randint(low, 7)), rng.choice(NAMES), rng.choice(NAMES).lower()])
        other = rng.choice([str(rng.randint(low, 7)), rng.choice(NAMES)])
        words = [f"{day}#{rng.randint(1, 5)}", f"{day}L", day, f"{day}-{other}", f"{day},{other}"]
        words += ["L"] if low == 1 else [f"{day}-{other}/{rng.randint(1, 4)}", f"{day}L,{other}#2"]
        return rng.choice(words) if rng.random() < 0.5 else self.field(low, 7, rng.randint(low, 7), step=low == 0)

    def cron(self, near: datetime) -> str:
        """Crontab's five fields."""
        day = self.rng.choice(["*", "*", "?", self.month_day(near.day)])
        week = self.rng.choice(["*", "*", "?", self.weekday(0)])
        star = self.rng.random() < 0.5
        times = f"{self.field(0, 59, near.minute, star=star)} {self.field(0, 23, near.hour, star=star)}"
        return f"{times} {day} {self.month(near.month)} {week}"

    def aws(self, near: datetime) -> str:
        """The six fields of AWS, in `cron(…)`."""
        star = self.rng.random() < 0.5
        times = f"{self.field(0, 59, near.minute, star=star)} {self.field(0, 23, near.hour, star=star)}"
        days = [
            f"{self.month_day(near.day)} {self.month(near.month)} ?",
            f"? {self.month(near.month)} {self.weekday(1)}",
        ]
        year = self.rng.choice(["*"] * 4 + [self.field(1970, 2199, near.year, wrap=False)])
        return f"cron({times} {self.rng.choice([*days, '* * ?', '? * *'])} {year})"

    def spoilt(self, text: str) -> str:
        """The text with one character changed, taken out or put in."""
        at = self.rng.randrange(len(text))
        return text[:at] + self.rng.choice(SPOILERS) * self.rng.randint(0, 1) + text[at + self.rng.randint(0, 1) :]


@cache
def _changes(name: str) -> list[datetime]:
    return golden.changes(name)


def _moment(rng: random.Random, name: str) -> datetime:
    known = _changes(name)
    if known and rng.random() < 0.7:
        return rng.choice(known) + timedelta(minutes=rng.randint(-720, 1_440))
    return utc("1974-01-01T00:00:00Z") + timedelta(minutes=rng.randint(0, 140 * 365 * 1_440))


def _compare(trigger: CronTrigger, walls: WallOracle, after: datetime) -> str | None:
    until = after + WALK
    expected = list(Oracle.fires(walls, after, until))
    found = [*map(to_datetime, fires(trigger, from_datetime(after), from_datetime(until)))]
    if found != expected:
        return f"walking: {min(set(found) ^ set(expected))} is in one only"
    far = [*map(to_datetime, islice(fires(trigger, from_datetime(after), from_datetime(after + YEAR)), MAX_COMPARED))]
    # Where more are named than are compared, only as far as these go.
    last = far[-1] if len(far) == MAX_COMPARED else after + YEAR
    if last <= until:
        return None
    expected = list(walls.fires(after, last))
    return None if far == expected else f"by walls: {min(set(far) ^ set(expected))} is in one only"


def _never_fires(walls: WallOracle, after: datetime, *, skipped: bool) -> bool:
    """Whether the oracle names nothing in three days and no day of the forty years after them; where the clock is said
    to skip each time, no time up to the last year of AWS.
    """
    if skipped:
        return next(walls.fires(after, LAST), None) is None
    days = (after.date() + timedelta(days=n) for n in range(3, 40 * 366))
    near = Oracle.fires(walls, after, after + timedelta(days=3))
    return next(near, None) is None and not any(map(walls.names_day, days))


def _one(rng: random.Random, name: str, after: datetime, seen: Counter[str]) -> str | None:
    """Draws one and compares; the difference as text, None if there is none."""
    draw = Draw(rng)
    is_aws = rng.random() < 0.4
    text = draw.aws(after) if is_aws else draw.cron(after)
    if rng.random() < 0.1:
        text = draw.spoilt(text)
    gap, overlap = rng.choice(golden.POLICIES)
    form = {"cron": text, "timezone": name, "gap": gap, "overlap": overlap}
    shown = json.dumps({**form, "after": f"{after:%Y-%m-%dT%H:%M:%SZ}", "count": MAX_COMPARED})
    try:
        trigger = parse_trigger(form, from_datetime(after))
    except Invalid as error:
        never = "can never fire" in error.reason
        seen["can never fire" if never else "refused"] += 1
        walls = WallOracle(text, name, gap, overlap) if never else None
        if walls and not _never_fires(walls, after, skipped="skips" in error.reason):
            return f"refused, but the oracle finds a day: {shown} {error.reason}"
        return None
    except Exception as error:  # whatever it is, it is what is looked for
        return f"{error!r}: {shown}"
    seen["aws" if isinstance(trigger, CronTrigger) and trigger.dialect == "aws" else "cron"] += 1
    assert isinstance(trigger, CronTrigger)
    chosen = trigger.expression, name, gap, overlap
    wrong = _compare(trigger, WallOracle(*chosen), after)
    return f"{wrong}: {shown}" if wrong else None


def main() -> int:
    """Prints what differs, and how many of each kind there were."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--count", type=int, default=100_000)
    asked.add_argument("--seed", type=int, default=1)
    options = asked.parse_args()
    rng, seen, bad, begin = random.Random(options.seed), Counter[str](), 0, time.process_time()
    for number in range(options.count):
        if number % FOR_ONE_PLACE == 0:
            name = rng.choice(golden.canonical_zones())
            after = _moment(rng, name)
        wrong = _one(rng, name, after, seen)
        if wrong:
            bad += 1
            print(wrong if bad <= REPORTED else "…", flush=True)
    spent = time.process_time() - begin
    print(f"{options.count} texts (seed {options.seed}), {bad} differences, {spent:.0f} s of CPU: {dict(seen)}")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())

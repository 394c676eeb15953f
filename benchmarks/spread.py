"""`python -m benchmarks.spread`: the peak of a real cron mix against its mean, before and after it is spread.

The schedules are drawn from `benchmarks/cron_mix.py`, thinned to the pace of the budget (100,000 firings a minute of
ten million). They are registered one after the other; the forecast that offsets are drawn by is counted anew while they
come, as the sweeper does each hour. All of one week is counted fire by fire, to the minute and to the second, with the
product's own next fires, jitter and spread; the forecast must say the same, or this fails. `--schedules` says how many;
with more of them it gets smoother. `--write` puts table and picture into docs/forecast.md.
"""

import argparse
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import marked, spread_picture
from benchmarks.cron_mix import FIRES_A_DAY, MEASURED_FROM, drawn, thinned
from benchmarks.figures import Figure, report
from cronfleet.domain.crowded import default_jitter
from cronfleet.domain.forecast import Counts, Tally
from cronfleet.domain.instant import DAY, MINUTE, SECOND, Instant
from cronfleet.domain.jitter import due_at
from cronfleet.domain.misfire import Misfire
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.schedule import Status, Timer
from cronfleet.domain.spread import DEFAULT_WINDOW_SECONDS, Spread, draw
from cronfleet.domain.trigger import CronTrigger, fires

DOCUMENT: Final = Path(__file__).parent.parent / "docs" / "forecast.md"
SCHEDULES: Final = 20_000
SINCE: Final[Instant] = MEASURED_FROM
UNTIL: Final[Instant] = SINCE + 7 * DAY
FORECASTS: Final = 24
"""How often the forecast is counted anew while the schedules are registered."""
SHOWN_DAY: Final = 1
"""Of the week, in the picture: a Tuesday."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to put fires off: for which share of the schedules, and how."""

    name: str
    share: float = 0.0
    window_seconds: int = DEFAULT_WINDOW_SECONDS
    sees: bool = True
    """Whether offsets are drawn by the forecast."""
    has_jitter: bool = True


BEFORE: Final = Way("nothing put off", has_jitter=False)
DEFAULT: Final = Way("default jitter (60 s at midnight)")
AFTER: Final = Way("all spread: auto", 1.0)
WAYS: Final = (
    BEFORE,
    DEFAULT,
    Way("half of them spread: auto", 0.5),
    Way("all spread, by the hash alone", 1.0, sees=False),
    Way("all spread: auto:5m", 1.0, 300),
    AFTER,
)


@dataclass(frozen=True, slots=True)
class Profile:
    """How many fires are due in each second of the week."""

    seconds: "np.ndarray[tuple[int], np.dtype[np.int64]]"

    @property
    def minutes(self) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
        """The same by minute."""
        summed: np.ndarray[tuple[int], np.dtype[np.int64]] = self.seconds.reshape(-1, 60).sum(axis=1)
        return summed


@cache
def _nominals(expression: str, zone: str) -> Sequence[Instant]:
    """From a day before the week, since what is put off may come into it, to the first after it."""
    found = []
    for nominal_at in fires(CronTrigger(expression, zone), SINCE - DAY - 1):
        found.append(nominal_at)
        if nominal_at >= UNTIL:
            return found
    return found


def timers(way: Way, lines: Sequence[tuple[str, str]]) -> Iterator[Timer]:
    """The schedules of `lines`, one after the other, put off as `way` says."""
    forecast: Counts | None = None
    tally = Tally(SINCE, UNTIL)
    every = max(1, len(lines) // FORECASTS)
    for number, (expression, zone) in enumerate(lines):
        if way.share and way.sees and number % every == 0:
            forecast = _counted(forecast, tally)
            tally = Tally(SINCE, UNTIL)
        made = _timer(way, number, CronTrigger(expression, zone), forecast)
        tally.add(made)
        yield made


def _counted(before: Counts | None, tally: Tally) -> Counts:
    counts = tally.counts()
    if before is not None:
        counts.take_in(before)
    return counts


def _timer(way: Way, number: int, trigger: CronTrigger, forecast: Counts | None) -> Timer:
    is_spread = (number * 7_919) % 100 < way.share * 100
    key = f"tenant-{number % 97}~schedule-{number}"
    jitter = default_jitter(trigger) if way.has_jitter else 0
    if is_spread:
        load = None if forecast is None or not way.sees else forecast.at
        jitter = draw(Spread(way.window_seconds), key, trigger, SINCE, load).offset_seconds or 0
    nominal_at = next(at for at in _nominals(trigger.expression, trigger.timezone) if at >= SINCE - DAY)
    tenant, name = key.split("~")
    made = _bare(tenant, name, trigger, nominal_at)
    following = trigger.next_after(nominal_at) if jitter else None
    due = due_at(made.key, nominal_at, following, jitter, None, is_spread=is_spread)
    return replace(made, jitter_seconds=jitter, is_spread=is_spread, due_at=due)


def _bare(tenant: str, name: str, trigger: CronTrigger, nominal_at: Instant) -> Timer:
    return Timer(
        tenant, name, "standard", 0, Status.ACTIVE, trigger, Misfire(), Overlap.ALLOW, 0, 60, 1, 1, (0,), 1, 1,
        nominal_at, nominal_at,
    )  # fmt: skip


def profile(found: Sequence[Timer]) -> Profile:
    """When each fire of `found` is due, one by one: what the forecast must come to as well."""
    seconds = np.zeros((UNTIL - SINCE) // SECOND, dtype=np.int64)
    for one in found:
        assert isinstance(one.trigger, CronTrigger)
        nominals = _nominals(one.trigger.expression, one.trigger.timezone)
        dues = [
            due_at(one.key, at, after, one.jitter_seconds, None, is_spread=one.is_spread)
            for at, after in zip(nominals, [*nominals[1:], None], strict=True)
        ]
        inside = [(due - SINCE) // SECOND for due in dues if SINCE <= due < UNTIL]
        np.add.at(seconds, inside, 1)
    return Profile(seconds)


def _check(found: Sequence[Timer], counted: Profile) -> None:
    """That the forecast says what brute force has counted."""
    tally = Tally(SINCE, UNTIL)
    for one in found:
        tally.add(one)
    if tally.counts().minutes.tolist() != counted.minutes.tolist():
        raise AssertionError("the forecast differs from what was counted fire by fire")


def ratio(counts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> float:
    """The fullest against the average."""
    return float(counts.max() / counts.mean())


def _row(way: Way, counted: Profile) -> tuple[str, str, str, str, str, str]:
    minutes, seconds = counted.minutes, counted.seconds
    return (
        way.name,
        f"{minutes.max():,}",
        f"{minutes.mean():,.1f}",
        f"{ratio(minutes):.1f}",
        f"{seconds.max():,}",
        f"{ratio(seconds):,.0f}",
    )


def _table(title: str, rows: Sequence[tuple[str, ...]]) -> Table:
    made = Table(*rows[0], title=title)
    for row in rows[1:]:
        made.add_row(*row)
    return made


def _write(rows: Sequence[tuple[str, ...]], profiles: Mapping[str, Profile]) -> None:
    """Put the table and the picture where docs/forecast.md shows them."""
    document = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(marked.replaced(document, {"spread": marked.table(rows)}, DOCUMENT.name), encoding="utf-8")
    day = slice(SHOWN_DAY * DAY // MINUTE, (SHOWN_DAY + 1) * DAY // MINUTE)
    before, after = (profiles[way.name].minutes[day].tolist() for way in (BEFORE, AFTER))
    DOCUMENT.with_suffix(".svg").write_text(spread_picture.svg(before, after), encoding="utf-8")


def main() -> None:
    """Measure, print the table, and draw."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.spread", description=__doc__.split("\n")[0])
    parser.add_argument("--schedules", type=int, default=SCHEDULES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--write", action="store_true", help="put the table and the picture into docs/forecast.md")
    asked = parser.parse_args()
    lines = drawn(random.Random(asked.seed), asked.schedules, thinned(FIRES_A_DAY))
    console, profiles = Console(), dict[str, Profile]()
    rows = [("", "peak minute", "mean", "peak to mean", "peak second", "peak to mean")]
    for way in WAYS:
        found = list(timers(way, lines))
        profiles[way.name] = profile(found)
        _check(found, profiles[way.name])
        rows.append(_row(way, profiles[way.name]))
    title = f"{asked.schedules:,} schedules, {FIRES_A_DAY} fires a day each, a week from Monday 2026-11-30"
    console.print(_table(title, rows))
    if asked.write:
        _write(rows, profiles)
    before, after = profiles[DEFAULT.name], profiles[AFTER.name]
    report(
        Figure("Spread", "peak minute to mean minute, before", f"{ratio(before.minutes):.1f}"),
        Figure("Spread", "peak minute to mean minute, spread", f"{ratio(after.minutes):.1f}"),
        Figure("Spread", "peak second to mean second, before", f"{ratio(before.seconds):,.0f}"),
        Figure("Spread", "peak second to mean second, spread", f"{ratio(after.seconds):,.0f}"),
    )


if __name__ == "__main__":
    main()

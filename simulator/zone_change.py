"""A change of the zone data in the middle of a story: a zone whose clock turns out to be put forward or back.

By the release before, the zone keeps its offset for ever. By the one after, it changes at an instant that may lie
before the upgrade, as when a government decides late, or after it. Functions of both deployments run side by side for
a while.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cached_property
from importlib import resources
from typing import Any, Final

from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.retry import Retry
from cronfleet.domain.schedule import Policies, Spec
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.trigger import CronTrigger
from cronfleet.domain.zones import PACKAGE, Zone, ZoneSource, working_with
from simulator.faults import MINUTE, SECOND

BEFORE: Final = "2026w"
AFTER: Final = "2026x"
PLACE: Final = "Sim/Moving"
OFFSET: Final = 5 * 3_600
"""Seconds, until the clock is changed."""
MOVERS: Final = 10
EVERY_MINUTES: Final = 20
"""Local minutes from one fire of each mover to its next: more than twice the shift, so that two are told apart."""
APART_MINUTES: Final = 2
"""From one mover's fire to the next mover's: whenever the upgrade comes, it meets some of them within the shift."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def name_of(number: int) -> str:
    """The id of a schedule in the zone that moves."""
    return f"mover-{number}"


def is_mover(key: tuple[str, str]) -> bool:
    """Whether that schedule is one of them."""
    return key[1].startswith("mover-")


class _Clock(tzinfo):
    """Shows one offset up to an instant (seconds of UTC), and another from then on."""

    def __init__(self, changes_at: int, later: int) -> None:
        self._changes_at = _EPOCH + timedelta(seconds=changes_at)
        self._later = later

    def fromutc(self, moment: datetime) -> datetime:
        utc = moment.replace(tzinfo=UTC)
        offset = self._later if utc >= self._changes_at else OFFSET
        return utc.astimezone(timezone(timedelta(seconds=offset)))

    def utcoffset(self, _: datetime | None) -> timedelta:
        return timedelta(seconds=OFFSET)

    def dst(self, _: datetime | None) -> None:
        return None

    def tzname(self, _: datetime | None) -> str:
        return PLACE


class _Source(ZoneSource):
    """The package, and the zone that moves."""

    def __init__(self, release: str, clock: _Clock) -> None:
        super().__init__(resources.files("tzdata"), release)
        self._clock = clock

    @cached_property
    def names(self) -> frozenset[str]:
        return PACKAGE.names | {PLACE}

    def _load(self, name: str) -> Zone:
        if name != PLACE:
            return PACKAGE.load(name)
        clock: Any = self._clock
        return Zone(name, clock)


@dataclass(frozen=True)
class Upgrade:
    """What happens when, in true time: the clock changes at `changes_at` by `shift` seconds; the new release is at work
    in some functions from `begins_at` on, in all from `ends_at`.
    """

    changes_at: int
    shift: int
    begins_at: int
    ends_at: int
    before: ZoneSource
    after: ZoneSource
    rng: random.Random

    def run(self, now: int, invocation: Callable[[], Any]) -> Any:
        """Run an invocation that begins `now` with the zone data of the deployment it meets."""
        share = (now - self.begins_at) / max(1, self.ends_at - self.begins_at)
        with working_with(self.after if self.rng.random() < share else self.before):
            return invocation()

    def spec(self, number: int) -> Spec:
        """A fixed-time schedule in the zone: what it misses is caught up, and nothing keeps it from running."""
        minutes = ",".join(str(minute) for minute in range(APART_MINUTES * number, 60, EVERY_MINUTES))
        policies = Policies(Misfire(MisfirePolicy.CATCH_UP, 1_000, per_minute=60), retry=Retry(1), timeout_seconds=20)
        return Spec(CronTrigger(f"{minutes} 0-23 * * *", PLACE), HandlerTarget("sim.job"), policies=policies)


def drawn(rng: random.Random, begin: int, end: int) -> Upgrade:
    """An upgrade between `begin` and `end`, and a change of the clock somewhere around it."""
    begins_at = rng.randint(begin + 3 * MINUTE, max(begin + 3 * MINUTE, (begin + end) // 2))
    ends_at = begins_at + rng.choice([0, 30 * SECOND, 4 * MINUTE])
    # From half an hour too late to just in time: what the old data has stored is wrong, or is about to be.
    changes_at = rng.randint(begins_at - 30 * MINUTE, begins_at + 25 * MINUTE) // SECOND * SECOND
    shift = rng.choice([-540, -300, 300, 540])
    never = _Clock(1 << 33, OFFSET)
    moved = _Clock(changes_at // SECOND, OFFSET + shift)
    return Upgrade(changes_at, shift, begins_at, ends_at, _Source(BEFORE, never), _Source(AFTER, moved), rng)

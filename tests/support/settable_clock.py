"""A clock that a test moves, and ids that come in order."""

from itertools import count

import time_machine

from cronfleet.domain.instant import Instant, to_datetime

NOON = 1_796_040_000_000
"""2026-11-30T12:00:00Z."""


class SettableClock:
    """Stands still until it is told otherwise."""

    def __init__(self, now: Instant = NOON) -> None:
        self._now = now
        self._set_by = 0

    def now(self) -> Instant:
        return self._now

    def steady(self) -> int:
        return self._now - self._set_by

    def be_set(self, milliseconds: int) -> None:
        """Somebody sets the clock forwards, or back; no time passes."""
        self._set_by += milliseconds
        self._now += milliseconds

    def wait_until(self, instant: Instant) -> None:
        if instant > self._now:
            self.set(instant)

    def set(self, instant: Instant) -> None:
        """Jump, forwards or backwards."""
        self._now = instant

    def advance(self, milliseconds: int) -> None:
        """Go on by so much; backwards too."""
        self.set(self._now + milliseconds)


class TravellingClock(SettableClock):
    """A settable clock that takes the whole process along, and with it the time that moto answers with."""

    def __init__(self, traveller: time_machine.Traveller, now: Instant = NOON) -> None:
        super().__init__(now)
        self._traveller = traveller

    def set(self, instant: Instant) -> None:
        super().set(instant)
        self._traveller.move_to(to_datetime(instant), tick=False)


class CountingIds:
    """`00000000000000000000000001`, …: ids that sort by the order in which they were drawn."""

    def __init__(self, start: int = 1) -> None:
        self._numbers = count(start)

    def unique(self) -> str:
        return f"{next(self._numbers):026}"

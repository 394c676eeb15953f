"""The only place that reads the wall clock and makes random ids."""

import os
import time
from typing import Final

from cronfleet.domain.audit import base32
from cronfleet.domain.instant import SECOND, Instant

_ID_LENGTH: Final = 26
_RANDOM_BYTES: Final = 10


class SystemClock:
    """The clock of this machine."""

    def now(self) -> Instant:
        """Now, in milliseconds."""
        return time.time_ns() // 1_000_000

    def steady(self) -> int:
        """Milliseconds since some moment, whatever the clock is set to."""
        return time.monotonic_ns() // 1_000_000

    def wait_until(self, instant: Instant) -> None:
        """Come back at `instant`; at once when it is past."""
        # Not until this clock shows it: one that is set back meanwhile must not hold anybody up.
        time.sleep(max(0, instant - self.now()) / SECOND)


class SystemIds:
    """Ids in the form of a ULID: 48 bits of milliseconds, then 80 random bits."""

    def unique(self) -> str:
        """A new id; ids of one millisecond sort at random among themselves."""
        milliseconds = time.time_ns() // 1_000_000
        random = int.from_bytes(os.urandom(_RANDOM_BYTES), "big")
        return base32((milliseconds << 8 * _RANDOM_BYTES) | random, _ID_LENGTH)


class SystemSecrets:
    """Random bytes of the operating system."""

    def secret(self, size: int) -> bytes:
        """`size` random bytes."""
        return os.urandom(size)

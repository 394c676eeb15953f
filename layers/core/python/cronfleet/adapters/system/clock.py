"""The only place that reads the wall clock and makes random ids."""

import os
import time
from typing import Final

from cronfleet.domain.instant import Instant

# Crockford's base 32 in lower case: no i, l, o, u, and in the order of ASCII, so that ids sort as numbers do.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 26
_RANDOM_BYTES: Final = 10


class SystemClock:
    """The clock of this machine."""

    def now(self) -> Instant:
        """Now, in milliseconds."""
        return time.time_ns() // 1_000_000


class SystemIds:
    """Ids in the form of a ULID: 48 bits of milliseconds, then 80 random bits."""

    def unique(self) -> str:
        """A new id; ids of one millisecond sort at random among themselves."""
        milliseconds = time.time_ns() // 1_000_000
        return _base32((milliseconds << 8 * _RANDOM_BYTES) | int.from_bytes(os.urandom(_RANDOM_BYTES), "big"))


def _base32(number: int) -> str:
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(_ID_LENGTH)))

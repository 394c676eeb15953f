"""Time and identity, handed in."""

from typing import Protocol

from cronfleet.domain.instant import Instant


class Clock(Protocol):
    """The wall clock of this process."""

    def now(self) -> Instant:
        """Now, in milliseconds."""
        ...


class Ids(Protocol):
    """Names that nobody else has: owners of leases, ids of changes."""

    def unique(self) -> str:
        """A new id of 26 characters, lower-case letters and digits, that sorts by the time it was made."""
        ...

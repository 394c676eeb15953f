"""Time and identity, handed in."""

from typing import Protocol

from cronfleet.domain.instant import Instant


class Clock(Protocol):
    """The wall clock of this process."""

    def now(self) -> Instant:
        """Now, in milliseconds."""
        ...


class SteadyClock(Clock, Protocol):
    """A wall clock that can be told apart from itself after somebody has set it."""

    def steady(self) -> int:
        """Milliseconds that nobody sets; only their differences mean something."""
        ...


class WaitingClock(Clock, Protocol):
    """A clock by which this process can stand still."""

    def wait_until(self, instant: Instant) -> None:
        """Come back at `instant`; at once when it is past."""
        ...


class Secrets(Protocol):
    """What nobody can guess."""

    def secret(self, size: int) -> bytes:
        """`size` random bytes, fit for a password."""
        ...


class Ids(Protocol):
    """Names that nobody else has: owners of leases, ids of changes."""

    def unique(self) -> str:
        """A new id of 26 characters, lower-case letters and digits, that sorts by the time it was made."""
        ...

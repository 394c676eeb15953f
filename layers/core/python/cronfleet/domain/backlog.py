"""The backlog: the fires of missed time that are still wanted, waiting in the timer for their turn to be caught up.

Stretches and not fires are kept, so that a thousand missed fires take no more room, and no more writes, than two; see
docs/decisions/0010-catch-up.md.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from cronfleet.domain.instant import MINUTE, Instant, ceil_second
from cronfleet.domain.late import Cause, Late

MAX_STRETCHES: Final = 4
"""Stretches that a timer holds: an outage while an earlier one is caught up adds one. The oldest gives way."""


def turn_of(per_minute: int) -> int:
    """Milliseconds from one turn to the next, rounded up: never more than `per_minute` in any minute."""
    return -(-MINUTE // per_minute)


@dataclass(frozen=True, slots=True)
class Stretch:
    """Every nominal from `first_at` to `last_at`, both included and both nominals, is to be caught up.

    At most `per_minute` a minute, and none that is older than `window_seconds` when its turn comes (`None`: however
    old). `late` says why they are late.
    """

    first_at: Instant
    last_at: Instant
    late: Late
    per_minute: int
    window_seconds: int | None = None

    @property
    def turn(self) -> int:
        """Milliseconds from one turn to the next."""
        return turn_of(self.per_minute)

    def holds(self, nominal_at: Instant) -> bool:
        """Whether a nominal at that time is among them."""
        return self.first_at <= nominal_at <= self.last_at


@dataclass(frozen=True, slots=True)
class Backlog:
    """What is to be caught up: stretches, oldest first, at least one. The next fire's turn comes at `turn_at`."""

    stretches: tuple[Stretch, ...]
    turn_at: Instant

    @property
    def next_at(self) -> Instant:
        """The nominal whose turn is next. It moves on with each that is taken: claims and changes ask for it."""
        return self.stretches[0].first_at

    @property
    def due_at(self) -> Instant:
        """The whole second in which the next turn has come."""
        return ceil_second(self.turn_at)

    def stretch_of(self, nominal_at: Instant) -> Stretch | None:
        """The stretch that holds a nominal at that time, if one does."""
        return next((stretch for stretch in self.stretches if stretch.holds(nominal_at)), None)

    def postponed(self, until: Instant) -> "Backlog":
        """The same, its next turn not before `until`."""
        return replace(self, turn_at=max(self.turn_at, until))

    def paced(self, cause: Cause, per_minute: int) -> "Backlog":
        """The same at another pace, where `cause` is why it is late."""
        changed = (replace(one, per_minute=per_minute) if one.late.cause is cause else one for one in self.stretches)
        return replace(self, stretches=tuple(changed))


def first_of(backlog: Backlog | None) -> Instant | None:
    """`next_at`, if there is a backlog."""
    return None if backlog is None else backlog.next_at


def stretches_of(backlog: Backlog | None) -> Iterator[Stretch]:
    """The stretches of a backlog that may not be there."""
    return iter(() if backlog is None else backlog.stretches)

"""Rate: how many fires a tenant may have in a second, and when its next one may go. Pure; times of a line are µs.

A tenant's fires stand in a **line**: a number that says when its next place is free (virtual scheduling, the GCRA of
ATM). Whoever wants `n` places moves it on by `n` spacings in one write, however many shards do so at once; a line that
was at rest has `burst` places for now. Each shard lets a small share of the rate through without asking anybody, so
that a lone firing costs no write; the line runs at the rest of the rate: together they never pass it
(docs/decisions/0013-fairness.md).
"""

from dataclasses import dataclass
from typing import Final

from cronfleet.domain.instant import SECOND, Instant, ceil_second
from cronfleet.domain.lease import SLOT

MICROSECONDS: Final = 1_000
"""In a millisecond."""

AHEAD: Final = 2 * SLOT
"""How long before its place a fire may go: dispatchers look as far ahead, and what would wait less is not deferred."""

SHARE: Final = 2
"""One in so many of a tenant's fires may go without asking, if they spread evenly over the shards."""


@dataclass(frozen=True, slots=True)
class Rate:
    """What is allowed: `per_second` in the long run, `burst` at once after a rest."""

    per_second: int
    burst: int

    def share(self, shards: int) -> int:
        """Fires that each of `shards` lets through in a tick without asking: rounded down, and so often none."""
        return self.per_second * SLOT // (SHARE * SECOND * shards)

    def pace(self, shards: int = 0) -> "Pace":
        """The line's pace; beside the shares of so many `shards` it has what they leave of the rate.

        Fires go up to `AHEAD` before their place, and the shares of two ticks may come one right after the other. So
        that no more than `burst` come at once all the same, the line has as many fewer; a burst of less than that
        time's places counts as that.
        """
        shared = self.share(shards) * shards if shards else 0
        spacing = -(-SLOT * MICROSECONDS // (self.per_second * SLOT // SECOND - shared))
        ahead = AHEAD * MICROSECONDS // spacing if shards else 0
        return Pace(spacing, max(1, self.burst - 2 * shared - ahead))


@dataclass(frozen=True, slots=True)
class Pace:
    """A line's pace: a place each `spacing` µs, and after a rest `burst` of them at once."""

    spacing: int
    burst: int

    def span(self, count: int) -> int:
        """How far `count` places move the line on."""
        return count * self.spacing

    def floor(self, now: Instant) -> int:
        """Where a line at rest stands at `now`: its first `burst` places are free by then."""
        return now * MICROSECONDS - (self.burst - 1) * self.spacing

    def ceiling(self, until: Instant) -> int:
        """How far a line may be moved so that the last place taken is free by `until`."""
        return until * MICROSECONDS + self.spacing

    def room(self, start: int, until: Instant) -> int:
        """How many places of a line that stands at `start` are free by `until`."""
        return max(0, (self.ceiling(until) - start) // self.spacing)

    def places(self, start: int, count: int, now: Instant) -> list[Instant]:
        """When `count` places from `start` on are free: whole seconds, none before `now`."""
        places = (start + number * self.spacing for number in range(count))
        return [ceil_second(max(now, -(-place // MICROSECONDS))) for place in places]


def line_of_tenant(tenant_id: str) -> str:
    """The name of the line of a tenant's fires."""
    return f"tenant#{tenant_id}"


def line_of_slots(tenant_id: str) -> str:
    """The name of the line of what waits for a tenant's slots."""
    return f"slots#{tenant_id}"


def line_of_key(key_id: str) -> str:
    """The name of the line of a credential's requests."""
    return f"key#{key_id}"

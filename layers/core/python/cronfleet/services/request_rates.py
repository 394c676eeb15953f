"""Request rates: how often a key may ask. Places are drawn in bulk from the key's line, a few of them in one write."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.rate import MICROSECONDS, Pace, Rate
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.rates import Drawn, RateStore

BURST_SECONDS: Final = 10
"""So many seconds' worth of requests may come at once, after a rest."""

FEWEST: Final = 4
"""Requests drawn in one write for a key that is in no hurry; doubled each time that they are used up at once, to at
most half a second's worth: many processes serve a key, and what one has drawn the others have not.
"""
AT_ONCE: Final = 2 * SECOND

KEPT_FOR: Final = MINUTE
"""How long what was drawn may be used. The line has counted it, so it is no more for being used late."""
MAX_KEYS: Final = 10_000
"""Keys a process remembers draws of; the one that was not heard of longest makes room."""


@dataclass(slots=True)
class _Draw:
    """What a process has drawn for a key."""

    left: int = 0
    size: int = 0
    drawn_at: Instant = 0
    refused_until: Instant = 0

    def is_kept(self, now: Instant) -> bool:
        # A clock that was set back must not keep it for ever.
        return 0 <= now - self.drawn_at < KEPT_FOR

    def next_size(self, now: Instant, fewest: int, most: int) -> int:
        in_a_hurry = self.left == 0 and self.size > 0 and 0 <= now - self.drawn_at < AT_ONCE
        return min(2 * self.size, most) if in_a_hurry else fewest


class RequestRates:
    """One per process."""

    def __init__(self, store: RateStore) -> None:
        self._store = store
        self._draws: OrderedDict[str, _Draw] = OrderedDict()

    def wait(self, line: str, per_second: int, now: Instant) -> int:
        """0 for a request that may go on, and is counted; else after how many milliseconds it may come again."""
        draw = self._draws.setdefault(line, _Draw())
        self._draws.move_to_end(line)
        while len(self._draws) > MAX_KEYS:
            self._draws.popitem(last=False)
        if not (draw.left and draw.is_kept(now)):
            if 0 < draw.refused_until - now <= KEPT_FOR:
                return draw.refused_until - now
            self._draw(draw, line, per_second, now)
        if not draw.left:
            return max(1, draw.refused_until - now)
        draw.left -= 1
        return 0

    def _draw(self, draw: _Draw, line: str, per_second: int, now: Instant) -> None:
        most = max(1, per_second // 2)
        fewest = min(FEWEST, most)
        pace = Rate(per_second, per_second * BURST_SECONDS).pace()
        size = draw.next_size(now, fewest, most)
        drawn = self._drawn(line, pace, size, now)
        if not drawn.is_granted and fewest < size and fewest <= pace.room(drawn.start, now):
            size, drawn = fewest, self._drawn(line, pace, fewest, now)
        draw.drawn_at = now
        if drawn.is_granted:
            draw.left = draw.size = size
            draw.refused_until = 0
            return
        # Not until a single place is free: whoever asks all the time would cost a write for each.
        draw.left, draw.size = 0, most
        draw.refused_until = -(-(drawn.start + (most - 1) * pace.spacing) // MICROSECONDS)

    def _drawn(self, line: str, pace: Pace, count: int, now: Instant) -> Drawn:
        """Whether the line gives `count` places that are free by `now`; else where it stands."""
        try:
            return self._store.draw(line, pace.span(count), floor=pace.floor(now), ceiling=pace.ceiling(now))
        except NoAnswer:
            # A limit protects the store; it is no permission, and keeps nobody out while nothing can be counted.
            return Drawn(0, is_granted=True)

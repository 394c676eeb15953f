"""Progress: what a running attempt tells of itself."""

from dataclasses import dataclass
from typing import Final

from cronfleet.domain.instant import Instant

BEAT_SECONDS: Final = 5
"""At most so often an attempt's beats are written; what is told in between is written with the next."""

MAX_TEXT_CHARACTERS: Final = 200
"""Of what an attempt says beside its fraction: rows stay small."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest beat of the latest attempt: when it came, how much is done (0 to 1, if it says so), a few words."""

    beat_at: Instant
    fraction: float | None = None
    text: str = ""

    def beaten(self, now: Instant) -> "Progress":
        """The same, still alive at `now`."""
        return Progress(now, self.fraction, self.text)

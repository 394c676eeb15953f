"""Progress: what a running attempt tells of itself."""

from dataclasses import dataclass
from typing import Final

from cronfleet.domain.instant import Instant

BEAT_SECONDS: Final = 5
"""At most so often an attempt's beats are written; what is told in between is written with the next."""

SHORTEST_HEARTBEAT_SECONDS: Final = 5
LONGEST_HEARTBEAT_SECONDS: Final = 900
"""What a schedule may allow its attempts to be silent."""

LOG_SECONDS: Final = 30
"""How often the log of an attempt that goes on is kept, where it has said something since."""

LISTEN_SECONDS: Final = 5
"""How often the row of an attempt is read that says nothing of itself, where somebody may have to ask it to end."""

MAX_TEXT_CHARACTERS: Final = 200
"""Of what an attempt says beside its fraction: rows stay small."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The latest beat of the latest attempt: when it came, how much is done (0 to 1, if it says so), a few words."""

    beat_at: Instant
    fraction: float | None = None
    text: str = ""

    def beaten(self, now: Instant, fraction: float | None = None, text: str | None = None) -> "Progress":
        """Alive at `now`, and so far; as before where nothing is said."""
        return Progress(now, self.fraction if fraction is None else fraction, self.text if text is None else text)

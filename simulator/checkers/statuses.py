"""The statuses of a run, as the checkers know them."""

from typing import Final

TERMINAL: Final = frozenset(
    {"succeeded", "dead", "cancelled", "skipped", "missed", "paused", "held", "shadow", "frozen", "refused"}
)

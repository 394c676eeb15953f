"""How claims are written: so many in one request, or each in its own."""

from enum import StrEnum
from typing import Final

CLAIMS_AT_ONCE: Final = 25
"""Claims of one request, where a store takes several: who has more asks for them in parts of so many."""


class Claiming(StrEnum):
    """What a store does with the claims that it is given together. What comes of each is the same."""

    BATCHED = "batched"
    """`CLAIMS_AT_ONCE` of them travel in one request, and each is won or lost on its own condition."""
    SINGLE = "single"
    """Each is a request: ten times the work, for engines whose batches cannot be trusted with conditions."""

"""How claims are written: many in one request, or each in its own."""

from enum import StrEnum


class Claiming(StrEnum):
    """What a store does with the claims that it is given together, and with draws. What comes of each is the same."""

    BATCHED = "batched"
    """Some of them travel in one request, and each is won or lost on its own condition."""
    SINGLE = "single"
    """Each is a request, seven times as many in a herd: for engines whose batches cannot be trusted with conditions."""

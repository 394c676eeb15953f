"""Lag: how late a run started, by the clock of the worker that started it."""

from cronfleet.domain.instant import Instant


def lag_ms(due_at: Instant, started_at: Instant) -> int:
    """Milliseconds from `due_at` to the start of the first attempt; never negative, since nothing starts early."""
    return max(0, started_at - due_at)

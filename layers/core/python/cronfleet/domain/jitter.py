"""Jitter: a fire is due a little after its nominal time, by a hash, so that a crowded second spreads out.

A spread schedule (`domain/spread.py`) has drawn one offset instead, by which every fire of it is put off.

The same schedule and nominal time always give the same offset, whoever computes it and however often.
"""

from hashlib import blake2b
from typing import Final

from cronfleet.domain.instant import SECOND, Instant

MAX_JITTER_SECONDS: Final = 24 * 3600


def due_at(
    schedule_key: str,
    nominal_at: Instant,
    next_nominal_at: Instant | None,
    jitter_seconds: int,
    end_at: Instant | None,
    *,
    is_spread: bool = False,
) -> Instant:
    """`nominal_at` plus 0 to `jitter_seconds` whole seconds: before the next nominal time, not after `end_at`.

    `schedule_key` tells schedules apart, so it must hold the tenant as well. If it `is_spread`, plus just as many as
    fit in before these.
    """
    widest = jitter_seconds
    if next_nominal_at is not None:
        widest = min(widest, (next_nominal_at - nominal_at - 1) // SECOND)
    if end_at is not None:
        widest = min(widest, (end_at - nominal_at) // SECOND)
    if widest <= 0:
        return nominal_at
    if is_spread:
        return nominal_at + widest * SECOND
    drawn = blake2b(f"{schedule_key}@{nominal_at}".encode(), digest_size=8).digest()
    return nominal_at + int.from_bytes(drawn, "big") % (widest + 1) * SECOND

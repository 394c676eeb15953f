"""Schedule count: how many schedules a tenant has, in slices, so that no tenant has one hot item.

The count changes in the transaction that creates or deletes a schedule, so it cannot drift. It never passes a limit,
whatever races: each slice has an even share of the limit, and while all are inside their shares each may be filled on
the condition of itself alone. Where one is past its share (the limit was lowered), all are written anew, even, on the
condition that all are as they were read.
"""

from collections.abc import Mapping, Sequence
from typing import Final

SLICES: Final = 16


def even(total: int) -> tuple[int, ...]:
    """`total` in even shares; no share of a smaller total is larger."""
    share, rest = divmod(total, SLICES)
    return tuple(share + (number < rest) for number in range(SLICES))


def changed_slices(counts: Sequence[int], by: int, limit: int | None, draw: int) -> Mapping[int, int] | None:
    """What to write into which slice, so that the count of `counts` changes by `by`; `None` when `limit` forbids it.

    Each slice is to be written on the condition that it still is as in `counts`. `draw`, any number, spreads writers
    over the slices. What is less than nothing is nothing: a count that was damaged must not keep a schedule alive.
    """
    if by <= 0:
        able = [number for number, count in enumerate(counts) if count >= -by]
        return _one(counts, by, able, draw)
    if limit is None:
        return _one(counts, by, range(SLICES), draw)
    total = sum(counts) + by
    if total > limit:
        return None
    shares = even(limit)
    if any(count > share for count, share in zip(counts, shares, strict=True)):
        return dict(enumerate(even(total)))
    able = [number for number, count in enumerate(counts) if count + by <= shares[number]]
    return _one(counts, by, able, draw) if able else dict(enumerate(even(total)))


def _one(counts: Sequence[int], by: int, able: Sequence[int], draw: int) -> Mapping[int, int]:
    if not able or by == 0:
        return {}
    number = able[draw % len(able)]
    return {number: counts[number] + by}

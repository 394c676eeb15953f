"""The slices of a count: never past the limit, never short of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.schedule_count import SLICES, changed_slices, even

COUNTS = st.lists(st.integers(0, 6), min_size=SLICES, max_size=SLICES)


def after(counts: Sequence[int], written: dict[int, int]) -> list[int]:
    return [written.get(number, count) for number, count in enumerate(counts)]


@given(COUNTS, st.integers(0, 120), st.integers(0, 2**64))
def test_one_more_is_counted_exactly_while_there_is_room(counts: list[int], limit: int, draw: int) -> None:
    written = changed_slices(counts, 1, limit, draw)

    if sum(counts) >= limit:
        assert written is None
    else:
        assert written is not None
        assert sum(after(counts, dict(written))) == sum(counts) + 1


@given(st.integers(0, 60), st.lists(st.tuples(st.booleans(), st.integers(0, 2**64)), max_size=80))
def test_writers_that_each_saw_an_old_count_never_pass_the_limit(limit: int, writers: list[tuple[bool, int]]) -> None:
    """All decide on the same reading, and each is written if only its own slices are still as they were read."""
    seen = list(even(limit // 2))
    stored = list(seen)
    for adds, draw in writers:
        written = changed_slices(seen, 1 if adds else -1, limit, draw)
        if written is not None and all(stored[one] == seen[one] for one in written):
            stored = after(stored, dict(written))
        if draw % 3 == 0:
            seen = list(stored)
        assert sum(stored) <= limit


def test_a_lowered_limit_is_kept_by_writing_all_slices_anew() -> None:
    counts = [10] + [0] * 15

    written = changed_slices(counts, 1, 16, 0)

    assert written == dict(enumerate(even(11)))
    assert changed_slices(counts, 1, 10, 0) is None


@given(COUNTS, st.integers(0, 2**64))
def test_one_less_is_taken_from_a_slice_that_has_one(counts: list[int], draw: int) -> None:
    written = changed_slices(counts, -1, None, draw)

    assert written is not None
    left = after(counts, dict(written))
    assert sum(left) == max(0, sum(counts) - 1)
    assert min(left) >= 0


def test_what_is_found_afterwards_is_counted_over_any_limit() -> None:
    counts = [3] * SLICES

    written = changed_slices(counts, 25, None, 5)

    assert written == {5: 28}


@pytest.mark.parametrize("limit", [0, 1, 15, 16, 17, 1000])
def test_shares_add_up_and_grow_with_the_limit(limit: int) -> None:
    assert sum(even(limit)) == limit
    assert all(one <= other for one, other in zip(even(limit), even(limit + 1), strict=True))


def test_writers_spread_over_the_slices() -> None:
    written = {next(iter(changed_slices([0] * SLICES, 1, 1000, draw) or {})) for draw in range(SLICES)}

    assert written == set(range(SLICES))

"""Jitter: repeatable, inside its window, never past the next fire or the end, spread evenly."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.instant import HOUR, LATEST, MINUTE, SECOND, Instant
from cronfleet.domain.jitter import due_at

nominals = st.integers(0, LATEST // SECOND - 10_000_000).map(lambda second: second * SECOND)
gaps = st.none() | st.integers(1, 100_000).map(lambda seconds: seconds * SECOND)


@given(st.text(), nominals, gaps, st.integers(0, 86_400), gaps)
def test_a_fire_is_due_within_its_window_before_the_next_and_not_after_the_end(
    key: str, nominal_at: Instant, to_next: int | None, jitter_seconds: int, to_end: int | None
) -> None:
    next_at = None if to_next is None else nominal_at + to_next
    end_at = None if to_end is None else nominal_at + to_end
    due = due_at(key.encode("utf-8", "replace").decode(), nominal_at, next_at, jitter_seconds, end_at)
    assert nominal_at <= due <= nominal_at + jitter_seconds * SECOND
    assert due % SECOND == 0
    assert next_at is None or due < next_at
    assert end_at is None or due <= end_at
    assert due == due_at(key.encode("utf-8", "replace").decode(), nominal_at, next_at, jitter_seconds, end_at)


def test_without_jitter_a_fire_is_due_at_its_nominal_time() -> None:
    assert due_at("tenant/a", HOUR, None, 0, None) == HOUR
    assert due_at("tenant/a", HOUR, HOUR + SECOND, 60, None) == HOUR
    assert due_at("tenant/a", HOUR, None, 60, HOUR) == HOUR


def test_the_whole_window_is_used_evenly_by_many_schedules() -> None:
    drawn = Counter(due_at(f"tenant/schedule-{n}", HOUR, None, 59, None) - HOUR for n in range(60_000))
    assert sorted(drawn) == [second * SECOND for second in range(60)]
    assert all(850 < count < 1_150 for count in drawn.values())


def test_one_schedule_is_spread_over_its_own_fires_too() -> None:
    drawn = Counter(due_at("tenant/a", n * HOUR, (n + 1) * HOUR, 9, None) % MINUTE for n in range(10_000))
    assert len(drawn) == 10
    assert all(850 < count < 1_150 for count in drawn.values())

"""Retry: when a failed run is tried again."""

from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.instant import SECOND
from cronfleet.domain.retry import Backoff, BackoffKind, Retry, next_attempt_at


def test_the_last_attempt_is_followed_by_none() -> None:
    retry = Retry(max_attempts=3)
    assert next_attempt_at(retry, "run", 2, 0) is not None
    assert next_attempt_at(retry, "run", 3, 0) is None


def test_a_fixed_backoff_is_exactly_what_was_asked_for() -> None:
    retry = Retry(9, Backoff(BackoffKind.FIXED, base_seconds=45, max_seconds=3600))
    assert [next_attempt_at(retry, "run", n, 1500) for n in (1, 2, 5)] == [47 * SECOND] * 3


@given(st.integers(1, 19), st.integers(1, 600), st.integers(1, 7 * 86400), st.text(max_size=20))
def test_an_exponential_backoff_is_drawn_between_one_second_and_its_doubling_ceiling(
    failed: int, base: int, cap: int, run_id: str
) -> None:
    retry = Retry(20, Backoff(BackoffKind.EXPONENTIAL, base, cap))
    due = next_attempt_at(retry, run_id, failed, 0)
    assert due is not None
    assert SECOND <= due <= min(base * 2 ** (failed - 1), cap) * SECOND
    assert due == next_attempt_at(retry, run_id, failed, 0)


def test_runs_that_failed_together_do_not_come_back_together() -> None:
    retry = Retry(5, Backoff(base_seconds=64))
    dues = {next_attempt_at(retry, f"run-{i}", 1, 0) for i in range(200)}
    assert len(dues) > 50

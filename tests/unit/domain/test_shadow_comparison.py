"""Comparison: pairs as many as can be, as close as can be, in order; and a verdict that says what to look at."""

from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.errors import Invalid
from cronfleet.domain.heartbeat import Ping, PingState
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.shadow_comparison import MAX_PAIRS, Outing, State, Verdict, compare, outings_of, paired
from tests.support.builders import at

TWO = at("2026-12-01 02:00")
START, SUCCESS, FAIL = PingState

INSTANTS = st.lists(st.integers(0, 40), max_size=8).map(sorted)


def best(nominals: Sequence[int], times: Sequence[int], tolerance: int) -> tuple[int, int]:
    """The most pairs in order, and the least sum of distances among those, by trying everything."""

    @cache
    def tried(i: int, j: int) -> tuple[int, int]:
        if i == len(nominals) or j == len(times):
            return (0, 0)
        found = [tried(i + 1, j), tried(i, j + 1)]
        distance = abs(nominals[i] - times[j])
        if distance <= tolerance:
            number, total = tried(i + 1, j + 1)
            found.append((number + 1, total - distance))
        return max(found)

    number, total = tried(0, 0)
    return number, -total


@given(nominals=INSTANTS.map(lambda found: sorted(set(found))), times=INSTANTS, tolerance=st.integers(0, 15))
def test_pairs_are_one_to_one_in_order_within_the_tolerance_most_and_closest(
    nominals: list[int], times: list[int], tolerance: int
) -> None:
    pairs = paired(nominals, times, tolerance)
    assert all(one[0] < two[0] and one[1] < two[1] for one, two in pairwise(pairs))
    distances = [abs(nominals[i] - times[j]) for i, j in pairs]
    assert all(distance <= tolerance for distance in distances)
    assert (len(pairs), sum(distances)) == best(nominals, times, tolerance)


@given(st.lists(st.integers(-120, 120), min_size=1, max_size=30), st.integers(1, 30))
def test_fires_that_were_all_seen_near_their_time_are_all_paired_with_their_own(lags: list[int], minutes: int) -> None:
    """Jobs further apart than twice the tolerance: no other pairing is possible."""
    nominals = [TWO + n * (minutes + 4) * MINUTE for n in range(len(lags))]
    times = [nominal + lag * SECOND for nominal, lag in zip(nominals, lags, strict=True)]
    assert paired(nominals, times, 2 * MINUTE) == [(n, n) for n in range(len(lags))]


def test_too_many_pairs_to_weigh_are_refused_and_what_to_write_is_said() -> None:
    crowd = [TWO + n for n in range(1_001)]
    assert len(crowd) ** 2 > MAX_PAIRS
    with pytest.raises(Invalid, match="tolerance_seconds"):
        paired(crowd, crowd, HOUR)


# --- what pings tell -------------------------------------------------------------------------------------------


def ping(seconds: float, state: PingState = SUCCESS, exit_code: int | None = None) -> Ping:
    return Ping("acme", "nightly", f"{seconds:020}", TWO + round(seconds * SECOND), state, exit_code)


def told(*pings: Ping) -> list[tuple[float, PingState]]:
    return [((outing.at - TWO) / SECOND, outing.state) for outing in outings_of(pings)]


def test_a_start_and_its_end_are_one_run_that_is_heard_of_first_when_it_starts() -> None:
    assert outings_of([ping(1, START), ping(90, FAIL, 2)]) == [
        Outing(TWO + SECOND, FAIL, TWO + 90 * SECOND, exit_code=2)
    ]


def test_an_end_without_a_start_is_a_run_of_its_own() -> None:
    assert told(ping(5), ping(65, FAIL)) == [(5, SUCCESS), (65, FAIL)]


def test_a_run_that_died_without_a_word_does_not_end_those_that_come_after_it() -> None:
    pings = [ping(0, START), ping(60, START), ping(70), ping(120, START), ping(130)]
    assert told(*pings) == [(0, START), (60, SUCCESS), (120, SUCCESS)]


def test_runs_that_overlap_are_as_many_as_started() -> None:
    pings = [ping(0, START), ping(60, START), ping(80), ping(100)]
    assert [at for at, _ in told(*pings)] == [0, 60]


def test_a_start_of_days_ago_is_not_ended_by_what_comes_now() -> None:
    assert told(ping(0, START), ping(3 * 86_400)) == [(0, START), (3 * 86_400, SUCCESS)]


# --- verdicts --------------------------------------------------------------------------------------------------


def hours(number: int) -> list[Instant]:
    return [TWO + n * HOUR for n in range(number)]


def compared(nominals: Sequence[Instant], *pings: Ping, now: Instant = TWO + 24 * HOUR) -> object:
    return compare(nominals, pings, first_at=TWO - HOUR, last_at=now, now=now, tolerance=5 * MINUTE)


def test_all_seen_and_nothing_else_is_safe() -> None:
    found = compared(hours(24), *(ping(n * 3_600 + 7) for n in range(24)))
    assert (found.verdict, found.text) == (Verdict.SAFE, "24 of 24 fires seen; safe to turn on")
    assert (found.summary.median_lag_ms, found.summary.largest_lag_ms) == (7_000, 7_000)
    assert found.entries[0].text == "heard of 7 s after its time"


def test_a_failure_there_says_nothing_against_the_time_and_is_told() -> None:
    found = compared(hours(2), ping(7), ping(3_599, FAIL, 3))
    assert (found.verdict, found.text) == (
        Verdict.SAFE,
        "2 of 2 fires seen; 1 of them failed there; safe to turn on",
    )
    assert [entry.state for entry in found.entries] == [State.MATCHED, State.FAILED]
    assert found.entries[1].text == "heard of 1 s before its time; it failed there with exit code 3"


def test_what_is_missing_and_what_was_unexpected_is_counted_and_explained() -> None:
    found = compared(hours(3), ping(7), ping(5_400), ping(7_207), ping(7_209))
    assert found.text == "2 of 3 fires seen, 1 missing and 2 unexpected: find out why before you turn it on"
    assert found.verdict is Verdict.DIFFERS
    states = [(entry.state, entry.text) for entry in found.entries if entry.state not in (State.MATCHED,)]
    assert states == [
        (State.MISSING, "nothing was heard of it by 2026-12-01T03:05:00Z"),
        (State.UNEXPECTED, "the nearest time that this schedule names is 2026-12-01T03:00:00Z"),
        (
            State.UNEXPECTED,
            "the nearest time that this schedule names is 2026-12-01T04:00:00Z, and another ping goes with that",
        ),
    ]


def test_no_ping_at_all_asks_for_the_url() -> None:
    found = compared(hours(3))
    assert found.verdict is Verdict.NO_PINGS
    assert "heartbeat URL" in found.text


def test_a_fire_whose_tolerance_is_not_over_is_neither_missing_nor_seen() -> None:
    found = compared(hours(2), ping(7), now=TWO + HOUR + 3 * MINUTE)
    assert (found.summary.fires, found.summary.pending, found.verdict) == (1, 1, Verdict.SAFE)
    assert compared(hours(1), now=TWO + MINUTE).verdict is Verdict.NOTHING_DUE


def test_a_ping_inside_the_stretch_may_go_with_a_fire_outside_it() -> None:
    """Shadow was turned on a few seconds after the job had started."""
    found = compare(
        hours(2),
        [ping(7), ping(3_607)],
        first_at=TWO + SECOND,
        last_at=TWO + 2 * HOUR,
        now=TWO + 2 * HOUR,
        tolerance=MINUTE,
    )
    assert [(entry.state, entry.nominal_at) for entry in found.entries] == [(State.MATCHED, TWO + HOUR)]

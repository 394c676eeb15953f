"""Held schedules in shadow: what one claim notes, how often there is one, and that it never holds a fire."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronfleet.domain.claim import Fire
from cronfleet.domain.holding import SHADOW_STRETCH, shadow_claim, skipped_row
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Hold, Shadow, Status, Timer
from cronfleet.domain.trigger import OneShotTrigger, Trigger, fires
from tests.support.builders import at, cron, every, timer
from tests.support.planning import plan

TWO = at("2026-12-01 02:00")
HOLD = Hold("ada", TWO - DAY, Shadow("bob", TWO - HOUR))


def in_shadow(trigger: Trigger, nominal_at: Instant = TWO, **changes: object) -> Timer:
    return timer(trigger, nominal_at, status=Status.HELD, hold=HOLD, **changes)


def test_a_claim_in_shadow_holds_no_fire_and_says_since_when_and_by_whom() -> None:
    claim = shadow_claim(in_shadow(cron("0 2 * * *")), TWO + 3 * SECOND)
    assert (claim.fires, claim.is_shadow) == ((), True)
    assert not list(claim.messages("0.1.1", TWO))
    (skipped,) = claim.skipped
    row = skipped_row(claim, skipped, TWO + 3 * SECOND)
    assert (row.status, row.key.nominal_at, row.until_nominal_at) == (RunStatus.SHADOW, TWO, None)
    assert row.reason is not None
    assert row.reason.text == "would have fired; the schedule is held in shadow since 2026-12-01T01:00:00Z, by bob"
    assert row.reason.detail == {"by": "bob", "shadow_at": TWO - HOUR}
    assert claim.following == Fire(TWO + DAY, TWO + DAY)


def test_nothing_is_noted_ahead_of_its_time_although_the_index_shows_it() -> None:
    assert not plan([in_shadow(every(60))], TWO - 1).claims
    (claim,) = plan([in_shadow(every(60))], TWO).claims
    assert [one.last_at for one in claim.skipped] == [TWO]


def test_a_held_schedule_that_is_not_in_shadow_is_left_alone_by_a_stale_index() -> None:
    assert not plan([replace(in_shadow(every(60)), hold=Hold("ada", TWO - DAY))], TWO).claims


def test_a_schedule_that_names_every_second_makes_a_row_each_five_minutes() -> None:
    """A day of ticks, one each five seconds: no more rows than stretches, and every second in exactly one."""
    held, noted = in_shadow(every(1, TWO)), list[tuple[Instant, Instant]]()
    for now in range(TWO, TWO + DAY, 5 * SECOND):
        for claim in plan([held], now).claims:
            (skipped,) = claim.skipped
            noted.append((skipped.first_at, skipped.last_at))
            following = claim.following
            held = replace(held, nominal_at=following.nominal_at, due_at=following.due_at)
    assert len(noted) <= DAY // SHADOW_STRETCH
    assert sum((last - first) // SECOND + 1 for first, last in noted) == (noted[-1][1] - TWO) // SECOND + 1
    assert noted[-1][1] > TWO + DAY - SHADOW_STRETCH - 5 * SECOND


@given(
    every_seconds=st.integers(1, 900),
    delays=st.lists(st.integers(0, 1_000_000), min_size=1, max_size=20),
    end=st.none() | st.integers(0, 4_000),
)
def test_every_nominal_is_noted_exactly_once_whatever_the_delay(
    every_seconds: int, delays: list[int], end: int | None
) -> None:
    end_at = None if end is None else TWO + end * SECOND
    held, now, noted = in_shadow(every(every_seconds, TWO), end_at=end_at), TWO, list[Instant]()
    for delay in delays:
        now += delay
        for claim in plan([held], now).claims:
            (skipped,) = claim.skipped
            noted += fires(held.trigger, skipped.first_at - 1, skipped.last_at)
            following = claim.following
            held = replace(
                held,
                nominal_at=following and following.nominal_at,
                due_at=following and following.due_at,
            )
    until = now if end_at is None else min(now, end_at)
    named = list(fires(held.trigger, TWO - 1, until))
    assert noted == named[: len(noted)]
    if held.due_at is None or held.due_at <= now:
        assert noted == named
    else:
        assert held.nominal_at is not None
        assert held.due_at <= max(held.nominal_at, now + SHADOW_STRETCH)


def test_a_one_shot_in_shadow_is_noted_once_and_its_schedule_stays_held() -> None:
    claim = shadow_claim(in_shadow(OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None)), TWO + MINUTE)
    assert (claim.following, claim.is_shadow) == (None, True)


def test_a_trigger_that_can_no_longer_be_computed_is_taken_out_of_the_index_and_stays_held() -> None:
    made = plan([in_shadow(cron("0 2 * * *", "Mars/Olympus"))], TWO)
    assert not made.claims
    assert [park.reason.code for park in made.parks] == [Code.UNREADABLE]


@pytest.mark.parametrize("jitter_seconds", [0, 300])
def test_jitter_plays_no_part(jitter_seconds: int) -> None:
    claim = shadow_claim(in_shadow(every(60, TWO), jitter_seconds=jitter_seconds), TWO + 10 * SECOND)
    assert [(one.first_at, one.last_at) for one in claim.skipped] == [(TWO, TWO)]

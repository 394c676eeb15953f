"""Slots as values: who may have one, for how long, and when the next is likely to be free."""

from dataclasses import replace

import pytest

from cronfleet.domain.claim import RunClaim
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.lease import MAX_SKEW, SLOT
from cronfleet.domain.long_run import LEASE_MARGIN_SECONDS
from cronfleet.domain.slot import (
    LEAST_HOLD,
    MAX_SLOTS,
    RUN_MARGIN_SECONDS,
    SLOT_MARGIN_SECONDS,
    Slot,
    SlotLease,
    all_of,
    covers,
    for_run,
    free_at,
    held_until,
    holder_of,
    live,
    spacing,
    usual_hold,
)
from cronfleet.domain.slot_plan import wishes
from tests.support.examples import claim_of, run_timer, waiting
from tests.support.settable_clock import NOON

RUN, OTHER = "acme~nightly~1~20261130T120000Z~schedule", "acme~nightly~1~20261130T120000Z~manual-1"
FREE = Slot("acme", 1)


def held(number: int, holder: str = OTHER, seconds: int = 60, **changes: object) -> Slot:
    slot = Slot("acme", number).taken(holder_of(holder, 1, NOON), NOON, NOON + seconds * SECOND)
    return replace(slot, **changes)


def test_a_slot_outlasts_the_lease_of_the_attempt_by_more_than_two_clocks_may_be_off() -> None:
    assert RUN_MARGIN_SECONDS == LEASE_MARGIN_SECONDS
    # A Date header has whole seconds, so that each may be a second further off than is noticed.
    assert SLOT_MARGIN_SECONDS * SECOND > 2 * (MAX_SKEW + SECOND)
    assert LEAST_HOLD == SLOT


@pytest.mark.parametrize("late_seconds", [0, 59, 60, 61])
def test_an_attempt_that_starts_within_a_minute_needs_no_more_than_it_was_given(late_seconds: int) -> None:
    until = held_until(NOON, NOON - 5 * SECOND, timeout_seconds=30)
    lease_until = NOON + (late_seconds + 30 + RUN_MARGIN_SECONDS) * SECOND
    assert covers(SlotLease(1, 1, until), lease_until) == (late_seconds <= 60)


def test_what_is_dispatched_late_is_given_its_minute_from_then() -> None:
    assert held_until(NOON, NOON + MINUTE, 30) == held_until(NOON + MINUTE, NOON, 30)


def test_a_slot_that_is_let_go_of_may_be_taken_at_once_and_one_whose_lease_ends_then() -> None:
    slot = held(1)
    assert not slot.is_free(NOON + MINUTE - 1)
    assert slot.is_free(NOON + MINUTE)
    assert slot.released(NOON).is_free(NOON)
    assert live([slot, held(2), FREE], NOON) == 2


def test_the_slots_under_a_limit_are_all_there_and_those_above_only_while_they_are_held() -> None:
    stored = [held(2), held(4), Slot("acme", 5, fence=3)]
    assert [slot.number for slot in all_of("acme", stored, 3)] == [1, 2, 3, 4]
    assert all_of("acme", stored, 3)[1] == stored[0]
    assert len(all_of("acme", [], 10 * MAX_SLOTS)) == MAX_SLOTS


def test_a_run_gets_its_own_slot_before_a_free_one() -> None:
    own = held(2, RUN)
    assert for_run([FREE, own], 2, RUN, NOON) == own
    assert for_run([FREE, held(2)], 2, RUN, NOON) == FREE
    assert for_run([held(1), held(2)], 2, RUN, NOON) is None


def test_a_run_keeps_a_slot_above_a_lowered_limit_only_while_its_lease_lasts() -> None:
    own = held(3, RUN)
    assert for_run([held(1), held(2), own], 2, RUN, NOON) == own
    assert for_run([held(1, seconds=600), own], 1, RUN, NOON + 2 * MINUTE) is None


def test_slots_are_thought_to_be_held_as_long_as_they_have_lately_been() -> None:
    assert usual_hold([]) == LEAST_HOLD
    assert usual_hold([replace(FREE, held_ms=40 * SECOND), replace(FREE, held_ms=40 * SECOND)]) == 40 * SECOND
    assert usual_hold([replace(FREE, held_ms=10)]) == LEAST_HOLD


def test_a_hold_that_goes_on_says_nothing_and_a_long_one_beside_short_ones_little() -> None:
    assert usual_hold([held(1, seconds=600)]) == LEAST_HOLD
    short = replace(FREE, held_ms=10 * SECOND)
    assert usual_hold([short, short, short, short, replace(FREE, held_ms=HOUR)]) < 13 * SECOND


def test_a_slot_is_free_in_a_whole_second_later_than_now() -> None:
    slots = [replace(FREE, held_ms=9_001), FREE]
    assert spacing(slots, 2) == 4_501
    assert free_at(slots, 2, NOON) == NOON + 5 * SECOND


def test_an_attempt_that_comes_again_under_its_number_has_another_name() -> None:
    first, again = (RunClaim(replace(run_timer(2), due_at=NOON + seconds)) for seconds in (0, SECOND))
    assert [wish.holder for wish in wishes(first)] != [wish.holder for wish in wishes(again)]


def test_a_claim_wants_a_slot_for_each_fire_that_goes() -> None:
    claim = claim_of(waiting())
    wanted = list(wishes(claim))
    assert [wish.holder for wish in wanted] == [
        holder_of(message.key.run_id, 1, message.due_at) for message in claim.messages("0.1.1", NOON)
    ]
    assert list(wishes(claim, 0, 0)) == []
    assert list(wishes(RunClaim(run_timer()), 0)) == []

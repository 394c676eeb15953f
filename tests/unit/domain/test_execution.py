"""What goes on elsewhere, in the decisions around it: names, looks, and what everybody else makes of such a row."""

from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Drop, Result, decide_start, handed_over
from cronfleet.domain.books import Standing, standing
from cronfleet.domain.execution import STOP_WAIT, Execution, execution_name
from cronfleet.domain.follow import (
    LONGEST_LOOK,
    SETTLING,
    GiveUp,
    Look,
    Phase,
    Seen,
    Start,
    Stop,
    decide_step,
    next_look,
)
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.reason import Code
from cronfleet.domain.run import Outcome
from cronfleet.domain.undelivered import Delivery, Leave, decide_undelivered
from tests.support.builders import at, message
from tests.support.examples import run

TWO = at("2026-12-01 02:00")
EXECUTION = Execution(TWO, TWO + HOUR, "arn", is_started=True)
ROW = handed_over(run(TWO), EXECUTION)
GOING = Seen(Phase.GOING)


def test_a_name_is_the_attempts_own_and_fits_where_names_are_short() -> None:
    longest = "~".join(("t" * 64, "s" * 64, "999999999", "20261201T020000Z", "backfill-" + "o" * 40))
    assert execution_name(longest, 1) != execution_name(longest, 2)
    assert len(execution_name(longest, 999)) <= 64, "a client token of ECS"


def test_its_lease_outlasts_its_time_limit_and_what_stopping_may_take() -> None:
    assert ROW.lease_until is not None
    assert ROW.lease_until > EXECUTION.deadline_at + STOP_WAIT


@pytest.mark.parametrize("later", [MINUTE, 30 * DAY])
def test_whoever_finds_such_a_row_leaves_it_to_its_errand_whatever_its_lease_says(later: int) -> None:
    now = TWO + later
    decision = decide_start(ROW, message(TWO, claimed_at=now - SECOND), "me", now)
    assert isinstance(decision, Drop)
    assert decision.reason.code is Code.LIVE_LEASE
    assert standing(message(TWO), ROW, now) is Standing.SETTLED
    delivery = Delivery("runs-dead", "id", 5, now)
    assert isinstance(decide_undelivered(ROW, message(TWO), delivery, now), Leave)


def test_looks_come_ever_less_often_and_one_comes_when_its_time_is_over() -> None:
    assert next_look(EXECUTION, TWO) == TWO + 10 * SECOND
    assert next_look(EXECUTION, TWO + 4 * MINUTE) == TWO + 5 * MINUTE
    assert next_look(EXECUTION, TWO + 30 * MINUTE) == TWO + 30 * MINUTE + LONGEST_LOOK
    assert next_look(EXECUTION, TWO + 58 * MINUTE) == EXECUTION.deadline_at


def test_what_was_never_heard_of_is_asked_for_again_and_what_is_forgotten_has_failed() -> None:
    unknown = Seen(Phase.UNKNOWN)
    assert decide_step(ROW, replace(EXECUTION, is_started=False), unknown, TWO + HOUR // 2) == Start()
    assert isinstance(decide_step(ROW, EXECUTION, unknown, TWO + SECOND), Look), "it may still settle"
    forgotten = decide_step(ROW, EXECUTION, unknown, TWO + SETTLING)
    assert isinstance(forgotten, Result)
    assert forgotten.outcome is Outcome.FAILED


def test_it_is_given_up_only_when_it_was_told_to_stop_for_long_enough_however_late_it_is() -> None:
    late = EXECUTION.deadline_at + 5 * HOUR
    for seen in (GOING, None):
        assert isinstance(decide_step(ROW, EXECUTION, seen, late), Stop)
        told = replace(EXECUTION, stopping_at=late)
        assert isinstance(decide_step(ROW, told, seen, late + STOP_WAIT - 1), Stop)
        assert isinstance(decide_step(ROW, told, seen, late + STOP_WAIT), GiveUp)


def test_an_end_counts_as_of_when_it_came_and_not_of_when_it_was_seen() -> None:
    failed = Result(Outcome.FAILED, "no")
    seen_late = decide_step(ROW, EXECUTION, Seen(Phase.OVER, failed, TWO + MINUTE), TWO + 3 * HOUR)
    assert seen_late == failed
    told = replace(EXECUTION, deadline_at=EXECUTION.deadline_at + 700, stopping_at=EXECUTION.deadline_at + 800)
    # A service that tells whole seconds says that what was stopped then had ended before its limit.
    stopped = decide_step(ROW, told, Seen(Phase.OVER, failed, EXECUTION.deadline_at), TWO + 3 * HOUR)
    assert isinstance(stopped, Result)
    assert stopped.outcome is Outcome.TIMED_OUT

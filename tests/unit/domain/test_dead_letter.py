"""Dead letters: which rows are one, how they are grouped, and what a dead message makes of its run."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.attempt import Result, decide_finish, decide_start
from cronfleet.domain.dead_letter import EXPIRES_SOON, MAX_EXAMPLES, Kind, Letter, LetterFilter, grouped, settled
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import MESSAGE_MAX_AGE, Attempt, Outcome, Run, RunStatus
from cronfleet.domain.settlement import How
from cronfleet.domain.signature import Signature, signature_of
from cronfleet.domain.undelivered import Delivery, Insert, Leave, Replace, decide_undelivered
from tests.support.builders import at, message

TWO = at("2026-12-01 02:00")
NOW = TWO + 8 * 60 * MINUTE
DELIVERY = Delivery("runs-standard", "m-1", 5, TWO)


def row(status: RunStatus, *, attempt: int = 0, **changes: Any) -> Run:
    open_attempt = status is RunStatus.RUNNING
    attempts = tuple(
        Attempt(number, number, "owner", TWO)
        if open_attempt and number == attempt
        else Attempt(number, number, "owner", TWO, TWO + SECOND, Outcome.FAILED, "no answer from 10.0.0.1")
        for number in range(1, attempt + 1)
    )
    made = Run(message(TWO).key, status, TWO, "standard", 3, 1, attempts=attempts, fence=attempt)
    return replace(made, **changes)


# --- the signature at death --------------------------------------------------------------------------------------


def test_a_run_that_dies_has_the_signature_of_its_last_failure_and_of_what_it_called() -> None:
    running = row(RunStatus.RUNNING, attempt=2)
    dead = decide_finish(running, Result(Outcome.FAILED, "HTTP 503 from 10.0.0.9"), Retry(2), NOW, "webhook")
    assert dead.status is RunStatus.DEAD
    assert dead.signature == signature_of("failed", "HTTP 503 from 10.0.0.1", "webhook")


def test_a_run_that_waits_for_its_next_attempt_has_no_signature() -> None:
    waiting = decide_finish(row(RunStatus.RUNNING, attempt=1), Result(Outcome.FAILED, "x"), Retry(3), NOW)
    assert (waiting.status, waiting.signature) == (RunStatus.WAITING, None)


def test_a_run_refused_for_its_age_has_the_signature_of_that() -> None:
    late = replace(message(TWO), claimed_at=TWO)
    refused = decide_start(None, late, "owner", TWO + MESSAGE_MAX_AGE + 1)
    assert refused.run.signature == signature_of("too_old", "claimed more than 15 days ago")  # type: ignore[union-attr] - it is refused


# --- what a dead message makes of its run ------------------------------------------------------------------------


def verdict(stored: Run | None, **changes: Any) -> Insert | Replace | Leave:
    return decide_undelivered(stored, replace(message(TWO), **changes), DELIVERY, NOW)


def test_a_dead_message_without_a_row_becomes_a_dead_letter_that_says_what_is_known() -> None:
    found = verdict(None)
    assert isinstance(found, Insert)
    assert (found.run.status, found.run.rev, found.run.attempts) == (RunStatus.DEAD, 1, ())
    assert found.run.reason is not None
    assert found.run.reason.code is Code.UNDELIVERED
    assert found.run.reason.detail == {
        "receives": 5,
        "queue": "runs-standard",
        "sent_at": TWO,
        "claimed_at": message(TWO).claimed_at,
    }


@pytest.mark.parametrize(
    ("stored", "sent"),
    [
        (row(RunStatus.QUEUED), {}),
        (row(RunStatus.WAITING, attempt=1, retry_at=TWO), {"attempt": 2}),
        (row(RunStatus.RUNNING, attempt=1, lease_until=NOW), {}),
        (row(RunStatus.RUNNING, attempt=2, lease_until=NOW), {}),
    ],
    ids=["queued", "waits for that attempt", "its lease is over", "a takeover's lease is over"],
)
def test_a_run_that_nobody_else_is_about_becomes_a_dead_letter(stored: Run, sent: dict[str, Any]) -> None:
    found = verdict(stored, **sent)
    assert isinstance(found, Replace)
    assert (found.run.status, found.run.rev) == (RunStatus.DEAD, stored.rev + 1)
    assert all(attempt.outcome is not None for attempt in found.run.attempts), "no attempt is left open"
    assert found.run.signature is not None


@pytest.mark.parametrize(
    ("stored", "sent", "why"),
    [
        (None, {"attempt": 2}, Code.OUT_OF_TURN),
        (row(RunStatus.RUNNING, attempt=1, lease_until=NOW + 1), {}, Code.LIVE_LEASE),
        (row(RunStatus.WAITING, attempt=1, retry_at=TWO), {"attempt": 1}, Code.OUT_OF_TURN),
        (row(RunStatus.WAITING, attempt=1, retry_at=TWO + MINUTE), {"attempt": 2}, Code.OUT_OF_TURN),
        (row(RunStatus.SUCCEEDED, attempt=1), {}, Code.FINISHED),
        (row(RunStatus.DEAD, attempt=1), {}, Code.FINISHED),
    ],
)
def test_a_run_that_goes_on_waits_for_something_else_or_is_over_is_left(
    stored: Run | None, sent: dict[str, Any], why: Code
) -> None:
    found = verdict(stored, **sent)
    assert isinstance(found, Leave)
    assert found.reason.code is why


# --- settling, filtering, grouping -------------------------------------------------------------------------------


def test_a_letter_is_settled_once() -> None:
    dead = row(RunStatus.DEAD, attempt=1, finished_at=NOW)
    done = settled(dead, How.DISCARDED, "key-1", NOW, reason="not needed")
    assert (done.status, done.rev) == (RunStatus.DEAD, dead.rev + 1)
    with pytest.raises(ValueError, match="no dead letter"):
        settled(done, How.DISCARDED, "key-1", NOW)


def letter(number: int, text: str = "no answer", schedule_id: str = "nightly", code: Code = Code.ATTEMPTS) -> Letter:
    key = replace(message(TWO + number * MINUTE).key, schedule_id=schedule_id)
    died_at = NOW + number * SECOND
    signature = signature_of("failed", text)
    return Letter(key, RunStatus.DEAD, died_at, died_at + 30 * DAY, signature, Reason(code, "so"))


def test_letters_are_grouped_by_signature_the_largest_first() -> None:
    letters = [letter(5, "poison"), *(letter(4 - n, schedule_id=f"s{n % 2}") for n in range(4))]
    most, least = grouped(letters)
    assert (most.count, most.first_died_at, most.last_died_at) == (4, NOW + SECOND, NOW + 4 * SECOND)
    assert most.first_expires_at == NOW + SECOND + 30 * DAY
    assert most.named_schedules == {"s0": 2, "s1": 2}
    assert most.examples == [one.key.run_id for one in letters[1 : 1 + MAX_EXAMPLES]], "the newest"
    assert (least.count, least.signature.template) == (1, "failed: poison")


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        (LetterFilter(), True),
        (LetterFilter(schedule_id="nightly"), True),
        (LetterFilter(schedule_id="night"), False),
        (LetterFilter(signature=signature_of("failed", "no answer").digest), True),
        (LetterFilter(signature="0" * 12), False),
        (LetterFilter(kind=Kind.UNDELIVERED), False),
        (LetterFilter(from_at=NOW, until_at=NOW + 1), True),
        (LetterFilter(until_at=NOW), False),
        (LetterFilter(from_at=NOW + 1), False),
        (LetterFilter(without=frozenset({signature_of("failed", "no answer").digest})), False),
    ],
)
def test_a_filter_takes_what_it_asks_for(asked: LetterFilter, taken: bool) -> None:
    assert asked.takes(letter(0)) is taken


def test_what_could_not_be_delivered_is_told_from_what_failed() -> None:
    assert letter(0, code=Code.UNDELIVERED).kind is Kind.UNDELIVERED
    assert letter(0).kind is Kind.RUN


def test_a_letter_that_goes_before_long_says_so() -> None:
    one = replace(letter(0), expires_at=NOW + EXPIRES_SOON, signature=Signature("0" * 12, "x"))
    assert one.expires_soon(NOW)
    assert not one.expires_soon(NOW - 1)

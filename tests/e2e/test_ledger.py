"""The sum that the end-to-end tests trust: it complains of each way in which a history can be wrong."""

from typing import Any

import pytest

from tests.e2e.callers import text
from tests.e2e.ledger import SECOND, Era, Every, Order, audit, instant, witnesses

START = instant("2026-12-01T02:00:00Z")


def order(**more: Any) -> Order:
    """Every second from two o'clock on, exclusive."""
    return Order("job", [Era(Every(1), START, 1)], timeout_seconds=5, **more)


def attempt(
    second: float, number: int = 1, outcome: str = "succeeded", lasts: float = 0.5, **more: Any
) -> dict[str, Any]:
    began = START + round(second * SECOND)
    return {
        "number": number,
        "fence": number,
        "started_at": precise(began),
        "finished_at": precise(began + round(lasts * SECOND)),
        "outcome": outcome,
        "error": None if outcome == "succeeded" else "why",
        **more,
    }


def precise(moment: int) -> str:
    return text(moment).replace("Z", f".{moment % SECOND:03}Z")


def row(second: int, *attempts: dict[str, Any], epoch: int = 1, **more: Any) -> dict[str, Any]:
    tried = attempts or (attempt(second),)
    return {
        "run_id": f"demo~job~{epoch}~{second}~schedule",
        "cause": "schedule",
        "nominal_at": text(START + second * SECOND),
        "until_nominal_at": None,
        "due_at": text(START + second * SECOND),
        "started_at": tried[0]["started_at"],
        "finished_at": tried[-1]["finished_at"],
        "status": "succeeded",
        "reason": None,
        "attempts": list(tried),
        **more,
    }


def complaints(*rows: dict[str, Any], of: Order | None = None, until: int = 3) -> list[str]:
    return audit(of or order(), rows, START + until * SECOND)


def test_a_history_in_which_each_second_ran_once_is_without_complaint() -> None:
    assert complaints(row(1), row(2), row(3)) == []


def test_a_range_counts_for_each_nominal_time_inside_it() -> None:
    missed = row(1, until_nominal_at=text(START + 2 * SECOND), status="missed", reason={"code": "missed"}, attempts=[])
    assert complaints(missed | {"started_at": None}, row(3)) == []


def test_a_takeover_after_the_lease_is_without_complaint() -> None:
    assert complaints(row(1, attempt(1, outcome="lost", lasts=20), attempt(21, 2)), until=1) == []


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        ([row(1), row(3)], "0 entries"),
        ([row(1), row(2), row(2), row(3)], "2 entries"),
        ([row(1), row(2), row(3), row(2, epoch=2)], "executed 2 times"),
        ([row(0), row(1), row(2), row(3)], "never named"),
        ([row(1), row(2, attempt(1.5)), row(3)], "before it was due"),
        ([row(1), row(2, status="running"), row(3)], "still running"),
        ([row(1), row(2, status="skipped"), row(3)], "without a reason"),
        ([row(1), row(2, attempt(2, outcome="failed")), row(3)], "its last attempt did not"),
        ([row(1), row(2, attempt(2, outcome="lost"), attempt(16.9, 2)), row(3)], "before the lease"),
        ([row(1), row(2, attempt(2, outcome="failed"), attempt(2.4, 2)), row(3)], "before the lease"),
        ([row(1), row(2, attempt(2, outcome="failed"), attempt(9, 2, fence=1)), row(3)], "has fence 1 after 1"),
        ([row(1), row(2, attempt(2, outcome="failed", error=None), attempt(9, 2)), row(3)], "has no reason"),
    ],
)
def test_what_is_wrong_is_complained_of(rows: list[dict[str, Any]], complaint: str) -> None:
    assert any(complaint in text for text in complaints(*rows))


def test_a_start_between_a_pause_that_returned_and_the_resume_is_complained_of() -> None:
    quiet = order(quiet=[(START + 1_500, START + 2_500)])
    assert any("while nothing was to start" in text for text in complaints(row(1), row(2), row(3), of=quiet))


def test_a_start_after_a_deletion_that_returned_is_complained_of() -> None:
    ended = order(ended=(START + 1_500, START + 1_600))
    assert complaints(row(1), of=ended) == []
    assert any("while nothing was to start" in text for text in complaints(row(1), row(2), of=ended))


def test_runs_side_by_side_are_complained_of_where_they_must_not_overlap() -> None:
    alone = order(may_overlap=False)
    rows = [row(1, attempt(1, lasts=1.2)), row(2), row(3)]
    assert complaints(*rows) == []
    assert any("before demo~job~1~1~schedule had ended" in text for text in complaints(*rows, of=alone))


def test_what_a_resume_catches_up_counts_for_the_epoch_before() -> None:
    resumed = order()
    resumed.began_anew(Every(1), START + 2_500, catches_up=True)
    assert complaints(row(1), row(2, epoch=2), row(3, epoch=2), of=resumed) == []
    assert any("0 entries" in text for text in complaints(row(1), row(3, epoch=2), of=resumed))


def test_an_attempt_that_was_executed_twice_tells_on_itself() -> None:
    beat = {"message": "beat", "run_id": "r", "attempt": 1}
    billed = {"message": "billed", "run_id": "r", "account": "a", "attempt": 1}
    assert list(witnesses([beat, beat | {"attempt": 2}, billed])) == []
    assert list(witnesses([beat, beat])) == ["r: attempt 1 was executed 2 times"]
    assert list(witnesses([billed, billed | {"attempt": 2}])) == ["r: a was billed 2 times"]

"""Operations: how far one step may go, what it makes of the ends of runs, and what callers may do."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.operation import (
    MAX_PAGE,
    Candidate,
    Kind,
    Operation,
    Status,
    Verb,
    backfill_id,
    ended,
    next_page,
    rerun_key,
    room,
    settled,
    turned,
    wakes_at,
)
from cronfleet.domain.run import Lane, Run, RunKey, RunStatus
from tests.support.builders import at

NOON = at("2026-11-30 12:00")


def operation(**changes: Any) -> Operation:
    values: dict[str, Any] = {"max_concurrent": 10, "changed_at": NOON, "total": 100}
    return Operation("acme", "o1", Kind.BACKFILL, {}, "ada", NOON, "change-1", **{**values, **changes})


def run(number: int, status: RunStatus = RunStatus.QUEUED) -> Run:
    key = RunKey("acme", "nightly", 1, NOON + number * SECOND, "backfill-o1")
    return Run(key, status, due_at=NOON, tier="standard")


def ids(*numbers: int) -> tuple[str, ...]:
    return tuple(run(number).key.run_id for number in numbers)


def test_it_begins_as_many_as_may_be_under_way() -> None:
    assert room(operation(), NOON) == 10
    assert room(operation(open=ids(1, 2, 3)), NOON) == 7
    assert room(operation(max_concurrent=200), NOON) == MAX_PAGE


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.RUNNING])
def test_it_begins_nothing_unless_it_is_running(status: Status) -> None:
    assert room(operation(status=status), NOON) == 0


def test_a_rate_is_kept_over_every_minute_and_a_standstill_is_not_made_up_for() -> None:
    paced = operation(rate_per_minute=60, max_concurrent=200)
    begun, now = 0, NOON
    for _ in range(60):
        may = room(paced, now)
        made = [Candidate(str(begun + n), run(begun + n)) for n in range(may)]
        paced = replace(next_page(paced, made, "1", is_last=False, now=now).operation, open=())
        begun, now = begun + may, now + SECOND
    assert 60 <= begun <= 60 + 11
    assert room(paced, now + 100 * MINUTE) <= 11


def test_what_has_ended_is_counted_and_makes_room() -> None:
    before = operation(open=ids(1, 2, 3, 4))
    rows = {one.key: one for one in (run(1, RunStatus.SUCCEEDED), run(2, RunStatus.DEAD), run(3, RunStatus.RUNNING))}
    after = settled(before, rows, [run(4).key], NOON + SECOND)
    assert after.open == ids(3)
    assert after.counts == {"succeeded": 1, "dead": 1, "forgotten": 1}
    assert after.recent == ("succeeded", "dead")
    assert after.begun == before.begun
    assert settled(after, {}, [], NOON + MINUTE) is after


def test_a_page_moves_the_cursor_and_counts_what_is_passed_over() -> None:
    page = next_page(operation(), [Candidate("1"), Candidate("2", run(2)), Candidate("3")], "3", is_last=True, now=NOON)
    assert [one.position for one in page.made] == ["2"]
    assert (page.operation.cursor, page.operation.is_drawn, page.operation.open) == ("3", True, ids(2))
    assert page.operation.counts == {"passed_over": 2}


def test_it_is_finished_when_all_is_begun_and_over() -> None:
    assert ended(operation(is_drawn=True, open=ids(1)), NOON).status is Status.RUNNING
    assert ended(operation(is_drawn=True), NOON).status is Status.FINISHED
    assert ended(operation(), NOON).status is Status.RUNNING
    assert not ended(operation(is_drawn=True, status=Status.PAUSED), NOON).is_over
    over = ended(operation(status=Status.CANCELLED), NOON)
    assert (over.status, over.ended_at) == (Status.CANCELLED, NOON)


def test_it_looks_again_soon_while_something_happens_and_never_later_than_in_a_minute() -> None:
    going = operation(open=ids(1))
    assert wakes_at(going, NOON) == NOON + 5 * SECOND
    assert wakes_at(going, NOON + 100 * SECOND) == NOON + 125 * SECOND
    assert wakes_at(going, NOON + 60 * MINUTE) == NOON + 61 * MINUTE
    assert wakes_at(operation(status=Status.PAUSED), NOON) is None
    assert wakes_at(operation(status=Status.PAUSED, open=ids(1)), NOON) is not None
    assert wakes_at(operation(ended_at=NOON), NOON) is None


VERBS = {
    Status.RUNNING: {Verb.PAUSE: Status.PAUSED, Verb.RESUME: Status.RUNNING, Verb.CANCEL: Status.CANCELLED},
    Status.PAUSED: {Verb.PAUSE: Status.PAUSED, Verb.RESUME: Status.RUNNING, Verb.CANCEL: Status.CANCELLED},
    Status.STOPPED: {Verb.RESUME: Status.RUNNING, Verb.CANCEL: Status.CANCELLED},
    Status.CANCELLED: {Verb.CANCEL: Status.CANCELLED},
    Status.FINISHED: {},
}


@pytest.mark.parametrize("status", Status)
@pytest.mark.parametrize("verb", Verb)
def test_what_callers_may_do(status: Status, verb: Verb) -> None:
    before = operation(status=status, open=ids(1))
    after = turned(before, verb, NOON)
    assert (None if after is None else after.status) == VERBS[status].get(verb)
    if after is not None and after.status is status:
        assert after is before


def test_the_same_call_names_the_same_backfill_and_another_one_another() -> None:
    asked = {"schedule": "nightly", "from": 1, "to": 2}
    assert backfill_id("acme", asked) == backfill_id("acme", dict(reversed(asked.items())))
    others = [("other", asked), ("acme", {**asked, "to": 3}), ("acme", {**asked, "again": 2})]
    assert len({backfill_id(*one) for one in others} | {backfill_id("acme", asked)}) == 4


def test_runs_that_repeat_two_runs_of_one_time_are_two() -> None:
    first = RunKey("acme", "nightly", 1, NOON)
    keys = {rerun_key(first, "o1"), rerun_key(replace(first, cause="manual-1"), "o1"), rerun_key(first, "o2")}
    assert len(keys) == 3
    assert all(RunKey.parse(key.run_id) == key and key.lane is Lane.BACKFILL for key in keys)

"""What every job store promises about timers that have something to catch up, and about the claims of it."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.backlog import Backlog, Stretch
from cronfleet.domain.claim import Batch, BatchId, ClaimOutcome, Fire, ScheduleClaim, SkippedRange
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.late import Cause, Late
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Status, Timer
from cronfleet.ports.job_store import CreateTimer, InsertRun, Refused, UpdateTimer
from tests.support.examples import TENANT, changed, run, waiting
from tests.support.settable_clock import NOON

WON, LOST = ClaimOutcome.WON, ClaimOutcome.LOST
FIRST, SECOND_BATCH = BatchId(0, 1, 1), BatchId(0, 1, 2)
OUTAGE = Late(Cause.OUTAGE, NOON - 3 * HOUR, NOON - MINUTE, NOON + 345)
PAUSE = Late(Cause.PAUSE, NOON - HOUR, NOON - MINUTE, NOON)
BACKLOG = Backlog(
    (
        Stretch(NOON - 2 * HOUR, NOON - HOUR, OUTAGE, 60, 86_400),
        Stretch(NOON - 10 * MINUTE, NOON - MINUTE, PAUSE, 7),
    ),
    turn_at=NOON + 123,
)


def behind(schedule_id: str = "behind", backlog: Backlog = BACKLOG, **changes: Any) -> Timer:
    values: dict[str, Any] = {"nominal_at": NOON + MINUTE, "backlog": backlog, "caught_up_from": NOON - 2 * HOUR}
    return waiting(schedule_id, NOON + SECOND, **{**values, **changes})


def stored(store: Any, timer: Timer) -> Timer:
    store.commit([CreateTimer(timer)])
    found: Timer = store.get_timer(TENANT, timer.schedule_id)
    return found


@pytest.mark.parametrize("nominal_at", [NOON + MINUTE, None], ids=["with a regular fire", "alone"])
def test_a_backlog_is_read_back_as_it_was_written(store: Any, nominal_at: int | None) -> None:
    timer = behind(nominal_at=nominal_at)
    assert stored(store, timer) == timer
    (entry,) = store.due(0, NOON + SECOND, None, 10).items
    assert (entry.backlog, entry.nominal_at, entry.due_at) == (BACKLOG, nominal_at, NOON + SECOND)


def test_a_claim_moves_the_backlog_on_or_ends_it(store: Any) -> None:
    timer = stored(store, behind())
    claim = claim_schedule(timer, NOON + SECOND, look_ahead=0)
    assert [fire.nominal_at for fire in claim.caught_up] == [NOON - 2 * HOUR]
    assert store.claim(FIRST, [claim]) == [WON]
    after = store.get_timer(TENANT, "behind")
    assert (after.nominal_at, after.backlog, after.due_at) == (timer.nominal_at, claim.backlog, claim.wakes_at)
    assert (after.claim_batch, after.rev, after.status) == (str(FIRST), timer.rev, Status.ACTIVE)
    last = replace(claim_schedule(after, NOON + MINUTE, look_ahead=0), backlog=None)
    assert store.claim(SECOND_BATCH, [last]) == [WON]
    assert store.get_timer(TENANT, "behind").backlog is None


def test_a_claim_that_leaves_a_backlog_alone_does_not_complete_the_schedule_and_the_last_one_does(store: Any) -> None:
    timer = stored(store, behind(nominal_at=None))
    claim = claim_schedule(timer, NOON + SECOND)
    assert claim.following is None
    assert store.claim(FIRST, [claim]) == [WON]
    after = store.get_timer(TENANT, "behind")
    assert (after.status, after.nominal_at, after.backlog) == (Status.ACTIVE, None, claim.backlog)
    last = replace(claim_schedule(after, NOON + MINUTE), backlog=None)
    assert store.claim(SECOND_BATCH, [last]) == [WON]
    done = store.get_timer(TENANT, "behind")
    assert (done.status, done.due_at, done.backlog) == (Status.COMPLETED, None, None)
    assert not store.due(0, NOON + HOUR, None, 10).items


def test_a_claim_whose_reply_was_lost_is_won_again_and_one_that_came_second_is_lost(store: Any) -> None:
    timer = stored(store, behind())
    claim = claim_schedule(timer, NOON + SECOND, look_ahead=0)
    assert store.claim(FIRST, [claim]) == [WON]
    assert store.claim(FIRST, [claim]) == [WON]
    assert store.claim(SECOND_BATCH, [claim]) == [LOST]


def test_a_claim_is_lost_when_only_the_backlog_has_moved_on(store: Any) -> None:
    timer = stored(store, behind())
    claim = replace(claim_schedule(timer, NOON + SECOND, look_ahead=0), backlog_at=NOON - 3 * HOUR)
    assert store.claim(FIRST, [claim]) == [LOST]


def test_a_change_that_was_decided_before_a_caught_up_fire_was_claimed_is_refused(store: Any) -> None:
    timer = stored(store, behind())
    assert store.claim(FIRST, [claim_schedule(timer, NOON + SECOND, look_ahead=0)]) == [WON]
    with pytest.raises(Refused):
        store.commit([UpdateTimer(changed(timer, "c1"), timer)])
    after = store.get_timer(TENANT, "behind")
    store.commit([UpdateTimer(changed(after, "c2"), after)])


def test_a_deferral_that_was_decided_before_a_caught_up_fire_was_claimed_is_refused(store: Any) -> None:
    timer = stored(store, behind())
    assert store.claim(FIRST, [claim_schedule(timer, NOON + SECOND, look_ahead=0)]) == [WON]
    reason = Reason(Code.TENANT_RATE, "later")
    assert not store.defer(timer, NOON + MINUTE, reason)
    assert store.defer(store.get_timer(TENANT, "behind"), NOON + MINUTE, reason)


def test_a_batch_with_missed_time_in_it_is_read_back_as_it_was_written(store: Any) -> None:
    policy = Misfire(MisfirePolicy.CATCH_UP, 50, 60, 7_200, 600)
    missed = claim_schedule(behind(nominal_at=NOON - 2 * HOUR, misfire=policy), NOON + HOUR + 7)
    assert missed.skipped
    assert missed.caught_up
    assert missed.backlog is not None
    alone = claim_schedule(behind("alone", nominal_at=None), NOON + 5)
    twice = replace(missed, skipped=(*missed.skipped, SkippedRange(NOON, NOON + SECOND, Reason(Code.MISSED, "x"))))
    many = tuple(Fire(NOON - n * MINUTE, NOON, late) for n, late in enumerate((OUTAGE, PAUSE, OUTAGE), 1))
    claims: list[ScheduleClaim] = [missed, alone, twice, replace(alone, caught_up=many, backlog=None)]
    batch = Batch(FIRST, None, NOON, tuple(claims))
    store.put_batch(batch)
    assert store.get_batch(FIRST) == batch


def test_a_row_says_for_ever_why_its_run_was_late(store: Any) -> None:
    row = replace(run(status=RunStatus.QUEUED), late=OUTAGE)
    store.commit([InsertRun(row)])
    assert store.get_run(row.key) == row

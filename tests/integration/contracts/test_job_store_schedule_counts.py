"""The count of a tenant's schedules, on every store."""

from typing import Any

import pytest

from cronfleet.ports.job_store import CreateTimer, JobStore, Refused, UpdateTimer
from cronfleet.ports.schedule_counts import CountSchedules, Full, ScheduleCount
from tests.support.examples import TENANT, changed, waiting


def test_counts_go_up_and_down_with_what_they_count(store: JobStore) -> None:
    assert store.get_schedule_count(TENANT) == ScheduleCount()

    for number in range(20):
        store.commit([CreateTimer(waiting(f"s{number}")), CountSchedules(TENANT, 1, 100)])
    first = waiting("s0")
    store.commit([UpdateTimer(changed(first, "gone"), first), CountSchedules(TENANT, -1)])

    assert store.get_schedule_count(TENANT).use == 19
    assert store.get_schedule_count("somebody").use == 0


def test_nothing_is_written_over_the_limit(store: JobStore) -> None:
    for number in range(3):
        store.commit([CreateTimer(waiting(f"s{number}")), CountSchedules(TENANT, 1, 3)])

    with pytest.raises(Refused) as refused:
        store.commit([CreateTimer(waiting("more")), CountSchedules(TENANT, 1, 3)])

    assert refused.value.position == 1
    assert refused.value.stored == Full(3, 3)
    assert store.get_timer(TENANT, "more") is None
    assert store.get_schedule_count(TENANT).use == 3


def test_a_lowered_limit_holds_and_a_raised_one_too(store: JobStore) -> None:
    for number in range(20):
        store.commit([CreateTimer(waiting(f"s{number}")), CountSchedules(TENANT, 1, 40)])

    with pytest.raises(Refused) as refused:
        store.commit([CreateTimer(waiting("more")), CountSchedules(TENANT, 1, 10)])
    for number in range(20):
        store.commit(
            [UpdateTimer(changed(waiting(f"s{number}"), "gone"), waiting(f"s{number}")), CountSchedules(TENANT, -1)]
        )
    for number in range(10):
        store.commit([CreateTimer(waiting(f"n{number}")), CountSchedules(TENANT, 1, 10)])

    assert refused.value.stored == Full(20, 10)
    assert store.get_schedule_count(TENANT).use == 10


def test_a_refused_transaction_counts_nothing(store: JobStore) -> None:
    store.commit([CreateTimer(waiting("s")), CountSchedules(TENANT, 1, 5)])

    with pytest.raises(Refused) as refused:
        store.commit([CreateTimer(waiting("s", change_id="other")), CountSchedules(TENANT, 1, 5)])

    assert refused.value.position == 0
    assert store.get_schedule_count(TENANT).use == 1


@pytest.mark.parametrize("limit", [1, 50])
def test_a_repeat_of_what_was_done_is_recognised_also_when_it_took_the_last_place(store: JobStore, limit: int) -> None:
    writes: Any = [CreateTimer(waiting("s", change_id="mine")), CountSchedules(TENANT, 1, limit)]
    store.commit(writes)

    store.commit(writes)

    assert store.get_schedule_count(TENANT).use == 1


def test_how_far_old_schedules_are_counted_is_kept_until_all_are(store: JobStore) -> None:
    store.put_count_progress(TENANT, "so far")
    on_the_way = store.get_schedule_count(TENANT)
    store.put_count_progress(TENANT, None)
    store.put_count_progress(TENANT, "somebody who was slower")

    assert on_the_way == ScheduleCount(0, is_complete=False, cursor="so far")
    assert store.get_schedule_count(TENANT) == ScheduleCount(0, is_complete=True)

"""What every job store promises about timers, definitions, lists and the one transaction."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.claim import BatchId, ClaimOutcome
from cronfleet.domain.errors import Invalid
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Definition, Status, Timer
from cronfleet.domain.trigger import CronTrigger
from cronfleet.ports.job_store import (
    CreateTimer,
    IdempotencyRecord,
    InsertAudit,
    InsertDefinition,
    InsertIdempotency,
    InsertRun,
    InsertRunTimer,
    Listed,
    Refused,
    ReplaceRun,
    UpdateTimer,
)
from tests.support import examples
from tests.support.examples import TENANT, audit, changed, claim_of, run, run_timer, waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

BATCH = BatchId(0, 1, 1)


def create(store: Any, *timers: Timer) -> None:
    for timer in timers:
        store.commit([CreateTimer(timer)])


@pytest.mark.parametrize("timer", examples.timers(), ids=lambda timer: timer.schedule_id)
def test_a_timer_is_read_back_as_it_was_written(store: Any, timer: Timer) -> None:
    create(store, timer)
    assert store.get_timer(timer.tenant, timer.schedule_id) == timer


@pytest.mark.parametrize("definition", examples.definitions(), ids=lambda definition: definition.schedule_id)
def test_a_definition_is_read_back_as_it_was_written(store: Any, definition: Definition) -> None:
    store.commit([InsertDefinition(definition)])
    assert store.get_definition(TENANT, definition.schedule_id, definition.version) == definition


def test_what_is_not_there_is_none(store: Any) -> None:
    assert store.get_timer(TENANT, "nightly") is None
    assert store.get_definition(TENANT, "nightly", 1) is None
    assert store.find_api_key("demo") is None
    assert store.list_api_keys("demo", cursor=None, limit=9).items == []
    assert store.find_idempotency(TENANT, "key") is None


def test_a_timer_whose_zone_is_gone_is_still_read(store: Any) -> None:
    timer = replace(waiting(), trigger=CronTrigger("0 2 * * *", "Europe/Atlantis"))
    create(store, timer)
    stored = store.get_timer(TENANT, "nightly")
    assert stored == timer
    with pytest.raises(Invalid, match="Atlantis"):
        stored.trigger.next_after(NOON)


def test_a_timer_is_created_only_where_none_is(store: Any) -> None:
    first = waiting()
    create(store, first)
    with pytest.raises(Refused) as refused:
        store.commit([InsertAudit(audit()), CreateTimer(replace(first, change_id="another", version=9))])
    assert refused.value.position == 1
    assert refused.value.stored == first
    assert store.get_timer(TENANT, "nightly") == first


def test_a_refused_transaction_changes_nothing(store: Any) -> None:
    first = waiting()
    create(store, first)
    paused = changed(first, "pause", status=Status.PAUSED)
    stale = replace(first, rev=0)
    with pytest.raises(Refused):
        store.commit([InsertRun(run()), UpdateTimer(paused, stale), InsertAudit(audit())])
    assert store.get_timer(TENANT, "nightly") == first
    assert store.get_run(run().key) is None
    # The audit entry was not written either: it can be, once.
    store.commit([InsertAudit(audit(request_id="other"))])


def test_an_update_stands_only_on_the_rev_and_nominal_it_read(store: Any) -> None:
    first = waiting()
    create(store, first)
    for before in (replace(first, rev=2), replace(first, nominal_at=NOON + 1), replace(first, nominal_at=None)):
        with pytest.raises(Refused) as refused:
            store.commit([UpdateTimer(changed(before, "edit"), before)])
        assert refused.value.stored == first
    edited = changed(first, "edit", version=2)
    store.commit([UpdateTimer(edited, first)])
    assert store.get_timer(TENANT, "nightly") == edited


def test_a_timer_that_waits_for_nothing_can_be_updated_and_wait_again(store: Any) -> None:
    done = waiting(due_at=None, status=Status.COMPLETED)
    create(store, done)
    retimed = changed(done, "retime", status=Status.ACTIVE, nominal_at=NOON, due_at=NOON)
    store.commit([UpdateTimer(retimed, done)])
    assert store.get_timer(TENANT, "nightly") == retimed
    with pytest.raises(Refused):
        store.commit([UpdateTimer(changed(done, "late"), done)])


def test_an_update_of_a_timer_that_is_gone_is_refused(store: Any) -> None:
    with pytest.raises(Refused) as refused:
        store.commit([UpdateTimer(changed(waiting(), "edit"), waiting())])
    assert refused.value.stored is None


def test_an_update_after_a_claim_is_refused_since_the_nominal_moved(store: Any) -> None:
    first = waiting()
    create(store, first)
    assert store.claim(BATCH, [claim_of(first)]) == [ClaimOutcome.WON]
    with pytest.raises(Refused) as refused:
        store.commit([UpdateTimer(changed(first, "pause"), first)])
    assert refused.value.stored.nominal_at == NOON + MINUTE
    assert refused.value.stored.claim_batch == str(BATCH)


def change_with_everything(first: Timer) -> list[Any]:
    return [
        UpdateTimer(changed(first, "run now"), first),
        InsertDefinition(examples.definition(examples.MINUTELY)),
        InsertRun(run(cause="manual-1", status=RunStatus.QUEUED)),
        InsertRunTimer(run_timer(1)),
        InsertAudit(audit()),
        InsertIdempotency(IdempotencyRecord(TENANT, "key", "digest", {"status": 201}, NOON + DAY)),
    ]


def test_a_transaction_whose_reply_was_lost_is_recognised_when_it_is_tried_again(store: Any) -> None:
    first = waiting()
    create(store, first)
    writes = change_with_everything(first)
    store.commit(writes)
    store.commit(writes)
    assert store.get_timer(TENANT, "nightly").rev == first.rev + 1


def test_it_is_recognised_even_after_others_went_on_from_it(store: Any) -> None:
    first = waiting()
    create(store, first)
    writes = change_with_everything(first)
    store.commit(writes)
    after = store.get_timer(TENANT, "nightly")
    store.claim(BATCH, [claim_of(after)])
    started = run(cause="manual-1", rev=2)
    assert store.replace_run(started) is None
    store.commit(writes)
    assert store.get_run(started.key) == started


def test_a_lost_creation_is_recognised(store: Any) -> None:
    writes = [CreateTimer(waiting()), InsertDefinition(examples.definition(examples.MINUTELY)), InsertAudit(audit())]
    store.commit(writes)
    store.commit(writes)


def test_a_failed_finish_whose_reply_was_lost_is_recognised_after_the_next_attempt_began(store: Any) -> None:
    running = run()
    store.insert_run(running)
    attempts = (replace(running.attempts[0], finished_at=NOON + 99, outcome=examples.Outcome.FAILED),)
    waits = replace(running, status=RunStatus.WAITING, rev=2, attempts=attempts, lease_until=None)
    writes = [ReplaceRun(waits), InsertRunTimer(run_timer(2))]
    store.commit(writes)
    store.commit(writes)
    again = replace(waits, status=RunStatus.RUNNING, rev=3, attempts=(*attempts, examples.Attempt(2, 2, "x", NOON)))
    assert store.replace_run(again) is None
    store.commit(writes)
    assert store.get_run(running.key) == again


def test_another_workers_end_of_the_same_attempt_is_no_lost_reply(store: Any) -> None:
    running = run()
    store.insert_run(running)
    ours = (replace(running.attempts[0], finished_at=NOON + 99, outcome=examples.Outcome.FAILED),)
    theirs = (replace(running.attempts[0], finished_at=NOON + 98, outcome=examples.Outcome.LOST),)
    store.replace_run(replace(running, rev=2, attempts=theirs))
    with pytest.raises(Refused) as refused:
        store.commit([ReplaceRun(replace(running, rev=2, attempts=ours)), InsertRunTimer(run_timer(2))])
    assert (refused.value.position, refused.value.stored.attempts) == (0, theirs)


def test_the_same_request_by_another_caller_is_refused_not_recognised(store: Any) -> None:
    first = waiting()
    create(store, first)
    record = IdempotencyRecord(TENANT, "key", "digest", {"status": 201}, NOON + DAY)
    store.commit([UpdateTimer(changed(first, "one"), first), InsertAudit(audit("1")), InsertIdempotency(record)])
    now = store.get_timer(TENANT, "nightly")
    with pytest.raises(Refused) as refused:
        store.commit([UpdateTimer(changed(now, "two"), now), InsertAudit(audit("2")), InsertIdempotency(record)])
    assert refused.value.position == 2
    assert refused.value.stored == record
    with pytest.raises(Refused) as refused:
        store.commit([UpdateTimer(changed(first, "two"), first), InsertAudit(audit("3"))])
    assert refused.value.position == 0


def test_an_idempotency_key_is_free_again_once_its_answer_has_expired(engine: Engine) -> None:
    store = engine.store
    old = IdempotencyRecord(TENANT, "key", "digest", {"status": 201, "body": None}, NOON + 1_500)
    store.commit([InsertIdempotency(old)])
    assert store.find_idempotency(TENANT, "key") == old
    assert store.find_idempotency("other", "key") is None
    engine.clock.set(NOON + 1_500)
    assert store.find_idempotency(TENANT, "key") is None
    new = replace(old, request_digest="other", expires_at=NOON + DAY)
    store.commit([InsertIdempotency(new)])
    assert store.find_idempotency(TENANT, "key") == new


def test_a_runs_timer_is_put_where_none_waits(store: Any) -> None:
    store.commit([InsertRunTimer(run_timer(2))])
    with pytest.raises(Refused) as refused:
        store.commit([InsertRunTimer(run_timer(2, NOON + SECOND))])
    assert refused.value.stored == run_timer(2)


def test_a_retired_timer_makes_room_for_the_same_attempt_put_off(store: Any) -> None:
    store.commit([InsertRunTimer(run_timer(2))])
    store.claim(BATCH, [examples.RunClaim(run_timer(2))])
    later = run_timer(2, NOON + MINUTE)
    store.commit([InsertRunTimer(later)])
    assert list(store.due(0, NOON + MINUTE, None, 10).items) == [later]


def test_versions_are_never_changed(store: Any) -> None:
    first = examples.definition(examples.MINUTELY)
    store.commit([InsertDefinition(first)])
    with pytest.raises(Refused) as refused:
        store.commit([InsertDefinition(replace(first, author="another"))])
    assert refused.value.stored == first


# --- lists -------------------------------------------------------------------------------------------------------


def ids(page: Any) -> list[str]:
    return [listed.schedule_id for listed in page.items]


def listing(store: Any, limit: int = 10, **wanted: Any) -> list[str]:
    """All pages of a list, one after the other."""
    asked = {"prefix": "", "status": None, **wanted}
    page = store.list_schedules(TENANT, cursor=None, limit=limit, **asked)
    found = ids(page)
    while page.cursor is not None:
        assert len(page.items) == limit, "a page before the last is full"
        page = store.list_schedules(TENANT, cursor=page.cursor, limit=limit, **asked)
        found += ids(page)
    return found


def test_a_list_shows_a_tenants_schedules_by_id_without_tombstones(store: Any) -> None:
    create(store, waiting("b"), waiting("a", version=3), waiting("c", None, status=Status.CANCELLED))
    create(store, waiting("d", tenant="another"))
    page = store.list_schedules(TENANT, prefix="", status=None, cursor=None, limit=10)
    assert list(page.items) == [Listed("a", Status.ACTIVE, 3), Listed("b", Status.ACTIVE, 1)]
    assert page.cursor is None


def test_a_schedule_leaves_the_list_when_it_is_cancelled_and_comes_back(store: Any) -> None:
    first = waiting()
    create(store, first)
    gone = changed(first, "cancel", status=Status.CANCELLED, nominal_at=None, due_at=None)
    store.commit([UpdateTimer(gone, first)])
    assert listing(store) == []
    store.commit([UpdateTimer(changed(gone, "create", status=Status.ACTIVE), gone)])
    assert listing(store) == ["nightly"]


def test_pages_neither_repeat_nor_leave_out(store: Any) -> None:
    names = [f"s{number:02}" for number in range(7)]
    create(store, *map(waiting, names))
    for limit in (1, 2, 3, 6, 7, 8):
        assert listing(store, limit) == names
    whole = store.list_schedules(TENANT, prefix="", status=None, cursor=None, limit=len(names))
    assert whole.cursor is None, "nothing is left"


def test_filters_do_not_eat_into_the_limit(store: Any) -> None:
    every_third = [Status.PAUSED if number % 3 == 0 else Status.ACTIVE for number in range(10)]
    create(store, *(waiting(f"s{number}", status=status) for number, status in enumerate(every_third)))
    create(store, waiting("other"))
    assert listing(store, 2, status=Status.PAUSED) == ["s0", "s3", "s6", "s9"]
    assert listing(store, 3, prefix="s", status=Status.ACTIVE) == ["s1", "s2", "s4", "s5", "s7", "s8"]
    assert listing(store, 2, prefix="o") == ["other"]
    assert listing(store, 2, status=Status.HELD) == []


@pytest.mark.parametrize("cursor", ["", "x", "!!", "bm90IGpzb24", "W10", "WyJhIyJd", "é"])
def test_a_cursor_that_is_none_of_ours_is_the_callers_mistake(store: Any, cursor: str) -> None:
    with pytest.raises(Invalid, match="cursor"):
        store.list_schedules(TENANT, prefix="", status=None, cursor=cursor, limit=10)
    with pytest.raises(Invalid, match="cursor"):
        store.list_runs(TENANT, "nightly", cursor=cursor, limit=10)


def test_schedules_come_with_their_current_definitions_in_the_order_asked_for(store: Any) -> None:
    for name in ("a", "b", "c"):
        store.commit([CreateTimer(waiting(name)), InsertDefinition(examples.definition(examples.MINUTELY, name))])
    before = waiting("a")
    newer = replace(examples.definition(examples.MINUTELY, "a"), version=2)
    store.commit([UpdateTimer(changed(before, "edit", version=2), before), InsertDefinition(newer)])
    gone = waiting("b")
    store.commit([UpdateTimer(changed(gone, "cancel", status=Status.CANCELLED), gone)])
    wanted = [Listed(name, Status.ACTIVE, 1) for name in ("c", "never", "b", "a")]
    found = store.get_schedules(TENANT, wanted)
    assert [timer.schedule_id for timer, _ in found] == ["c", "a"]
    assert [definition.version for _, definition in found] == [1, 2]


def test_many_schedules_are_read_in_one_call(store: Any) -> None:
    names = [f"s{number:03}" for number in range(120)]
    for name in names:
        store.commit([CreateTimer(waiting(name)), InsertDefinition(examples.definition(examples.MINUTELY, name))])
    found = store.get_schedules(TENANT, [Listed(name, Status.ACTIVE, 1) for name in names])
    assert [definition.schedule_id for _, definition in found] == names

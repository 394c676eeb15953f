"""What every job store promises about leases, the dispatch log, the due index, claims and the books."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.books import Books, Owed
from cronfleet.domain.claim import BatchId, ClaimOutcome, RunClaim, Unreadable
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.lease import SLOT, ShardLease
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Pause, Status, Timer
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.job_store import CreateTimer, InsertRunTimer, UpdateTimer
from tests.support import examples
from tests.support.examples import TENANT, batch, changed, claim_of, run_timer, waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

TRACED = run_timer(4, trace=examples.ORIGIN)
WON, LOST = ClaimOutcome.WON, ClaimOutcome.LOST
FIRST, SECOND_BATCH = BatchId(0, 1, 1), BatchId(0, 1, 2)


def take(store: Any, owner: str = "one", slot_at: int = NOON, now: int = NOON) -> ShardLease | None:
    lease: ShardLease | None = store.take_lease(0, slot_at, owner, slot_at + SLOT, now)
    return lease


def taken(store: Any, owner: str = "one", slot_at: int = NOON, now: int = NOON) -> ShardLease:
    lease = take(store, owner, slot_at, now)
    assert lease is not None
    return lease


# --- leases ------------------------------------------------------------------------------------------------------


def test_the_first_tick_takes_a_shard_that_nobody_had(store: Any) -> None:
    assert store.get_lease(0) is None
    lease = take(store)
    assert lease == ShardLease(0, "one", fence=1, until=NOON + SLOT, slot_at=NOON)
    assert store.get_lease(0) == lease
    assert store.get_lease(1) is None


def test_a_slot_is_served_once(store: Any) -> None:
    store.release(taken(store), frozenset())
    assert take(store, "two") is None
    assert take(store, "two", NOON - SLOT) is None
    later = taken(store, "two", NOON + SLOT)
    assert later.fence == 2


def test_a_live_lease_keeps_others_out_until_it_ends(store: Any) -> None:
    taken(store)
    next_slot = NOON + SLOT
    assert take(store, "two", next_slot, now=NOON + SLOT - 1) is None
    assert taken(store, "two", next_slot, now=NOON + SLOT).fence == 2


def test_a_taking_whose_reply_was_lost_is_recognised(store: Any) -> None:
    lease = take(store)
    assert take(store) == lease


def test_an_owner_whose_lease_was_taken_over_does_not_get_it_back(store: Any) -> None:
    taken(store)
    taken(store, "two", NOON + SLOT, now=NOON + SLOT)
    assert take(store, "one") is None


def test_the_open_batch_is_handed_to_whoever_takes_the_shard_next(store: Any) -> None:
    lease = taken(store)
    assert store.announce(lease, FIRST, NOON + 15 * SECOND)
    assert take(store, "two", NOON + SLOT, now=NOON + SLOT) is None, "announcing a batch renewed the lease"
    successor = taken(store, "two", NOON + 15 * SECOND, now=NOON + 15 * SECOND)
    assert (successor.open_batch, successor.last_batch) == (FIRST, FIRST)


def test_announcing_closes_the_batch_before(store: Any) -> None:
    lease = taken(store)
    store.announce(lease, FIRST, NOON + HOUR)
    assert store.announce(lease, SECOND_BATCH, NOON + HOUR)
    assert store.announce(lease, SECOND_BATCH, NOON + HOUR), "a repeat whose reply was lost"
    stored = store.get_lease(0)
    assert (stored.open_batch, stored.last_batch) == (SECOND_BATCH, SECOND_BATCH)


def test_a_late_copy_of_an_older_announcement_changes_nothing(store: Any) -> None:
    lease = taken(store)
    store.announce(lease, SECOND_BATCH, NOON + HOUR)
    assert not store.announce(lease, FIRST, NOON + HOUR)
    assert store.get_lease(0).open_batch == SECOND_BATCH


def test_a_late_copy_of_the_last_announcement_does_not_open_what_was_let_go_of(store: Any) -> None:
    """Its reply was lost, it was made again, and the batch closed; then the first copy comes. It would keep the shard
    from everybody for as long as a batch's lease lasts, and forget who lost.
    """
    lease = taken(store)
    store.announce(lease, FIRST, NOON + HOUR)
    store.announce(lease, SECOND_BATCH, NOON + HOUR)
    store.release(lease, frozenset({3}))
    closed = store.get_lease(0)
    assert not store.announce(lease, SECOND_BATCH, NOON + HOUR)
    assert store.get_lease(0) == closed
    assert taken(store, "two", NOON + SLOT).last_losers == frozenset({3})


def test_letting_go_closes_the_batch_and_keeps_its_losers(store: Any) -> None:
    lease = taken(store)
    store.announce(lease, FIRST, NOON + HOUR)
    assert store.release(lease, frozenset({3, 0}))
    assert store.release(lease, frozenset({3, 0})), "a repeat whose reply was lost"
    successor = taken(store, "two", NOON + SLOT)
    assert successor.open_batch is None
    assert (successor.last_batch, successor.last_losers) == (FIRST, frozenset({0, 3}))
    store.announce(successor, BatchId(0, 2, 1), NOON + HOUR)
    assert store.get_lease(0).last_losers == frozenset(), "they were the losers of the batch before"
    assert store.release(successor, frozenset())
    assert store.get_lease(0).last_losers == frozenset()


def test_who_lost_the_shard_can_neither_announce_nor_release(store: Any) -> None:
    lease = taken(store)
    successor = taken(store, "two", NOON + SLOT, now=NOON + SLOT)
    assert not store.announce(lease, FIRST, NOON + HOUR)
    assert not store.release(lease, frozenset({1}))
    assert store.get_lease(0) == successor


# --- the dispatch log --------------------------------------------------------------------------------------------


def test_a_batch_is_read_back_as_it_was_written(store: Any) -> None:
    claim = claim_of(waiting(jitter_seconds=5, due_at=NOON), NOON + SECOND, NOON + 2 * SECOND)
    once = claim_of(waiting("once"), following=None)
    dropped = examples.skipping(claim_of(waiting("late", tier="priority")))
    own = [RunClaim(timer) for timer in (run_timer(3, NOON - 5), TRACED, replace(TRACED, reserved_at=NOON))]
    written = batch(FIRST, claim, once, dropped, *own, previous=BatchId(0, 0, 9))
    written = replace(written, previous_losers=frozenset({7, 2}))
    store.put_batch(written)
    assert store.get_batch(FIRST) == written
    assert store.get_batch(SECOND_BATCH) is None
    store.put_batch(written)
    assert store.get_batch(FIRST) == written


def test_the_log_is_read_in_the_order_of_announcement(store: Any) -> None:
    order = [BatchId(0, 1, 1), BatchId(0, 1, 2), BatchId(0, 1, 10), BatchId(0, 2, 1), BatchId(0, 10, 1)]
    for batch_id in [*reversed(order), BatchId(1, 1, 1)]:
        store.put_batch(batch(batch_id, claim_of(waiting())))

    def read(after: BatchId | None, through: BatchId, limit: int = 10) -> list[BatchId]:
        return [one.batch_id for one in store.batches(0, after, through, limit)]

    assert read(None, order[-1]) == order
    assert read(order[0], order[3]) == order[1:4]
    assert read(order[1], order[1]) == []
    assert read(order[2], order[0]) == []
    assert read(None, order[-1], 2) == order[:2]


# --- the due index -----------------------------------------------------------------------------------------------


def due(store: Any, until: int = NOON + HOUR, limit: int = 100, shard: int = 0) -> list[Any]:
    """All pages, one after the other."""
    page = store.due(shard, until, None, limit)
    items = list(page.items)
    while page.cursor is not None:
        page = store.due(shard, until, page.cursor, limit)
        items += page.items
    return items


def put(store: Any, *timers: Timer) -> None:
    for timer in timers:
        store.commit([CreateTimer(timer)])


def test_what_is_due_comes_oldest_first_up_to_and_including_the_end(store: Any) -> None:
    put(store, *(waiting(f"s{second}", NOON + second * SECOND) for second in (5, 1, 3)))
    put(store, waiting("elsewhere", shard=1))
    assert [item.schedule_id for item in due(store, NOON + 3 * SECOND)] == ["s1", "s3"]
    assert [item.schedule_id for item in due(store, NOON + 3 * SECOND - 1)] == ["s1"]
    assert [item.schedule_id for item in due(store, shard=1)] == ["elsewhere"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_go_on_past_items_that_left_the_index_meanwhile(store: Any, limit: int) -> None:
    timers = [waiting(f"s{number}", NOON + number % 2 * SECOND) for number in range(6)]
    put(store, *timers)
    seen = []
    cursor: str | None = None
    for _ in range(10):
        page = store.due(0, NOON + HOUR, cursor, limit)
        assert len(page.items) <= limit
        seen += [item.schedule_id for item in page.items]
        claims = [claim_of(item, following=None) for item in page.items]
        assert set(store.claim(FIRST, claims)) <= {WON}
        cursor = page.cursor
        if cursor is None:
            break
    assert sorted(seen) == [timer.schedule_id for timer in timers]
    assert due(store) == []


def test_an_index_entry_holds_what_a_claim_needs(store: Any) -> None:
    full = next(timer for timer in examples.timers() if timer.schedule_id == "full")
    put(store, replace(full, shard=0))
    (found,) = due(store)
    unknown = {
        "claim_batch": None,
        "change_id": "",
        "epoch_starts": (),
        "born_epoch": 0,
        "created_at": 0,
        "updated_at": 0,
    }
    assert found == replace(full, shard=0, **unknown)


def test_only_the_base_item_says_who_paused_claimed_or_deferred(store: Any) -> None:
    pause = Pause("ops", NOON, until=NOON + SECOND)
    put(store, waiting(status=Status.PAUSED, due_at=NOON + SECOND, pause=pause, claim_batch="0.9.9"))
    (found,) = due(store)
    assert (found.status, found.pause, found.claim_batch) == (Status.PAUSED, None, None)


def test_only_what_waits_is_in_the_index(store: Any) -> None:
    put(store, waiting("done", None), waiting("paused", None, status=Status.PAUSED, nominal_at=NOON), waiting("live"))
    assert [item.schedule_id for item in due(store)] == ["live"]
    live = store.get_timer(TENANT, "live")
    store.commit([UpdateTimer(changed(live, "pause", status=Status.PAUSED, due_at=None), live)])
    assert due(store) == []


def test_timers_of_runs_wait_in_the_same_index(store: Any) -> None:
    later = run_timer(3, NOON + SECOND)
    put(store, waiting())
    store.commit([InsertRunTimer(later)])
    assert [type(item).__name__ for item in due(store)] == ["Timer", "RunTimer"]
    assert due(store)[1] == later


def test_one_unreadable_item_is_named_and_hides_nothing_else(engine: Engine) -> None:
    store = engine.store
    bad = waiting("bad")
    put(store, waiting("a", NOON - 1), bad, waiting("z", NOON + 1))
    engine.spoil(bad)
    first, unreadable, last = due(store)
    assert (first.schedule_id, last.schedule_id) == ("a", "z")
    assert isinstance(unreadable, Unreadable)
    assert (unreadable.partition, unreadable.sort, unreadable.due_at) == ("acme#bad", "TIMER", NOON)
    assert unreadable.why


def test_an_unreadable_item_is_parked_if_it_is_still_as_the_index_said(engine: Engine) -> None:
    store = engine.store
    bad = waiting("bad")
    put(store, bad)
    engine.spoil(bad)
    (unreadable,) = due(store)
    why = Reason(Code.UNREADABLE, unreadable.why)
    assert not store.drop_unreadable(replace(unreadable, due_at=NOON + 1), why)
    assert len(due(store)) == 1
    assert store.drop_unreadable(unreadable, why)
    assert due(store) == []
    assert not store.drop_unreadable(unreadable, why), "it is gone already"
    listed = store.list_schedules(TENANT, prefix="", status=Status.PARKED, cursor=None, limit=10)
    assert [one.schedule_id for one in listed.items] == ["bad"]


# --- claims ------------------------------------------------------------------------------------------------------


def test_a_claim_advances_the_timer_and_says_who_has_it(store: Any) -> None:
    first = waiting(due_at=NOON, deferred=examples.WHY)
    put(store, first)
    claim = claim_of(first, following=NOON + MINUTE)
    assert store.claim(FIRST, [claim]) == [WON]
    expected = replace(first, nominal_at=NOON + MINUTE, due_at=NOON + MINUTE, claim_batch="0.1.1", deferred=None)
    assert store.get_timer(TENANT, "nightly") == expected
    assert [item.due_at for item in due(store)] == [NOON + MINUTE]


def test_a_claim_without_a_next_fire_completes_the_schedule(store: Any) -> None:
    first = replace(waiting(), trigger=OneShotTrigger(NOON, "2026-11-30T12:00:00Z", None))
    put(store, first)
    claim = claim_of(first, following=None)
    assert store.claim(FIRST, [claim]) == [WON]
    done = replace(first, status=Status.COMPLETED, nominal_at=None, due_at=None, claim_batch="0.1.1")
    assert store.get_timer(TENANT, "nightly") == done
    assert due(store) == []
    assert store.claim(FIRST, [claim]) == [WON]
    assert store.claim(SECOND_BATCH, [claim]) == [LOST]


def test_a_claim_that_is_issued_again_under_its_batch_is_still_won(store: Any) -> None:
    first = waiting()
    put(store, first)
    claim = claim_of(first)
    assert store.claim(FIRST, [claim]) == [WON]
    assert store.claim(FIRST, [claim]) == [WON]
    assert store.claim(SECOND_BATCH, [claim]) == [LOST]
    assert store.get_timer(TENANT, "nightly").nominal_at == NOON + MINUTE, "and nothing moved twice"


def test_it_is_still_won_after_an_edit_that_kept_the_fire(store: Any) -> None:
    first = waiting()
    put(store, first)
    claim = claim_of(first)
    store.claim(FIRST, [claim])
    after = store.get_timer(TENANT, "nightly")
    store.commit([UpdateTimer(changed(after, "pause", status=Status.PAUSED, due_at=None), after)])
    assert store.claim(FIRST, [claim]) == [WON]


@pytest.mark.parametrize("read", [{"rev": 2}, {"nominal_at": NOON - MINUTE}, {"due_at": NOON - SECOND}])
def test_a_claim_on_what_a_stale_index_showed_is_lost(store: Any, read: dict[str, int]) -> None:
    first = waiting()
    put(store, first)
    assert store.claim(FIRST, [claim_of(replace(first, **read))]) == [LOST]
    assert store.get_timer(TENANT, "nightly") == first


def test_a_claim_on_a_timer_that_is_gone_is_lost(store: Any) -> None:
    assert store.claim(FIRST, [claim_of(waiting()), RunClaim(run_timer())]) == [LOST, LOST]
    assert store.get_timer(TENANT, "nightly") is None


def test_outcomes_come_in_the_order_of_the_claims(store: Any) -> None:
    timers = [waiting(name) for name in ("a", "b", "c")]
    put(store, *timers)
    store.claim(SECOND_BATCH, [claim_of(timers[1])])
    assert store.claim(FIRST, [claim_of(timer) for timer in timers]) == [WON, LOST, WON]
    assert store.claim(FIRST, []) == []


def test_a_runs_timer_is_retired_by_its_claim(store: Any) -> None:
    waits = run_timer()
    store.commit([InsertRunTimer(waits)])
    assert store.claim(FIRST, [RunClaim(replace(waits, due_at=NOON + 1))]) == [LOST]
    assert store.claim(FIRST, [RunClaim(waits)]) == [WON]
    assert due(store) == []
    assert store.claim(FIRST, [RunClaim(waits)]) == [WON]
    assert store.claim(SECOND_BATCH, [RunClaim(waits)]) == [LOST]


def test_a_runs_timer_brings_its_trace_through_the_index(store: Any) -> None:
    store.commit([InsertRunTimer(TRACED)])
    assert due(store) == [TRACED]


def test_a_deferral_moves_the_due_time_and_nothing_else(store: Any) -> None:
    first = waiting()
    put(store, first)
    assert store.defer(first, NOON + 20 * SECOND, examples.WHY)
    deferred = replace(first, due_at=NOON + 20 * SECOND, reserved_at=NOON + 20 * SECOND, deferred=examples.WHY, rev=2)
    assert store.get_timer(TENANT, "nightly") == deferred
    assert store.claim(FIRST, [claim_of(first)]) == [LOST], "it was read before it was deferred"
    assert store.defer(first, NOON + 20 * SECOND, examples.WHY), "a repeat whose reply was lost"
    assert not store.defer(first, NOON + 30 * SECOND, examples.WHY)
    assert store.get_timer(TENANT, "nightly") == deferred


def test_a_deferral_of_what_has_changed_or_gone_is_refused(store: Any) -> None:
    first = waiting()
    assert not store.defer(first, NOON + SECOND, examples.WHY)
    put(store, first)
    store.claim(FIRST, [claim_of(first)])
    assert not store.defer(first, NOON + SECOND, examples.WHY)
    assert store.get_timer(TENANT, "nightly").due_at == NOON + MINUTE


# --- the books ---------------------------------------------------------------------------------------------------


def test_the_books_are_empty_before_the_first_sweep_and_kept_by_rev(store: Any) -> None:
    assert store.get_books(0) == Books(0)
    first = Books(0, 1, FIRST, {"0.1.1": Owed((0, 5), NOON, 2)})
    assert store.put_books(first)
    assert store.get_books(0) == first
    assert store.put_books(first), "a repeat whose reply was lost"
    assert not store.put_books(Books(0, 1)), "another sweep was faster"
    second = Books(0, 2, SECOND_BATCH)
    assert store.put_books(second)
    assert not store.put_books(Books(0, 2, FIRST))
    assert store.get_books(0) == second
    assert store.get_books(1) == Books(1)


def test_books_with_much_open_are_kept(store: Any) -> None:
    owed = {f"0.{fence}.1": Owed(tuple(range(100)), NOON + fence) for fence in range(200)}
    assert store.put_books(Books(0, 1, FIRST, owed))
    assert store.get_books(0).open == owed


# --- peeking -------------------------------------------------------------------------------------------------------


def test_peeking_walks_the_same_way_as_reading_does_and_tells_keys_alone(store: Any) -> None:
    for number in range(5):
        put(store, waiting(f"s{number}", NOON + number * SECOND))
    store.commit([InsertRunTimer(run_timer())])
    read, peeked = [], []
    cursor: str | None = None
    for _ in range(9):
        page, keys = store.due(0, NOON + HOUR, cursor, 2), store.peek(0, NOON + HOUR, cursor, 2)
        read += page.items
        peeked += keys.items
        assert page.cursor == keys.cursor
        cursor = page.cursor
        if cursor is None:
            break
    assert len(peeked) == len(read) == 6
    assert {key.tenant for key in peeked} == {TENANT}
    fetched = store.get_due(peeked)
    assert {getattr(item, "schedule_id", "") for item in fetched} == {getattr(item, "schedule_id", "") for item in read}


def test_what_waits_no_longer_is_not_fetched(store: Any) -> None:
    first = waiting()
    put(store, first)
    (key,) = store.peek(0, NOON + HOUR, None, 9).items
    store.commit([UpdateTimer(replace(first, status=Status.PAUSED, due_at=None, rev=2, change_id="paused"), first)])
    assert not store.get_due([key])


# --- places ----------------------------------------------------------------------------------------------------------


def test_a_runs_timer_is_deferred_while_it_waits_as_it_was_read_and_claimed_at_its_place(store: Any) -> None:
    waits = run_timer()
    store.commit([InsertRunTimer(waits)])
    place = NOON + 40 * SECOND
    assert store.defer(waits, place, examples.WHY)
    assert store.defer(waits, place, examples.WHY), "a repeat whose reply was lost"
    assert not store.defer(waits, place + SECOND, examples.WHY)
    (later,) = due(store)
    assert later == replace(waits, due_at=place, reserved_at=place)
    assert store.find_run_timer(waits.key, waits.attempt) == replace(later, deferred=examples.WHY)
    assert store.find_run_timer(waits.key, waits.attempt + 1) is None
    assert store.claim(FIRST, [RunClaim(waits)]) == [LOST], "it was read before it was deferred"
    assert store.claim(FIRST, [RunClaim(later)]) == [WON]
    assert store.find_run_timer(waits.key, waits.attempt) is None
    assert not store.defer(later, place + SECOND, examples.WHY)


def test_a_claim_may_leave_its_timer_waiting_for_a_place_and_the_next_takes_it_away(store: Any) -> None:
    first = waiting()
    put(store, first)
    claim = claim_of(first)
    place = NOON + 90 * SECOND
    waits = replace(claim, following=replace(claim.following, due_at=place), reserved_at=place, deferred=examples.WHY)
    assert store.claim(FIRST, [waits]) == [WON]
    stored = store.get_timer(TENANT, "nightly")
    assert (stored.due_at, stored.reserved_at, stored.deferred) == (place, place, examples.WHY)
    (read,) = due(store)
    assert read.reserved_at == place
    again = replace(claim_of(read), reserved_at=place)
    store.claim(SECOND_BATCH, [again])
    stored = store.get_timer(TENANT, "nightly")
    assert (stored.reserved_at, stored.deferred) == (place, examples.WHY), "a place without a reason stays as it is"
    (read,) = due(store)
    store.claim(BatchId(0, 1, 3), [claim_of(read)])
    stored = store.get_timer(TENANT, "nightly")
    assert (stored.reserved_at, stored.deferred) == (None, None)


# --- how many there are ------------------------------------------------------------------------------------------


def test_how_many_are_served_is_noted_once_the_first_has_been_and_never_becomes_fewer(store: Any) -> None:
    store.raise_shards(4)
    assert store.get_lease(0) is None
    lease = taken(store)
    assert lease.shards == 0
    for asked, stands in ((4, 4), (2, 4), (64, 64)):
        store.raise_shards(asked)
        assert store.get_lease(0) == replace(lease, shards=stands)


def test_who_takes_and_lets_go_of_the_first_shard_leaves_the_number_as_it_is(store: Any) -> None:
    first = taken(store)
    store.raise_shards(4)
    store.announce(first, FIRST, NOON + 2 * SLOT)
    store.release(first, frozenset())
    assert taken(store, "two", NOON + SLOT).shards == 4

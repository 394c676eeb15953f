"""Slots: taken by one, kept while their lease lasts, let go of by nobody but their holder; and carried by the log."""

from dataclasses import replace

import pytest

from cronfleet.domain.claim import Batch, BatchId, RunClaim
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.slot import Slot, SlotLease, holder_of
from tests.support.examples import TENANT, claim_of, run_timer, waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

FREE = Slot(TENANT, 3)
MINE, OTHERS = (holder_of(f"acme~{name}~1~20261201T020000Z~schedule", 1, NOON) for name in ("nightly", "hourly"))
TAKEN = FREE.taken(MINE, NOON, NOON + MINUTE)


def test_slots_are_kept_as_they_were_put_tenant_by_tenant(engine: Engine) -> None:
    slots = [Slot(TENANT, number).taken(MINE, NOON, NOON + number) for number in (1, 2, 10, 999)]
    foreign = Slot("acme-2", 1).taken(OTHERS, NOON, NOON + MINUTE)
    for slot in (foreign, *reversed(slots)):
        assert engine.store.take_slot(slot, Slot(slot.tenant, slot.number)) == slot
    assert list(engine.store.get_slots(TENANT)) == slots
    assert list(engine.store.get_slots("acme-2")) == [foreign]
    assert not engine.store.get_slots("nobody")


def test_a_slot_that_was_taken_meanwhile_is_the_others(engine: Engine) -> None:
    assert engine.store.take_slot(TAKEN, FREE) == TAKEN
    assert engine.store.take_slot(FREE.taken(OTHERS, NOON, NOON + MINUTE), FREE) == TAKEN
    assert list(engine.store.get_slots(TENANT)) == [TAKEN]


def test_a_taking_whose_reply_was_lost_is_recognised(engine: Engine) -> None:
    engine.store.take_slot(TAKEN, FREE)
    assert engine.store.take_slot(TAKEN, FREE) == TAKEN


def test_a_slot_whose_holder_has_renewed_it_is_not_taken_by_who_saw_the_old_end(engine: Engine) -> None:
    engine.store.take_slot(TAKEN, FREE)
    renewed = replace(TAKEN, until=NOON + 5 * MINUTE)
    assert engine.store.take_slot(renewed, TAKEN) == renewed
    assert engine.store.take_slot(TAKEN.taken(OTHERS, NOON + MINUTE, NOON + 2 * MINUTE), TAKEN) == renewed


def test_a_slot_whose_lease_has_ended_is_taken_under_the_next_fence(engine: Engine) -> None:
    engine.store.take_slot(TAKEN, FREE)
    after = TAKEN.taken(OTHERS, NOON + MINUTE, NOON + 2 * MINUTE)
    assert engine.store.take_slot(after, TAKEN) == after
    assert after.fence == 2


def test_a_slot_that_is_let_go_of_is_free_and_knows_how_long_it_was_held(engine: Engine) -> None:
    engine.store.take_slot(TAKEN, FREE)
    assert engine.store.release_slot(TENANT, 3, 1, MINE, NOON + 7 * SECOND)
    (slot,) = engine.store.get_slots(TENANT)
    assert slot == TAKEN.released(NOON + 7 * SECOND)
    assert (slot.is_free(0), slot.held_ms, slot.fence) == (True, 7 * SECOND, 1)
    assert not engine.store.release_slot(TENANT, 3, 1, MINE, NOON + 9 * SECOND)
    again = slot.taken(OTHERS, NOON + MINUTE, NOON + 2 * MINUTE)
    assert engine.store.take_slot(again, slot) == again


@pytest.mark.parametrize(("fence", "holder"), [(2, MINE), (1, OTHERS), (1, "")], ids=["fence", "holder", "nobody"])
def test_nobody_lets_go_of_anothers_slot(engine: Engine, fence: int, holder: str) -> None:
    engine.store.take_slot(TAKEN, FREE)
    assert not engine.store.release_slot(TENANT, 3, fence, holder or "-", NOON + SECOND)
    assert not engine.store.release_slot(TENANT, 4, 1, MINE, NOON + SECOND)
    assert list(engine.store.get_slots(TENANT)) == [TAKEN]


def test_a_slot_let_go_of_by_a_clock_that_is_behind_was_held_for_no_time(engine: Engine) -> None:
    engine.store.take_slot(TAKEN, FREE)
    assert engine.store.release_slot(TENANT, 3, 1, MINE, NOON - SECOND)
    assert engine.store.get_slots(TENANT)[0].held_ms == 0


def test_the_log_keeps_the_slots_of_its_claims(engine: Engine) -> None:
    slots = (SlotLease(1, 7, NOON + MINUTE), SlotLease(4, 1, NOON + 2 * MINUTE))
    claim = replace(claim_of(waiting()), slots=slots)
    batch = Batch(BatchId(0, 1, 1), None, NOON, (claim, RunClaim(run_timer(), slots[1]), RunClaim(run_timer(2))))
    engine.store.put_batch(batch)
    assert engine.store.get_batch(batch.batch_id) == batch
    messages = list(batch.messages().values())
    assert [message.slot for message in messages] == [*slots[: len(messages) - 2], slots[1], None]

"""Many hands on one item: exactly one wins, on an engine whose conditional writes are atomic."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb.job_store import DynamoJobStore
from cronfleet.domain.audit import Wanted
from cronfleet.domain.claim import BatchId, ClaimOutcome, RunClaim
from cronfleet.domain.freeze import Freeze, TenantScope, Thaw, with_freeze
from cronfleet.domain.instant import DAY, MINUTE, SECOND
from cronfleet.domain.lease import SLOT
from cronfleet.domain.run import RunStatus
from cronfleet.domain.slot import Slot
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.job_store import CreateTimer, InsertAudit, InsertRunTimer, NoAnswer, Refused, UpdateTimer
from cronfleet.ports.schedule_counts import CountSchedules, Full
from cronfleet.services.access import Caller
from cronfleet.services.asking import ask
from cronfleet.services.audit_log import AuditLog
from cronfleet.services.sealing import Sealer
from tests.support.emulator import client
from tests.support.examples import TENANT, audit, changed, claim_of, run, run_timer, waiting
from tests.support.races import race
from tests.support.settable_clock import NOON, SettableClock
from tests.support.stores import dynamodb_engine, moto_engine
from tests.support.world import Notes

HANDS = 8
ROUNDS = 5


@pytest.fixture(scope="module", params=["moto", pytest.param("emulator", marks=pytest.mark.emulator)])
def stores(request: pytest.FixtureRequest) -> Iterator[list[Any]]:
    """As many stores as there are hands, each with its own client, on the same tables."""
    if request.param == "moto":
        with moto_engine() as engine:
            yield [engine.store] * HANDS
        return
    endpoint = request.getfixturevalue("emulator_endpoint")
    with dynamodb_engine(client("dynamodb", endpoint)) as engine:
        clients = [client("dynamodb", endpoint) for _ in range(HANDS)]
        yield [DynamoJobStore(engine.prefix, one, SettableClock()) for one in clients]


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_batches_wins_a_claim(stores: list[Any], turn: int) -> None:
    timer = waiting(f"claim-{turn}")
    stores[0].commit([CreateTimer(timer)])
    outcomes = race(stores, lambda store, hand: store.claim(BatchId(0, hand, turn), [claim_of(timer)])[0])
    assert sorted(outcomes) == [ClaimOutcome.LOST] * (HANDS - 1) + [ClaimOutcome.WON]
    winner = outcomes.index(ClaimOutcome.WON)
    assert stores[0].get_timer(TENANT, timer.schedule_id).claim_batch == f"0.{winner}.{turn}"


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_batches_retires_a_runs_timer(stores: list[Any], turn: int) -> None:
    timer = run_timer(turn + 1, schedule_id="retired")
    stores[0].commit([InsertRunTimer(timer)])
    outcomes = race(stores, lambda store, hand: store.claim(BatchId(0, hand, turn), [RunClaim(timer)])[0])
    assert outcomes.count(ClaimOutcome.WON) == 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_a_claim_and_a_pause_cannot_both_have_the_fire(stores: list[Any], turn: int) -> None:
    timer = waiting(f"pause-{turn}")
    stores[0].commit([CreateTimer(timer)])

    def act(store: Any, hand: int) -> bool:
        if hand % 2:
            return bool(store.claim(BatchId(0, hand, turn), [claim_of(timer)]) == [ClaimOutcome.WON])
        return committed(
            store, UpdateTimer(changed(timer, f"pause {hand}", due_at=None), timer), audit(f"{turn}-{hand}")
        )

    assert race(stores, act).count(True) <= 1
    stored = stores[0].get_timer(TENANT, timer.schedule_id)
    assert (stored.due_at is None) == (stored.rev == 2), "paused, or claimed, or (all conflicted) neither"


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_changes_is_committed(stores: list[Any], turn: int) -> None:
    timer = waiting(f"change-{turn}")
    stores[0].commit([CreateTimer(timer)])

    def act(store: Any, hand: int) -> bool:
        entry = audit(f"change-{turn}-{hand}", actor=str(hand))
        return committed(store, UpdateTimer(changed(timer, f"change {hand}"), timer), entry)

    assert race(stores, act).count(True) == 1


def committed(store: Any, update: UpdateTimer, entry: Any) -> bool:
    """Whether the change came first. A conflict of transactions is no answer, and asked again."""
    for _ in range(50):
        try:
            store.commit([update, InsertAudit(entry)])
        except NoAnswer:
            continue
        except Refused:
            return False
        return True
    return False


def test_what_eight_hands_say_of_one_subject_at_once_stands_in_one_chain_and_is_sealed_meanwhile(
    stores: list[Any],
) -> None:
    """Nobody is refused: whoever finds the end of the chain moved on goes behind it."""
    subject, each = "schedule:crowded", 4

    def act(store: Any, hand: int) -> None:
        for number in range(each):
            entry = audit(f"crowded-{hand}-{number}", subject=subject, actor=str(hand))
            ask(lambda entry=entry: store.commit([InsertAudit(entry)]))
            if hand == 0:
                Sealer(store=store, clock=SettableClock(), telemetry=Notes()).seal(NOON + MINUTE)

    race(stores, act)
    assert stores[0].get_heads(TENANT, [subject])[subject].seq == HANDS * each
    wanted = Wanted(0, NOON + MINUTE, subject)
    found = [one for one in stores[0].walk_audit(TENANT, "", 1_000) if wanted.takes(one)]
    assert sorted(one.link.seq for one in found) == list(range(1, HANDS * each + 1))
    verdict = AuditLog(store=stores[0], clock=SettableClock()).verify(Caller(Tenant(TENANT), "key", "request"))
    assert (verdict["ok"], verdict["first_bad"]) == (True, None), verdict


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_dispatchers_takes_a_slot(stores: list[Any], turn: int) -> None:
    slot_at = NOON + turn * SLOT
    leases = race(stores, lambda store, hand: store.take_lease(7, slot_at, f"{turn}-{hand}", slot_at + 1, slot_at))
    (lease,) = [lease for lease in leases if lease is not None]
    assert lease.fence == turn + 1


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_workers_starts_a_run(stores: list[Any], turn: int) -> None:
    rows = [run(NOON + turn * MINUTE, batch=str(hand)) for hand in range(HANDS)]
    answers = race(stores, lambda store, hand: store.insert_run(rows[hand]))
    winner = answers.index(None)
    assert [answer for answer in answers if answer is not None] == [rows[winner]] * (HANDS - 1)


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_workers_ends_an_attempt(stores: list[Any], turn: int) -> None:
    running = run(NOON + turn * MINUTE + SECOND)
    stores[0].insert_run(running)
    ends = [replace(running, status=RunStatus.SUCCEEDED, rev=2, lag_ms=hand) for hand in range(HANDS)]
    answers = race(stores, lambda store, hand: store.replace_run(ends[hand]))
    assert answers.count(None) == 1
    assert stores[0].get_run(running.key) == ends[answers.index(None)]


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_dispatchers_takes_a_tenants_slot_while_its_holder_lets_go_of_it(
    stores: list[Any], turn: int
) -> None:
    """Those who saw it free at its end, and those who saw it free because it was let go of: one has it, and knows."""
    tenant = f"racing-{turn}"
    old = Slot(tenant, 1).taken("old", NOON, NOON + MINUTE)
    stores[0].take_slot(old, Slot(tenant, 1))

    def act(store: Any, hand: int) -> Slot | None:
        if hand == 0:
            store.release_slot(tenant, 1, old.fence, old.holder, NOON + SECOND)
        (seen,) = store.get_slots(tenant)
        wanted = seen.taken(f"hand-{hand}", NOON + MINUTE, NOON + 2 * MINUTE)
        stored: Slot = store.take_slot(wanted, seen)
        return stored if stored.holder == wanted.holder else None

    taken = [slot for slot in race(stores, act) if slot is not None]
    (stored,) = stores[0].get_slots(tenant)
    assert [slot for slot in taken if (slot.holder, slot.fence) == (stored.holder, stored.fence)] == [stored]
    assert len({slot.fence for slot in taken}) == len(taken), "one after the other, each under a fence of its own"


@pytest.mark.parametrize("turn", range(ROUNDS))
def test_one_of_eight_runs_takes_the_gate(stores: list[Any], turn: int) -> None:
    answers = race(stores, lambda store, hand: store.take_gate(TENANT, f"gate-{turn}", f"run-{hand}", NOON, None))
    winner = answers.index(None)
    assert answers.count(None) == 1
    assert {answer for answer in answers if answer is not None} == {f"run-{winner}"}


@pytest.mark.parametrize(("turn", "limit"), [(0, 5), (1, 12), (2, 40)])
def test_eight_hands_that_create_never_pass_the_quota_and_reach_it(stores: list[Any], turn: int, limit: int) -> None:
    tenant = f"counted-{turn}"

    def create(store: Any, hand: int) -> int:
        done = 0
        for number in range(8):
            timer = replace(waiting(f"{hand}-{number}"), tenant=tenant)
            done += _counted(store, [CreateTimer(timer), CountSchedules(tenant, 1, limit)])
        return done

    made = sum(race(stores, create))

    assert made == min(limit, 8 * HANDS)
    assert stores[0].get_schedule_count(tenant).use == made


def _counted(store: Any, writes: list[Any]) -> int:
    for _ in range(100):
        try:
            store.commit(writes)
        except NoAnswer:
            continue
        except Refused as refused:
            return 0 if isinstance(refused.stored, Full) else 1_000
        return 1
    raise AssertionError("nobody got through")


@pytest.mark.parametrize("turn", range(2))
def test_of_eight_hands_that_freeze_and_thaw_at_once_each_freeze_is_kept_and_none_is_forgotten(
    stores: list[Any], turn: int
) -> None:
    """Four share a tenant's list, and all of them the directory."""

    def freeze(store: Any, hand: int) -> str:
        freeze = Freeze(f"{turn}-{hand}", TenantScope(f"cold-{turn}-{hand % 2}"), "ada", NOON)
        _frozen(store, freeze)
        if hand >= HANDS // 2:
            _frozen(store, freeze.thawed_at(NOON + SECOND, Thaw("ada", NOON)))
        return freeze.freeze_id

    ids = race(stores, freeze)

    kept = {one.freeze_id: one for n in (0, 1) for one in stores[0].get_freeze_list(f"cold-{turn}-{n}").freezes}
    assert set(kept) == set(ids)
    assert [kept[one].thawed is not None for one in ids] == [hand >= HANDS // 2 for hand in range(HANDS)]
    directory = stores[0].get_freeze_directory()
    assert all(directory.may_hold(f"cold-{turn}-{n}", NOON + 365 * DAY) for n in (0, 1)), "two of each are in force"


def _frozen(store: Any, freeze: Freeze) -> None:
    for number in range(200):
        kept, directory = store.get_freeze_list(freeze.scope.tenant), store.get_freeze_directory()
        change = {"now": NOON, "change_id": f"{freeze.freeze_id}-{freeze.until}-{number}"}
        kept, directory = with_freeze(kept, directory, freeze, **change)
        try:
            store.commit([PutFreezeList(kept), PutFreezeDirectory(directory)])
        except (NoAnswer, Refused):
            continue
        return
    raise AssertionError("nobody got through")

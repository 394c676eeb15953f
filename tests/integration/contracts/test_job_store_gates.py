"""Gates with their lines: replaced only by who has read them, and the first of the line can be woken."""

from dataclasses import replace

import pytest

from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.gate import Gate, GateName, Waiting
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.overlap import Overlap
from cronfleet.domain.schedule import BreakerPolicy, Policies
from cronfleet.ports.gates import MoveRunTimer, PutGate
from cronfleet.ports.job_store import CreateTimer, InsertDefinition, InsertRunTimer, Refused
from tests.support.builders import TENANT, cron, definition
from tests.support.examples import run
from tests.support.examples import waiting as waiting_timer
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

OWN, GROUP = GateName(TENANT, "nightly"), GateName(TENANT, key="warehouse")
ALL = pytest.mark.parametrize("name", [OWN, GROUP], ids=["a schedule's", "a key's"])


def held(name: GateName) -> Gate:
    return Gate(name, "run-1", None, (Waiting("run-2", 1), Waiting("run-3", 2)), rev=1)


@ALL
def test_a_gate_is_kept_with_its_line_as_it_was_put(engine: Engine, name: GateName) -> None:
    store = engine.store
    assert store.get_gate(name) == Gate(name)
    assert store.put_gate(held(name), Gate(name))
    assert store.get_gate(name) == held(name)
    freed = Gate(name, "run-1", NOON, (Waiting("run-2", 1),), rev=2)
    assert store.put_gate(freed, held(name))
    assert store.get_gate(name) == freed


@ALL
def test_a_gate_is_replaced_only_by_who_has_read_it(engine: Engine, name: GateName) -> None:
    store = engine.store
    first = held(name)
    assert store.put_gate(first, Gate(name))
    assert not store.put_gate(Gate(name, "run-9", rev=1), Gate(name)), "another was faster"
    assert store.put_gate(first, Gate(name)), "its own write, whose reply was lost"
    assert not store.put_gate(replace(first, line=(), rev=3), replace(first, rev=2))
    with pytest.raises(Refused) as refused:
        store.commit([PutGate(replace(first, line=(), rev=2), replace(first, holder="run-7"))])
    assert refused.value.stored == first
    store.commit([PutGate(replace(first, line=(), rev=2), first)])
    assert store.get_gate(name).line == ()


def test_each_gate_is_its_own(engine: Engine) -> None:
    store = engine.store
    store.put_gate(held(OWN), Gate(OWN))
    assert store.get_gate(GROUP) == Gate(GROUP)
    assert store.get_gate(GateName("other", "nightly")) == Gate(GateName("other", "nightly"))


def test_a_gate_without_a_line_is_the_one_that_plain_runs_go_through(engine: Engine) -> None:
    store = engine.store
    store.take_gate(TENANT, "nightly", "run-1", NOON, None)
    plain = store.get_gate(OWN)
    assert (plain.holder, plain.ended_at, plain.rev) == ("run-1", None, 0)
    store.release_gate(TENANT, "nightly", "run-1", NOON + SECOND)
    assert not store.put_gate(replace(plain, holder="run-2", rev=1), plain), "it was let go of meanwhile"
    freed = store.get_gate(OWN)
    assert freed.ended_at == NOON + SECOND
    assert store.put_gate(replace(freed, holder="run-2", ended_at=None, rev=1), freed)
    assert store.take_gate(TENANT, "nightly", "run-3", NOON + MINUTE, None) == "run-2"


def waiting(due_at: int) -> RunTimer:
    return RunTimer(run().key, TimerKind.RETRY, 1, due_at, "standard", 3, 1, 60)


def test_a_run_that_waits_is_woken_before_its_time_and_never_put_off(engine: Engine) -> None:
    store, timer = engine.store, waiting(NOON + MINUTE)
    store.commit([InsertRunTimer(timer)])
    assert store.get_run_timer(timer.key, 1) == timer
    assert store.wake_run(timer.key, 1, NOON)
    assert not store.wake_run(timer.key, 1, NOON + SECOND), "it is due before that"
    assert not store.wake_run(timer.key, 2, NOON), "nobody waits"
    assert [one.due_at for one in store.due(3, NOON, None, 10).items] == [NOON]
    with pytest.raises(Refused):
        store.commit([MoveRunTimer(replace(timer, due_at=NOON - SECOND), timer)])
    woken = replace(timer, due_at=NOON)
    store.commit([MoveRunTimer(replace(timer, due_at=NOON - SECOND), woken)])
    assert store.get_run_timer(timer.key, 1) == replace(timer, due_at=NOON - SECOND)


def test_keys_and_breakers_are_kept_with_timer_and_definition(engine: Engine) -> None:
    store, breaker = engine.store, BreakerPolicy(5, 600)
    waits = replace(waiting_timer(), overlap=Overlap.BUFFER_ONE, concurrency_key="warehouse", breaker=breaker)
    policies = Policies(
        overlap=Overlap.CANCEL_OTHER, concurrency_key="warehouse", breaker=breaker, target_breaker=False
    )
    described = definition(cron("0 2 * * *"), policies=policies)
    store.commit([CreateTimer(waits), InsertDefinition(described)])
    kept = store.get_timer(waits.tenant, waits.schedule_id)
    assert (kept.overlap, kept.concurrency_key, kept.breaker) == (Overlap.BUFFER_ONE, "warehouse", breaker)
    assert store.get_definition(described.tenant, described.schedule_id, 1).spec.policies == policies

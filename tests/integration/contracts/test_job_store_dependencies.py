"""What every job store promises about dependencies: lists and marks move on only from what was read."""

from dataclasses import replace

import pytest

from cronfleet.domain.claim import BatchId, ClaimOutcome, RunClaim
from cronfleet.domain.dependency import Dependants, DependencyMark
from cronfleet.domain.instant import HOUR, SECOND
from cronfleet.ports.job_store import InsertRunTimer, PutDependants, PutDependencyMark, Refused
from tests.support.examples import run_timer
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

LIST = Dependants("acme", "load", ("clean", "report"), 1)
MARK = DependencyMark("acme", 1)


def test_what_nobody_has_put_is_empty(engine: Engine) -> None:
    assert engine.store.get_dependants("acme", "load") == Dependants("acme", "load")
    assert engine.store.get_dependency_mark("acme") == DependencyMark("acme")


def test_a_list_and_a_mark_are_kept_as_they_were_put(engine: Engine) -> None:
    engine.store.commit([PutDependants(LIST), PutDependencyMark(MARK)])
    assert engine.store.get_dependants("acme", "load") == LIST
    assert engine.store.get_dependency_mark("acme") == MARK
    assert engine.store.get_dependants("rival", "load").names == ()
    assert engine.store.get_dependency_mark("rival").rev == 0


def test_they_move_on_only_from_the_revision_that_was_read(engine: Engine) -> None:
    engine.store.commit([PutDependants(LIST), PutDependencyMark(MARK)])
    for late in (PutDependants(replace(LIST, names=("other",))), PutDependencyMark(MARK)):
        with pytest.raises(Refused) as refused:
            engine.store.commit([late])
        assert refused.value.stored in (LIST, MARK)
    after = replace(LIST, names=(), rev=2)
    engine.store.commit([PutDependants(after), PutDependencyMark(DependencyMark("acme", 2))])
    assert engine.store.get_dependants("acme", "load") == after


def test_a_timer_that_replaces_another_is_the_one_that_is_due(engine: Engine) -> None:
    far, near = run_timer(1, NOON + HOUR), run_timer(1, NOON)
    engine.store.commit([InsertRunTimer(far)])
    with pytest.raises(Refused):
        engine.store.commit([InsertRunTimer(near)])
    engine.store.commit([InsertRunTimer(near, replaces=True)])
    assert list(engine.store.due(0, NOON, None, 10).items) == [near]
    assert engine.store.claim(BatchId(0, 1, 1), [RunClaim(far)]) == [ClaimOutcome.LOST]
    assert engine.store.claim(BatchId(0, 1, 2), [RunClaim(near)]) == [ClaimOutcome.WON]
    later = run_timer(1, NOON + SECOND)
    engine.store.commit([InsertRunTimer(later, replaces=True)])
    assert list(engine.store.due(0, later.due_at, None, 10).items) == [later], "one that was claimed comes again"

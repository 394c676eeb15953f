"""Freezes: kept exactly, found by one read, and written on the condition that was read."""

import pytest

from cronfleet.domain.freeze import (
    Freeze,
    FreezeDirectory,
    FreezeList,
    LabelScope,
    TenantScope,
    Thaw,
    TierScope,
    with_freeze,
    with_tier_freeze,
)
from cronfleet.domain.instant import MINUTE
from cronfleet.ports.freezes import PutFreezeDirectory, PutFreezeList
from cronfleet.ports.job_store import CreateTimer, Refused
from tests.support.examples import waiting
from tests.support.settable_clock import NOON
from tests.support.stores import Engine

WHOLE = Freeze("f1", TenantScope("acme"), "ada", NOON, "the database moves", suspends=True)
LABEL = Freeze(
    "f2", LabelScope("acme", (("env", "prod"), ("team", "a#b"))), "ada", NOON + 1, until=NOON + MINUTE
).thawed_at(NOON + 5, Thaw("bob", NOON + 3, "done"))
TIER = Freeze("f3", TierScope("standard"), "ada", NOON, "maintenance")


def frozen(engine: Engine, *freezes: Freeze, tenant: str = "acme") -> FreezeList:
    """A tenant with these freezes, one transaction each."""
    kept = engine.store.get_freeze_list(tenant)
    for freeze in freezes:
        directory = engine.store.get_freeze_directory()
        change = {"now": NOON, "change_id": f"c-{freeze.freeze_id}"}
        kept, directory = with_freeze(kept, directory, freeze, **change)
        engine.store.commit([PutFreezeList(kept), PutFreezeDirectory(directory)])
    return kept


def test_before_the_first_freeze_nothing_is_frozen(engine: Engine) -> None:
    assert engine.store.get_freeze_directory() == FreezeDirectory()
    assert engine.store.get_freeze_directory(consistent=False) == FreezeDirectory()
    assert engine.store.get_freeze_list("acme") == FreezeList("acme")
    assert engine.store.get_freeze_lists(["acme"]) == {}
    assert engine.store.get_freeze_lists([]) == {}


def test_a_tenants_freezes_are_kept_as_they_were_put(engine: Engine) -> None:
    kept = frozen(engine, WHOLE, LABEL)
    assert kept.freezes == (WHOLE, LABEL)
    assert engine.store.get_freeze_list("acme") == kept
    assert engine.store.get_freeze_lists(["other", "acme"]) == {"acme": kept}
    directory = engine.store.get_freeze_directory()
    assert directory.may_hold("acme", NOON)
    assert not directory.may_hold("other", NOON)
    assert directory.rev == 2


def test_a_tiers_freeze_stands_in_the_directory(engine: Engine) -> None:
    frozen(engine, WHOLE)
    after = with_tier_freeze(engine.store.get_freeze_directory(), TIER, now=NOON, change_id="c9")
    engine.store.commit([PutFreezeDirectory(after)])
    assert engine.store.get_freeze_directory() == after
    assert engine.store.get_freeze_directory().tiers == (TIER,)


def test_of_two_that_freeze_at_once_one_is_refused_and_shown_the_others(engine: Engine) -> None:
    seen = engine.store.get_freeze_list("acme"), engine.store.get_freeze_directory()
    kept = frozen(engine, WHOLE)
    late, directory = with_freeze(*seen, LABEL, now=NOON, change_id="late")
    with pytest.raises(Refused) as refused:
        engine.store.commit([PutFreezeList(late), PutFreezeDirectory(directory)])
    assert refused.value.stored == kept
    assert engine.store.get_freeze_list("acme") == kept


def test_a_freeze_is_written_whole_or_not_at_all(engine: Engine) -> None:
    seen = engine.store.get_freeze_list("acme"), engine.store.get_freeze_directory()
    frozen(engine, WHOLE, tenant="other")
    kept, directory = with_freeze(*seen, WHOLE, now=NOON, change_id="late")
    with pytest.raises(Refused):
        engine.store.commit([PutFreezeList(kept), PutFreezeDirectory(directory), CreateTimer(waiting())])
    assert engine.store.get_freeze_list("acme") == FreezeList("acme")
    assert engine.store.get_timer(waiting().tenant, waiting().schedule_id) is None


def test_a_freeze_whose_reply_was_lost_is_recognised(engine: Engine) -> None:
    kept, directory = with_freeze(FreezeList("acme"), FreezeDirectory(), WHOLE, now=NOON, change_id="c1")
    writes = [PutFreezeList(kept), PutFreezeDirectory(directory)]
    engine.store.commit(writes)
    engine.store.commit(writes)
    assert engine.store.get_freeze_list("acme").rev == 1

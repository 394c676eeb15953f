"""The freeze watch: a process goes by what it has read for a second and no longer, whatever its clock or store does."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.freeze import HELD, OBEYED_AFTER, Freeze, TenantScope
from cronfleet.domain.instant import SECOND
from cronfleet.domain.lease import MAX_SKEW
from cronfleet.domain.noticeboard import Notices
from cronfleet.domain.role import Role
from cronfleet.domain.run import RunStatus
from cronfleet.ports.job_store import Damaged, NoAnswer
from cronfleet.services import freeze_watch
from cronfleet.services.asking import MAX_ASKS
from cronfleet.services.freeze_watch import FreezeWatch
from cronfleet.services.freezing import Freezing, WholeTenant, WholeTier
from tests.support.builders import TENANT, message
from tests.support.lived import ACME
from tests.support.settable_clock import NOON, CountingIds, SettableClock
from tests.support.workshop import TWO, Workshop
from tests.support.world import Notes


class Here:
    """A store that counts what is read of freezes, somebody who freezes, and two watches."""

    def __init__(self) -> None:
        self.clock = SettableClock(NOON)
        self.store = MemoryJobStore(self.clock)
        self.notes = Notes()
        self.freezing = Freezing(store=self.store, clock=self.clock, ids=CountingIds())
        self.strong = FreezeWatch(self.store, self.clock, self.notes, consistent=True)
        self.cheap = FreezeWatch(self.store, self.clock, self.notes, consistent=False)

    def freeze(self) -> str:
        return str(self.freezing.freeze(ACME, WholeTenant(), reason="the ledger moves").form["id"])

    def known(self, watch: FreezeWatch) -> tuple[Freeze, ...]:
        return watch.freezes([TENANT]).by_tenant.get(TENANT, ())


@pytest.fixture
def here() -> Here:
    return Here()


@pytest.mark.parametrize("which", ["strong", "cheap"])
def test_whoever_has_just_looked_knows_of_a_freeze_when_its_call_returns(here: Here, which: str) -> None:
    watch = getattr(here, which)
    assert here.known(watch) == ()
    here.freeze()
    assert [one.scope for one in here.known(watch)] == [TenantScope(TENANT)]


def test_what_was_read_is_held_for_a_second(here: Here) -> None:
    here.known(here.strong)
    here.store.state.freeze_directory = replace(here.store.get_freeze_directory(), rev=9)
    here.clock.advance(HELD - 1)
    assert here.strong.directory().rev == 0
    here.clock.advance(1)
    assert here.strong.directory().rev == 9


def test_the_call_returns_only_when_no_process_can_go_by_older_news() -> None:
    assert OBEYED_AFTER >= HELD + SECOND


def test_a_clock_that_was_set_back_makes_nothing_young_again(here: Here) -> None:
    here.known(here.strong)
    here.store.state.freeze_directory = replace(here.store.get_freeze_directory(), rev=9)
    here.clock.be_set(-10 * SECOND)
    assert here.strong.directory().rev == 9


def test_a_list_that_cannot_be_read_stops_nobody_and_calls_a_person(here: Here, monkeypatch: Any) -> None:
    freeze_id = here.freeze()
    assert [one.freeze_id for one in here.known(here.strong)] == [freeze_id]

    def broken(*_: Any, **__: Any) -> Any:
        raise Damaged("FREEZES", "x", "spoilt")

    monkeypatch.setattr(here.store, "get_freeze_list", broken)
    monkeypatch.setattr(here.store, "get_notices", lambda **_: Notices(None, unreadable=("spoilt",)))
    here.clock.advance(HELD)
    assert [one.freeze_id for one in here.known(here.strong)] == [freeze_id], "it goes by what it knew"
    assert {name for name, _ in here.notes.alarms} == {"freezes_damaged", "notices_damaged"}


def test_a_silent_store_is_no_answer_and_not_nothing_frozen(here: Here, monkeypatch: Any) -> None:
    asked = []

    def silent(**_: Any) -> Any:
        asked.append(1)
        raise NoAnswer("silence")

    monkeypatch.setattr(here.store, "get_notices", silent)
    with pytest.raises(NoAnswer):
        here.strong.freezes([TENANT])
    assert len(asked) == MAX_ASKS


def test_a_process_remembers_only_so_many_tenants(here: Here, monkeypatch: Any) -> None:
    monkeypatch.setattr(freeze_watch, "MAX_LISTS", 1)
    here.freeze()
    assert here.known(here.strong)
    monkeypatch.setattr("cronfleet.domain.freeze.FreezeDirectory.may_hold", lambda *_: True)
    here.strong.freezes(["other"])
    assert len(here.strong._lists) == 1


def test_a_warm_worker_that_has_just_looked_starts_nothing_after_a_freeze_returned() -> None:
    world = Workshop()
    freezing = Freezing(store=world.store, clock=world.clock, ids=world.ids)
    world.deliver()
    assert world.stored.status is RunStatus.SUCCEEDED
    freezing.freeze(ACME, WholeTenant(), reason="the ledger moves")
    later = message(TWO + SECOND)
    world.deliver(later)
    row = world.row(later.key)
    assert row is not None
    assert row.status is RunStatus.FROZEN
    assert len(world.targets.made) == 1


def test_a_worker_whose_clock_is_behind_that_of_whoever_froze_obeys_all_the_same() -> None:
    world = Workshop()
    world.clock.advance(MAX_SKEW)
    Freezing(store=world.store, clock=world.clock, ids=world.ids).freeze(ACME, WholeTenant(), reason="the ledger moves")
    world.clock.set(TWO)
    world.deliver()
    assert world.stored.status is RunStatus.FROZEN


def test_the_tier_that_counts_is_the_one_that_the_run_was_sent_by() -> None:
    world = Workshop()
    freezing = Freezing(store=world.store, clock=world.clock, ids=world.ids)
    freezing.freeze(replace(ACME, role=Role.PLATFORM_ADMIN), WholeTier("priority"), reason="maintenance")
    moved = replace(world.message, tier="priority")
    world.deliver(moved)
    assert world.stored.status is RunStatus.FROZEN

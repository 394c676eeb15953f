"""The letter watch: a tenant is told once of dead letters that are about to go, and once when there are none."""

import contextlib
from dataclasses import replace
from typing import Any

from cronfleet.domain.dead_letter import settled
from cronfleet.domain.incident import PLATFORM, IncidentKind, IncidentStatus
from cronfleet.domain.instant import DAY, HOUR, MINUTE, Instant
from cronfleet.domain.run import Run, RunKey, RunStatus
from cronfleet.domain.settlement import How
from cronfleet.domain.tenant import Tenant, TenantStatus
from cronfleet.services.letter_watch import KIND, MAX_PAGES, TENANTS_PAGE, LetterWatch
from cronfleet.services.sweeper import Sweeper
from tests.support.builders import at
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.watch_room import CHANNEL, WatchRoom

NOW = at("2026-12-01 02:00")


class Room(WatchRoom):
    def __init__(self, *tenants: str) -> None:
        super().__init__(NOW, CHANNEL, replace(CHANNEL, tenant="other"))
        for one in tenants or ("acme", "other"):
            self.tenant(Tenant(one))

    def tenant(self, tenant: Tenant) -> None:
        self.store.state.tenants[tenant.tenant_id] = tenant

    def letter(self, died_at: Instant, schedule_id: str = "nightly", tenant: str = "acme") -> Run:
        key = RunKey(tenant, schedule_id, 1, died_at - MINUTE)
        row = Run(key, RunStatus.DEAD, died_at, "standard", version=1, finished_at=died_at)
        assert self.store.insert_run(row) is None
        return row

    def look_at_letters(self, store: Any = None) -> int:
        store = store or self.store
        watch = LetterWatch(store=store, incidents=self.incidents(store), clock=self.clock, telemetry=self.notes)
        return watch.look(self.clock.now() + MINUTE)

    def hours_pass(self, hours: int) -> None:
        for _ in range(hours):
            self.clock.advance(HOUR)
            self.look_at_letters()


def test_letters_that_are_about_to_go_are_told_once_with_how_many_and_of_which_schedules() -> None:
    room = Room()
    for hours in range(5):
        room.letter(NOW - 20 * DAY + hours * HOUR, ("nightly", "weekly")[hours % 2])
    room.look_at_letters()
    assert room.all_incidents() == []
    room.hours_pass(7 * 24 + 6)
    (told,) = room.all_incidents()
    assert (told.kind, told.status, told.subject) == (KIND, IncidentStatus.OPEN, "dead_letters")
    assert told.opened_at == NOW + 7 * DAY, "three days before the first of them goes"
    assert told.broken.schedules == ("nightly",)
    assert told.broken.detail == {"letters": 1, "first_expires_at": "2026-12-11T02:00:00Z"}
    assert "the first at 2026-12-11T02:00:00Z" in told.broken.text
    room.tell()
    assert room.courier.titles == ["[BROKEN] dead letters: some are removed before long"]
    assert room.all_incidents("other") == []


def test_it_heals_when_none_is_about_to_go_any_more_and_later_ones_are_told_anew() -> None:
    room = Room()
    first, second = room.letter(NOW - 28 * DAY), room.letter(NOW - 26 * DAY)
    room.look_at_letters()
    room.store.replace_run(settled(first, How.DISCARDED, "key-1", NOW))
    room.hours_pass(1)
    assert [one.status for one in room.all_incidents()] == [IncidentStatus.HEALED]
    room.hours_pass(24)
    assert [one.status for one in room.all_incidents()] == [IncidentStatus.HEALED, IncidentStatus.OPEN]
    room.store.replace_run(settled(second, How.DISCARDED, "key-1", NOW))
    room.hours_pass(1)
    assert {one.status for one in room.all_incidents()} == {IncidentStatus.HEALED}


def test_what_has_gone_unsettled_ends_it_too() -> None:
    room = Room()
    room.letter(NOW - 28 * DAY)
    room.look_at_letters()
    room.hours_pass(3 * 24)
    assert [one.status for one in room.all_incidents()] == [IncidentStatus.HEALED]


def test_a_look_an_hour_is_enough_and_a_tenant_that_is_gone_is_told_nothing() -> None:
    room = Room()
    room.tenant(Tenant("gone", status=TenantStatus.DELETED))
    room.letter(NOW - 28 * DAY, tenant="gone")
    assert room.look_at_letters() == 3
    room.clock.advance(MINUTE)
    assert room.look_at_letters() == 0
    room.clock.advance(HOUR)
    assert room.look_at_letters() == 3
    assert room.all_incidents("gone") == []


def test_of_many_tenants_a_sweep_looks_at_some_and_the_next_goes_on_after_them() -> None:
    many = TENANTS_PAGE * MAX_PAGES + 7
    room = Room(*(f"t{number:04}" for number in range(many)))
    room.letter(NOW - 28 * DAY, tenant=f"t{many - 1:04}")
    assert [room.look_at_letters() for _ in range(3)] == [many - 7, 7, 0]
    assert len(room.all_incidents(f"t{many - 1:04}")) == 1


def test_whoever_looks_may_die_around_any_call_and_each_tenant_is_told_once() -> None:
    for moment in range(60):
        room = Room()
        room.letter(NOW - 28 * DAY)
        room.letter(NOW - 28 * DAY, tenant="other")
        with contextlib.suppress(Crash):
            room.look_at_letters(Faulty(room.store, FaultAt(moment, Crash)))
        room.look_at_letters()
        assert [len(room.all_incidents(one)) for one in ("acme", "other")] == [1, 1]
        assert len(room.errands()) == 2


def test_the_sweeper_looks_and_the_place_is_no_incident_of_the_installation() -> None:
    room = Room()
    room.letter(NOW - 28 * DAY)
    watch = LetterWatch(store=room.store, incidents=room.incidents(), clock=room.clock, telemetry=room.notes)
    sweeper = Sweeper(
        store=room.store,
        run_queue=room.run_queue,
        dispatcher=room.dispatcher(),
        side_by_side=room.side_by_side,
        clock=room.clock,
        telemetry=room.notes,
        shards=1,
        letter_watch=watch,
    )
    sweeper.sweep(room.clock.now() + MINUTE)
    assert len(room.open_incidents) == 1
    assert room.all_incidents(PLATFORM) == []
    assert room.incidents().find_open(PLATFORM, "dead_letters/place", IncidentKind.LETTERS_EXPIRE) is None

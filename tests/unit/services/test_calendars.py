"""Calendars among the services: what cannot be read stops one schedule, silence stops nobody, and no race loses one."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.adapters.dynamodb.calendars import DynamoCalendars
from cronfleet.adapters.memory.job_store import MemoryJobStore
from cronfleet.domain.calendar import CALENDARS_KEPT, Calendar, CalendarRule, DateKind, Dates, Missing, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND
from cronfleet.domain.retiming import Cause
from cronfleet.domain.schedule import Spec, Status
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.bound import Kept
from cronfleet.ports.job_store import InsertCalendar, NoAnswer
from cronfleet.services.access import Caller
from cronfleet.services.calendar_step import CalendarStep
from cronfleet.services.calendars import Calendars
from cronfleet.services.retiming import Retimings
from cronfleet.services.schedules import Schedules
from tests.support.builders import TENANT, at, cron, timer
from tests.support.world import World

NINE = at("2026-12-01 09:00")
ACME = Caller(Tenant(TENANT), "key", "request")


def calendar(version: int = 1, *holidays: int) -> Calendar:
    dates = tuple(Dates(day, day, DateKind.HOLIDAY, "off") for day in holidays)
    return Calendar(TENANT, "uk", version, frozenset(), dates, NINE // DAY + 400)


def using(mode: Mode = Mode.EXCLUDE, version: int = 1, **rule: Any) -> Any:
    return replace(cron("0 9 * * *"), calendar=CalendarRule("uk", version, mode, **rule))


# --- what cannot be read -----------------------------------------------------------------------------------------


def test_a_version_that_cannot_be_read_parks_its_schedule_and_no_other() -> None:
    world = World(NINE + SECOND)
    world.store.commit([InsertCalendar(calendar(1))])
    world.add(timer(using(version=7), NINE, schedule_id="orphan"))
    world.add(timer(using(version=1), NINE, schedule_id="sound"))
    report = world.tick()
    assert (report.parks, report.fires) == (1, 1)
    orphan = world.timer("orphan")
    assert orphan.status is Status.PARKED
    assert orphan.parked is not None
    assert "version 7 of calendar 'uk' is not there" in orphan.parked.text
    assert [name for name, _ in world.notes.alarms] == ["schedule_parked"]
    assert world.timer("sound").nominal_at == NINE + DAY


def test_it_goes_on_when_the_version_can_be_read_again() -> None:
    world = World(NINE + SECOND)
    world.add(timer(using(version=7), NINE, schedule_id="orphan"))
    world.tick()
    world.store.commit([InsertCalendar(calendar(7))])
    schedules = Schedules(store=world.store, clock=world.clock, ids=world.ids, shards=1)
    assert schedules.resume(ACME, "orphan").form["next_fire_at"] == "2026-12-02T09:00:00Z"


def test_a_store_that_stays_silent_about_a_calendar_is_asked_again_and_parks_nothing() -> None:
    class Silent:
        def get(self, *_: Any, **__: Any) -> Any:
            raise NoAnswer("throttled")

    silent: Any = Silent()
    with pytest.raises(NoAnswer):
        DynamoCalendars(silent).get_calendar(TENANT, "uk", 1)
    with pytest.raises(NoAnswer):
        DynamoCalendars(silent)._kept.find(TENANT, "uk", 1)


def test_contents_are_read_once_and_the_longest_unused_makes_room() -> None:
    read: list[int] = []

    def store(tenant: str, name: str, version: int) -> Calendar | None:
        read.append(version)
        return calendar(version) if version else None

    kept = Kept(store)
    for _ in range(3):
        assert kept.find(TENANT, "uk", 1) == calendar(1)
        assert isinstance(kept.find(TENANT, "uk", 0), Missing)
    assert read == [1, 0, 0, 0]
    for version in range(2, CALENDARS_KEPT + 2):
        kept.find(TENANT, "uk", version)
    kept.find(TENANT, "uk", 1)
    assert read.count(1) == 2


# --- races and changes -------------------------------------------------------------------------------------------


class Interrupted(MemoryJobStore):
    """Somebody else is faster, once, right before a commit."""

    def __init__(self, clock: Any) -> None:
        super().__init__(clock)
        self.first: Any = None

    def commit(self, writes: Any) -> None:
        action, self.first = self.first, None
        if action is not None:
            action()
        super().commit(writes)


def content(*holidays: str) -> Any:
    return lambda _now: parse_content({"holidays": list(holidays), "weekend": [], "covers_until": "2027-12-31"})


@pytest.fixture
def world() -> World:
    made = World(NINE - DAY)
    made.store = Interrupted(made.clock)
    return made


def services(world: World) -> tuple[Calendars, Schedules]:
    common: dict[str, Any] = {"store": world.store, "clock": world.clock, "ids": world.ids}
    return Calendars(**common), Schedules(**common, shards=1)


def spec(**rule: Any) -> Any:
    made = Spec(using(**{"version": 0, **rule}), HandlerTarget("billing.nightly"))
    return lambda _current, _now: made


def retime(world: World) -> Any:
    step = {Cause.CALENDAR: CalendarStep(world.store)}
    jobs = Retimings(store=world.store, clock=world.clock, ids=world.ids, telemetry=world.notes, steps=step)
    return jobs.advance(world.clock.now() + MINUTE)


def test_a_schedule_is_never_stored_under_a_version_that_has_just_been_replaced(world: World) -> None:
    calendars, schedules = services(world)
    calendars.put(ACME, "uk", content("2026-12-25"))
    store: Any = world.store
    store.first = lambda: calendars.put(ACME, "uk", content("2026-12-01"))
    made = schedules.create(ACME, "nightly", spec())
    assert made.form["trigger"]["calendar"]["version"] == 2
    assert made.form["next_fire_at"] == "2026-12-02T09:00:00Z"


def test_what_was_due_before_the_new_version_came_still_runs_and_what_it_takes_away_does_not(world: World) -> None:
    calendars, schedules = services(world)
    calendars.put(ACME, "uk", content("2026-12-25"))
    schedules.create(ACME, "nightly", spec())
    world.clock.set(NINE + MINUTE)  # due, and no dispatcher has come by
    calendars.put(ACME, "uk", content("2026-12-01", "2026-12-02"))
    assert retime(world).tally.changed == 1
    assert world.timer().nominal_at == NINE + 2 * DAY
    assert world.tick().fires == 1
    assert [key.nominal_at for key in world.sent_keys] == [NINE]


def test_a_freeze_over_all_that_is_left_completes_the_schedule(world: World) -> None:
    calendars, schedules = services(world)
    calendars.put(ACME, "uk", content())
    made = Spec(using(version=0), HandlerTarget("billing.nightly"), end_at=NINE + 3 * DAY)
    schedules.create(ACME, "nightly", lambda _current, _now: made)
    frozen = content("2026-12-01", "2026-12-02", "2026-12-03", "2026-12-04")
    calendars.put(ACME, "uk", frozen)
    assert retime(world).tally.changed == 1
    assert world.timer().status is Status.COMPLETED


def test_a_schedule_that_a_mistaken_freeze_has_completed_goes_on_once_the_calendar_is_mended(world: World) -> None:
    calendars, schedules = services(world)
    calendars.put(ACME, "uk", content())
    schedules.create(ACME, "nightly", spec())
    ended = Spec(using(version=0), HandlerTarget("billing.nightly"), end_at=NINE)
    schedules.create(ACME, "ended", lambda _current, _now: ended)
    everything = {"freezes": [{"from": "2026-01-01", "to": "2199-12-31"}]}
    calendars.put(ACME, "uk", lambda _now: parse_content(everything))
    assert retime(world).tally.changed == 2
    assert {world.timer(one).status for one in ("nightly", "ended")} == {Status.COMPLETED}
    world.clock.set(NINE + HOUR)
    shown = calendars.put(ACME, "uk", content("2026-12-02")).form["changes"]["schedules"]
    assert "nightly" in {one["schedule_id"] for one in shown}
    assert retime(world).tally.changed == 1
    mended = world.timer()
    assert (mended.status, mended.nominal_at, mended.version) == (Status.ACTIVE, NINE + 2 * DAY, 3)
    assert (world.timer("ended").status, world.timer("ended").version) == (Status.COMPLETED, 2)


def test_two_versions_in_a_row_end_with_the_newest_one(world: World) -> None:
    calendars, schedules = services(world)
    calendars.put(ACME, "uk", content())
    schedules.create(ACME, "nightly", spec())
    calendars.put(ACME, "uk", content("2026-12-01"))
    calendars.put(ACME, "uk", content("2026-12-02"))
    retime(world)
    rule = world.timer().trigger.calendar  # type: ignore[union-attr]  # it is a cron
    assert rule is not None
    assert rule.version == 3
    assert world.timer().nominal_at == NINE

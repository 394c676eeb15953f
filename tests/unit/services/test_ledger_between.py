"""A range of the ledger passes over times that nothing named: asked for one of them, `explain` says why, and not why
the fires before and after it did not run.
"""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.instant import DAY, HOUR, MINUTE
from cronfleet.domain.misfire import Misfire, MisfirePolicy
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.schedule import Hold, Pause, Status
from cronfleet.domain.trigger import CronTrigger
from cronfleet.ports.job_store import UpdateTimer
from cronfleet.services.calendars import Calendars
from tests.support.builders import at
from tests.support.lived import ACME, ID, LivedWorld, spec

MONDAY = at("2026-11-30 12:00")
WEDNESDAY = at("2026-12-02 09:00")
FRIDAY = at("2026-12-04 12:00")


@pytest.fixture
def world() -> LivedWorld:
    """A daily schedule, not on Wednesday, which is a holiday; of missed fires it wants none."""
    made = LivedWorld(MONDAY)
    calendars = Calendars(store=made.store, clock=made.clock, ids=made.ids)
    calendars.put(ACME, "uk", lambda _: parse_content({"holidays": [{"date": "2026-12-02", "label": "Feast"}]}))
    daily = CronTrigger("0 9 * * *", "UTC", calendar=CalendarRule("uk", 0, Mode.EXCLUDE))
    made.put(replace(spec(60, misfire=Misfire(MisfirePolicy.SKIP)), trigger=daily))
    return made


def missed(world: LivedWorld) -> None:
    world.outage((FRIDAY - MONDAY) // 1_000)
    world.live(60)


def paused(world: LivedWorld) -> None:
    world.schedules.pause(ACME, ID, reason="lunch", until=None)
    world.clock.set(FRIDAY)
    world.schedules.resume(ACME, ID)


def deleted(world: LivedWorld) -> None:
    world.clock.set(FRIDAY)
    world.schedules.delete(ACME, ID, reason="over")


@pytest.mark.parametrize(("story", "code"), [(missed, Code.MISSED), (paused, Code.PAUSED), (deleted, Code.CANCELLED)])
def test_a_day_that_the_calendar_took_away_has_the_calendar_for_its_reason(
    world: LivedWorld, story: Any, code: Code
) -> None:
    story(world)
    (entry, *_) = world.entries(MONDAY, FRIDAY)
    assert (entry["code"], entry["count"]) == (code, 3)
    for day in (-1, 1, 2):
        fire = world.explain(WEDNESDAY + day * DAY)
        assert (fire["code"], fire["is_named"], fire["count"]) == (code, True, 3)
    holiday = world.explain(WEDNESDAY)
    assert (holiday["code"], holiday["is_named"], holiday["run"]) == (Code.CALENDAR, False, None)
    assert "Feast" in holiday["text"]
    for other in (WEDNESDAY + HOUR, WEDNESDAY + DAY + MINUTE):
        nothing = world.explain(other)
        assert (nothing["code"], nothing["is_named"]) == (Code.NOT_NAMED, False)


@pytest.mark.parametrize("status", [Status.HELD, Status.PAUSED, Status.PARKED, Status.ACTIVE])
def test_the_ledger_of_a_schedule_whose_zone_has_gone_is_read_all_the_same(world: LivedWorld, status: Status) -> None:
    """What it named cannot be told any more; what became of it, and why nothing runs, can."""
    stored = world.timer()
    gone = {
        "status": status,
        "hold": Hold("ada", MONDAY) if status is Status.HELD else None,
        "pause": Pause("ada", MONDAY) if status is Status.PAUSED else None,
        "parked": Reason(Code.UNREADABLE, "its zone has gone") if status is Status.PARKED else None,
    }
    trigger = CronTrigger("0 9 * * *", "Mars/Olympus")
    world.store.commit([UpdateTimer(replace(stored, trigger=trigger, due_at=None, rev=stored.rev + 1, **gone), stored)])
    waited = at("2026-12-01 09:00")
    world.clock.set(waited - HOUR)
    (entry,) = world.entries(MONDAY, FRIDAY)
    assert (entry["at"], entry["code"]) == ("2026-12-01T09:00:00Z", world.explain(waited)["code"])

"""What every job store promises about calendars: versions that never change, and triggers that come with theirs."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.calendar import Calendar, CalendarHead, CalendarRule, DateKind, Dates, Missing, Mode, Unbound
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.claim import BatchId, ClaimOutcome
from cronfleet.domain.errors import Conflict, Invalid
from cronfleet.domain.instant import DAY, HOUR
from cronfleet.domain.retiming import Cause
from cronfleet.domain.schedule import Spec, Status, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger
from cronfleet.ports.job_store import (
    CheckCalendar,
    CreateTimer,
    InsertAudit,
    InsertCalendar,
    InsertDefinition,
    Listed,
    PutCalendarHead,
    Refused,
    UpdateTimer,
)
from cronfleet.services.access import Caller
from cronfleet.services.calendar_step import CalendarStep
from cronfleet.services.calendars import Calendars
from cronfleet.services.retiming import Retimings
from cronfleet.services.schedules import Schedules
from tests.support.builders import cron, definition
from tests.support.examples import TENANT, audit, changed, claim_of, waiting
from tests.support.settable_clock import NOON, CountingIds
from tests.support.stores import Engine
from tests.support.world import Notes

TODAY = NOON // DAY
CHRISTMAS = Dates(TODAY + 1, TODAY + 1, DateKind.HOLIDAY, "Weihnachten – 🎄")
FREEZE = Dates(TODAY + 3, TODAY + 4, DateKind.FREEZE, "")


def calendar(version: int = 1, name: str = "uk", **changes: Any) -> Calendar:
    made = Calendar(
        TENANT, name, version, frozenset({5, 6}), (CHRISTMAS, FREEZE), TODAY + 400, "UK", "key", NOON, "why"
    )
    return replace(made, **changes)


def head(version: int = 1, name: str = "uk", **changes: Any) -> CalendarHead:
    return replace(CalendarHead(TENANT, name, version, TODAY + 400, "UK", NOON, f"change {version}"), **changes)


def put(store: Any, version: int = 1, name: str = "uk") -> None:
    before = store.get_calendar_head(TENANT, name)
    store.commit([PutCalendarHead(head(version, name), before), InsertCalendar(calendar(version, name))])


def using(schedule_id: str = "nightly", name: str = "uk", **rule: Any) -> Timer:
    trigger = replace(cron("0 13 * * *"), calendar=CalendarRule(name, **{"version": 1, "mode": Mode.EXCLUDE, **rule}))
    return replace(waiting(schedule_id, NOON + HOUR), trigger=trigger)


def trigger_of(timer: Timer) -> CronTrigger:
    assert isinstance(timer.trigger, CronTrigger)
    return timer.trigger


def test_a_calendar_is_read_back_as_it_was_written(store: Any) -> None:
    assert store.get_calendar_head(TENANT, "uk") is None
    assert store.get_calendar(TENANT, "uk", 1) is None
    put(store)
    assert store.get_calendar_head(TENANT, "uk") == head()
    assert store.get_calendar(TENANT, "uk", 1) == calendar()
    assert store.get_calendar("globex", "uk", 1) is None


def test_a_version_is_put_once_and_follows_the_one_that_was_seen(store: Any) -> None:
    put(store)
    seen = store.get_calendar_head(TENANT, "uk")
    put(store, 2)
    with pytest.raises(Refused) as refused:
        store.commit(
            [PutCalendarHead(head(2, change_id="late"), seen), InsertCalendar(calendar(2, description="late"))]
        )
    assert refused.value.stored == head(2)
    with pytest.raises(Refused):
        store.commit([InsertCalendar(calendar(1, description="other"))])
    with pytest.raises(Refused):
        store.commit([PutCalendarHead(head(1, change_id="anew"), None)])
    assert store.get_calendar(TENANT, "uk", 1) == calendar()


def test_a_put_whose_reply_was_lost_is_recognised(store: Any) -> None:
    put(store)
    store.commit([PutCalendarHead(head(), None), InsertCalendar(calendar())])
    assert store.get_calendar_head(TENANT, "uk") == head()


def test_calendars_are_listed_by_name_without_deleted_ones(store: Any) -> None:
    for name in ("uk", "de", "fr"):
        put(store, name=name)
    store.commit([PutCalendarHead(head(name="fr", is_deleted=True, change_id="gone"), head(name="fr"))])
    found, cursor = [], None
    for _ in range(4):
        page = store.list_calendars(TENANT, cursor=cursor, limit=1)
        found += [one.name for one in page.items]
        cursor = page.cursor
        if cursor is None:
            break
    assert found == ["de", "uk"]
    assert store.get_calendar_head(TENANT, "fr").is_deleted
    with pytest.raises(Invalid):
        store.list_calendars(TENANT, cursor="nonsense", limit=5)


@pytest.mark.parametrize("rule", [{}, {"mode": Mode.NTH_BUSINESS_DAY, "nth": -3}, {"pinned": True}, {"version": 12}])
def test_a_trigger_is_kept_with_its_rule_and_comes_back_with_its_calendar(store: Any, rule: Any) -> None:
    timer = using(**rule)
    version = rule.get("version", 1)
    store.commit([InsertCalendar(calendar(version)), CreateTimer(timer), InsertDefinition(definition(timer.trigger))])
    read = store.get_timer(TENANT, "nightly")
    assert read == timer
    defined = store.get_definition(TENANT, "nightly", 1).spec.trigger
    [(listed, with_it)] = store.get_schedules(TENANT, [Listed("nightly", Status.ACTIVE, 1)])
    [waits] = store.due(0, NOON + DAY, None, 10).items
    for trigger in (read.trigger, defined, listed.trigger, with_it.spec.trigger, waits.trigger):
        assert trigger == timer.trigger
        assert trigger.calendar.days == calendar(version)
    assert read.trigger.next_after(NOON) is not None


def test_a_calendar_that_is_not_there_is_the_trouble_of_its_schedule_alone(store: Any) -> None:
    store.commit([CreateTimer(using("orphan", version=7)), CreateTimer(waiting("sound"))])
    items = {item.schedule_id: item for item in store.due(0, NOON + DAY, None, 10).items}
    assert set(items) == {"orphan", "sound"}
    orphan = trigger_of(store.get_timer(TENANT, "orphan"))
    assert orphan.calendar is not None
    assert isinstance(orphan.calendar.days, Missing)
    with pytest.raises(Invalid, match="version 7 of calendar 'uk'"):
        items["orphan"].trigger.next_after(NOON)
    store.commit([InsertCalendar(calendar(7))])
    assert trigger_of(store.get_timer(TENANT, "orphan")).next_after(NOON) is not None


def test_the_content_is_not_kept_with_the_trigger(store: Any) -> None:
    bound = using()
    rule = replace(trigger_of(bound).calendar, days=calendar(1, description="not the stored one"))  # type: ignore[type-var]  # it has one
    store.commit(
        [InsertCalendar(calendar()), CreateTimer(replace(bound, trigger=replace(bound.trigger, calendar=rule)))]
    )
    assert trigger_of(store.get_timer(TENANT, "nightly")).calendar.days == calendar()  # type: ignore[union-attr]  # as above
    with pytest.raises(Unbound):
        bound.trigger.next_after(NOON)


def test_a_check_holds_while_the_version_is_the_newest_and_not_deleted(store: Any) -> None:
    put(store)
    store.commit([InsertAudit(audit("1")), CheckCalendar(TENANT, "uk", 1)])
    put(store, 2)
    with pytest.raises(Refused) as refused:
        store.commit([InsertAudit(audit("2")), CheckCalendar(TENANT, "uk", 1)])
    assert (refused.value.position, refused.value.stored) == (1, head(2))
    store.commit([PutCalendarHead(head(2, is_deleted=True, change_id="gone"), head(2))])
    for version, name in ((2, "uk"), (1, "de")):
        with pytest.raises(Refused):
            store.commit([InsertAudit(audit("3")), CheckCalendar(TENANT, name, version)])


def test_who_uses_a_calendar_is_listed_page_by_page_until_it_no_longer_does(store: Any) -> None:
    timers = [
        using("a"),
        using("b", pinned=True),
        using("c"),
        using("other", "de"),
        replace(using("d"), tenant="globex"),
    ]
    store.commit([CreateTimer(timer) for timer in timers] + [CreateTimer(waiting("plain"))])

    def users() -> list[str]:
        found, cursor = [], None
        for _ in range(9):
            page = store.list_following(TENANT, "uk", cursor=cursor, limit=2)
            found += [one.schedule_id for one in page.items]
            cursor = page.cursor
            if cursor is None:
                return sorted(found)
        raise AssertionError("the pages never end")

    assert users() == ["a", "b", "c"]
    deleted = changed(timers[0], "1", status=Status.CANCELLED, nominal_at=None, due_at=None)
    freed = changed(timers[2], "2", trigger=cron("0 13 * * *"))
    store.commit([UpdateTimer(deleted, timers[0]), UpdateTimer(freed, timers[2])])
    assert users() == ["b"]


def test_a_claim_leaves_the_rule_as_it_is(engine: Engine) -> None:
    store = engine.store
    timer = using()
    store.commit([InsertCalendar(calendar()), CreateTimer(timer)])
    assert store.claim(BatchId(0, 1, 1), [claim_of(timer)]) == [ClaimOutcome.WON]
    assert trigger_of(store.get_timer(TENANT, "nightly")).calendar == trigger_of(timer).calendar
    assert [one.schedule_id for one in store.list_following(TENANT, "uk", cursor=None, limit=5).items] == ["nightly"]


def test_a_new_version_comes_to_its_followers_on_every_store(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The services above: the transactions that they make are ones that every store can carry out."""
    store, ids = engine.store, CountingIds()
    monkeypatch.setattr(type(store), "skew_ms", lambda _: 0)  # the engines' own clocks are not at noon
    caller = Caller(Tenant(TENANT), "key", "request")
    calendars = Calendars(store=store, clock=engine.clock, ids=ids)
    schedules = Schedules(store=store, clock=engine.clock, ids=ids, shards=1)
    holidays = iter(([], ["2026-12-01"]))

    def put() -> Any:
        content = parse_content({"holidays": next(holidays), "covers_until": "2027-12-31"})
        return calendars.put(caller, "uk", lambda _now: content).form

    def register(name: str, **rule: Any) -> str:
        trigger = replace(cron("0 9 * * *"), calendar=CalendarRule("uk", 0, Mode.EXCLUDE, **rule))
        spec = Spec(trigger, HandlerTarget("billing.nightly"))
        return str(schedules.create(caller, name, lambda _current, _now: spec).form["next_fire_at"])

    put()
    assert register("follows") == register("pinned", pinned=True) == "2026-12-01T09:00:00Z"
    changed_dates = put()["changes"]["schedules"]
    assert [(one["schedule_id"], one["removed"]) for one in changed_dates] == [("follows", ["2026-12-01"])]
    steps = {Cause.CALENDAR: CalendarStep(store)}
    jobs = Retimings(store=store, clock=engine.clock, ids=ids, telemetry=Notes(), steps=steps)
    assert jobs.advance(engine.clock.now() + HOUR).tally.changed == 1
    assert schedules.get(caller, "follows").form["next_fire_at"] == "2026-12-02T09:00:00Z"
    assert schedules.get(caller, "pinned").form["next_fire_at"] == "2026-12-01T09:00:00Z"
    with pytest.raises(Conflict, match="follows"):
        calendars.delete(caller, "uk")
    for name in ("follows", "pinned"):
        schedules.delete(caller, name)
    calendars.delete(caller, "uk")
    with pytest.raises(Invalid, match="no calendar 'uk'"):
        register("late")


def test_timers_that_are_read_together_come_with_their_calendars_too(store: Any) -> None:
    """A job after new zone data reads them so, and asks each what it names."""
    put(store)
    store.commit([CreateTimer(using("sound")), CreateTimer(using("orphan", version=7)), CreateTimer(waiting("plain"))])
    found = store.get_timers([(TENANT, name) for name in ("sound", "orphan", "plain")])
    sound, orphan = (trigger_of(found[TENANT, name]).calendar for name in ("sound", "orphan"))
    assert sound is not None
    assert sound.content == calendar()
    assert orphan is not None
    assert isinstance(orphan.days, Missing)
    assert found[TENANT, "plain"] == waiting("plain")

"""An upgrade of the zone data, from the first sweep that notices it to the last schedule, whatever comes in between."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cronfleet.domain import zones
from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.calendar_form import parse_content
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, Instant
from cronfleet.domain.lease import slot_of
from cronfleet.domain.retiming import Cause, Retiming
from cronfleet.domain.run import Run, RunStatus
from cronfleet.domain.schedule import Spec, Status, Timer
from cronfleet.domain.target import HandlerTarget
from cronfleet.domain.tenant import Tenant
from cronfleet.domain.trigger import CronTrigger, OneShotTrigger, parse_trigger
from cronfleet.domain.zone_release import SETTLES_AFTER, ZoneRelease
from cronfleet.domain.zones import ZoneSource
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.queues import Tick
from cronfleet.services import retiming as retimings
from cronfleet.services.access import Caller
from cronfleet.services.calendars import Calendars
from cronfleet.services.ledger import Ledger
from cronfleet.services.retiming import Retimings
from cronfleet.services.schedules import Schedules
from cronfleet.services.sweeper import Sweeper
from cronfleet.services.zone_step import ZoneStep
from tests.support.actors import Actor
from tests.support.builders import at
from tests.support.faults import Crash, FaultAt, FaultyStore
from tests.support.world import World
from tests.support.zone_sources import release

PLACE = "Test/Place"
CHANGE = at("2026-12-01 00:00") // SECOND
NOW = at("2026-12-01 10:00")
OLD_FIRE, NEW_FIRE = at("2026-12-01 21:30"), at("2026-12-01 20:30")
CALLER = Caller(Tenant("acme"), "ada", "request")
RIVAL = Caller(Tenant("rival"), "eve", "request")

TRIGGERS: dict[str, dict[str, object]] = {
    "nightly": {"cron": "30 2 * * *", "timezone": PLACE},
    "once": {"at": "2026-12-02T02:30:00", "timezone": PLACE},
    "paused": {"cron": "30 2 * * *", "timezone": PLACE},
    "held": {"cron": "30 2 * * *", "timezone": PLACE},
    "wildcard": {"cron": "0 * * * *", "timezone": PLACE},
    "utc": {"cron": "30 2 * * *", "timezone": "UTC"},
    "interval": {"every": "1h"},
}
CHANGED = ("nightly", "once", "paused", "held")


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> tuple[ZoneSource, ZoneSource]:
    folder = tmp_path_factory.mktemp("zones")
    old = release(folder, "2026e", {PLACE: [(0, 5 * 3600)]})
    return old, release(folder, "2026f", {PLACE: [(0, 5 * 3600), (CHANGE, 6 * 3600)]})


def schedules(world: World) -> Schedules:
    return Schedules(store=world.store, clock=world.clock, ids=world.ids, shards=1)


def spec(form: dict[str, object], now: Instant) -> Spec:
    return Spec(parse_trigger(form, now), HandlerTarget("billing.nightly"))


def started(old: ZoneSource) -> World:
    """An installation that has worked with the old data for a day; its schedules are made."""
    world = World(NOW - DAY)
    with zones.working_with(old):
        sweep(world)
        world.clock.advance(SETTLES_AFTER)
        sweep(world)
        world.clock.set(NOW)
        service = schedules(world)
        for name, form in TRIGGERS.items():
            service.create(CALLER, name, lambda _, now, form=form: spec(form, now), held=name == "held")
        service.create(RIVAL, "nightly", lambda _, now: spec(TRIGGERS["nightly"], now))
        service.pause(CALLER, "paused", reason="month end")
    return world


def service_of(world: World, store: Any = None) -> Retimings:
    store = store or world.store
    return Retimings(
        store=store,
        clock=world.clock,
        ids=world.ids,
        telemetry=world.notes,
        steps={Cause.ZONE_DATA: ZoneStep(store)},
    )


def sweep(world: World, store: Any = None) -> None:
    service_of(world, store).advance(world.clock.now() + MINUTE)


def upgraded(world: World, new: ZoneSource) -> None:
    """The new release has been noticed and has settled; no schedule has been looked at."""
    with zones.working_with(new):
        sweep(world)
    world.clock.advance(SETTLES_AFTER)


def job_of(world: World, subject: str) -> Retiming:
    [job] = [one for one in world.store.finished_retimings(10) if one.subject == subject]
    return job


def timers(world: World) -> dict[str, Timer]:
    return {
        schedule_id if tenant == "acme" else tenant: timer
        for (tenant, schedule_id), timer in world.store.state.timers.items()
    }


def retimes(world: World) -> list[str]:
    entries = [entry for entry in world.store.state.audit.values() if entry.actor == "cronfleet"]
    epochs = [entry.schedule_id for entry in entries if entry.action == "retime"]
    assert set(epochs) <= {"nightly", "once"}, "what is paused or held goes on in its epoch"
    return sorted(f"{entry.tenant}/{entry.schedule_id}" for entry in entries)


ALL_CHANGED = sorted([*(f"acme/{name}" for name in CHANGED), "rival/nightly"])


def assert_retimed_once(world: World) -> None:
    assert world.store.open_retimings(10) == []
    job = job_of(world, "2026f")
    assert (job.seen, job.changed, job.failed) == (8, 5, 0)
    assert retimes(world) == ALL_CHANGED
    found = timers(world)
    assert {name: found[name].nominal_at for name in (*CHANGED, "rival")} == dict.fromkeys(
        (*CHANGED, "rival"), NEW_FIRE
    )
    assert {name for name, timer in found.items() if timer.epoch == 2} == {"nightly", "once", "rival"}
    assert found["paused"].status is Status.PAUSED
    assert found["held"].status is Status.HELD
    once = world.store.get_definition("acme", "once", 2)
    assert once is not None
    assert isinstance(once.spec.trigger, OneShotTrigger)
    assert (once.author, once.spec.trigger.at) == ("cronfleet", NEW_FIRE)


def test_an_upgrade_is_noticed_settles_and_looks_at_every_schedule_once(sources: tuple[ZoneSource, ...]) -> None:
    old, new = sources
    world = started(old)
    with zones.working_with(new):
        sweep(world)
        noticed = world.store.get_zone_release()
        assert noticed is not None
        assert (noticed.release, noticed.coming, noticed.coming_since) == ("2026e", "2026f", NOW)
        world.clock.advance(SETTLES_AFTER - 1)
        sweep(world)
        assert retimes(world) == []
        world.clock.advance(1)
        sweep(world)
        assert_retimed_once(world)
        assert world.store.get_zone_release() == ZoneRelease("2026f", NOW + SETTLES_AFTER, rev=noticed.rev + 1)
        world.clock.advance(HOUR)
        sweep(world)
    assert_retimed_once(world)


def test_the_audit_says_what_moved_where_and_why(sources: tuple[ZoneSource, ...]) -> None:
    world = started(sources[0])
    upgraded(world, sources[1])
    with zones.working_with(sources[1]):
        sweep(world)
    [entry] = [
        one
        for one in world.store.state.audit.values()
        if (one.action, one.tenant, one.schedule_id) == ("retime", "acme", "nightly")
    ]
    assert entry.before is not None
    assert entry.after is not None
    assert (entry.before["next_fire_at"], entry.before["zone_data"]) == ("2026-12-01T21:30:00Z", "2026e")
    assert (entry.after["next_fire_at"], entry.after["zone_data"]) == ("2026-12-01T20:30:00Z", "2026f")
    assert "2026e → 2026f" in entry.reason
    assert entry.request_id == job_of(world, "2026f").job_id


def test_a_release_that_is_taken_back_before_it_settled_changes_nothing(sources: tuple[ZoneSource, ...]) -> None:
    old, new = sources
    world = started(old)
    upgraded(world, new)
    with zones.working_with(old):
        sweep(world)
    noticed = world.store.get_zone_release()
    assert noticed is not None
    assert (noticed.release, noticed.coming) == ("2026e", "")
    assert retimes(world) == []


def test_a_release_that_is_taken_back_later_brings_every_time_back(sources: tuple[ZoneSource, ...]) -> None:
    old, new = sources
    world = started(old)
    for source in (new, old):
        upgraded(world, source)
        with zones.working_with(source):
            sweep(world)
    assert {timers(world)[name].nominal_at for name in CHANGED} == {OLD_FIRE}
    assert len(retimes(world)) == 2 * len(ALL_CHANGED)


def test_a_sweeper_of_the_old_deployment_works_on_no_job_of_the_new_data(sources: tuple[ZoneSource, ...]) -> None:
    old, new = sources
    world = started(old)
    upgraded(world, new)
    with zones.working_with(new):
        service_of(world).advance(world.clock.now())  # it starts the job, and has no time for a page
    with zones.working_with(old):
        sweep(world)
    assert retimes(world) == []
    with zones.working_with(new):
        sweep(world)
    assert retimes(world) == ALL_CHANGED


# --- whatever dies where --------------------------------------------------------------------------------------------


@cache
def moments(sources: tuple[ZoneSource, ZoneSource]) -> int:
    hook = FaultAt(None)
    with pytest.MonkeyPatch.context() as patch:
        run(sources, hook, patch)
    return len(hook.moments)


def run(sources: tuple[ZoneSource, ...], hook: FaultAt, patch: pytest.MonkeyPatch) -> World:
    patch.setattr(retimings, "SCHEDULES_PER_PAGE", 3)
    world = started(sources[0])
    upgraded(world, sources[1])
    with zones.working_with(sources[1]):
        with suppress(Crash, NoAnswer):
            sweep(world, FaultyStore(world.store, hook))
        world.clock.advance(MINUTE)
        sweep(world)
    return world


@pytest.mark.parametrize("fault", [Crash, lambda: NoAnswer("the reply is lost")], ids=["crash", "lost reply"])
def test_a_sweeper_that_dies_at_any_call_loses_nothing_and_does_nothing_twice(
    sources: tuple[ZoneSource, ZoneSource], fault: Callable[[], BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert moments(sources) > 60
    for step in range(moments(sources)):
        hook = FaultAt(step, fault)
        world = run(sources, hook, monkeypatch)
        try:
            assert_retimed_once(world)
        except AssertionError as error:
            raise AssertionError(f"after a fault at {hook.moments[step]}, moment {step}") from error


def test_two_sweepers_side_by_side_in_any_order_change_each_schedule_once(
    sources: tuple[ZoneSource, ZoneSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retimings, "SCHEDULES_PER_PAGE", 3)
    for lead in range(0, 40, 3):
        world = started(sources[0])
        upgraded(world, sources[1])

        def body(actor: Actor, world: World = world) -> None:
            with zones.working_with(sources[1]):
                sweep(world, actor.port(world.store))

        first, second = Actor("first", body), Actor("second", body)
        first.run(lead)
        second.finish()
        first.finish()
        world.clock.advance(MINUTE)
        with zones.working_with(sources[1]):
            sweep(world)
        assert retimes(world) == ALL_CHANGED
        assert job_of(world, "2026f").seen == 8


def test_a_caller_who_edits_in_between_has_the_last_word(sources: tuple[ZoneSource, ...]) -> None:
    world = started(sources[0])
    upgraded(world, sources[1])
    edited: list[str] = []

    class Racing(FaultyStore):
        def commit(self, writes: Any) -> None:
            if not edited:
                edited.append("once")
                form = {"cron": "30 4 * * *", "timezone": PLACE}
                schedules(world).edit(CALLER, "nightly", lambda _, now: spec(form, now))
            self._port.commit(writes)

    with zones.working_with(sources[1]):
        store: Any = Racing(world.store, lambda *_: None)
        sweep(world, store)
        sweep(world)
    nightly = timers(world)["nightly"]
    assert nightly.nominal_at == at("2026-12-01 22:30")
    assert nightly.version == 2


# --- dispatchers ------------------------------------------------------------------------------------------------------


def tick(world: World) -> Any:
    return world.dispatcher().tick(Tick(0, slot_of(world.clock.now())), world.clock.now() + MINUTE)


def sent_at(world: World) -> list[tuple[str, str, Instant]]:
    keys = [message.key for message in world.sent]
    return sorted((key.tenant, key.schedule_id, key.nominal_at) for key in keys if key.schedule_id in CHANGED)


def test_a_dispatcher_of_the_new_deployment_does_not_fire_at_the_old_time(sources: tuple[ZoneSource, ...]) -> None:
    """The clock goes back: what the old data has due now the new data has an hour later."""
    old, new = sources[1], sources[0]
    new = ZoneSource(new._folder, "2026g")
    world = started(old)
    with zones.working_with(new):
        world.clock.set(NEW_FIRE)  # by the release before
        report = tick(world)
        assert report.retimes == 3
        assert sent_at(world) == []
        world.clock.set(OLD_FIRE)
        tick(world)
    assert sent_at(world) == [("acme", "nightly", OLD_FIRE), ("acme", "once", OLD_FIRE), ("rival", "nightly", OLD_FIRE)]


def test_a_fire_whose_time_has_passed_by_the_new_data_is_sent_once_and_late(sources: tuple[ZoneSource, ...]) -> None:
    world = started(sources[0])
    world.clock.set(NEW_FIRE + 10 * MINUTE)
    with zones.working_with(sources[1]):
        sweep(world)
        world.clock.advance(SETTLES_AFTER)
        sweep(world)
        for _ in range(600):
            world.clock.advance(5 * SECOND)
            tick(world)
    assert sent_at(world) == [
        ("acme", "nightly", NEW_FIRE),
        ("acme", "once", NEW_FIRE),
        ("rival", "nightly", NEW_FIRE),
    ]


def test_the_sweeper_gives_retiming_what_time_is_left_and_survives_its_trouble(
    sources: tuple[ZoneSource, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = started(sources[0])
    upgraded(world, sources[1])

    def sweeper(store: Any) -> Sweeper:
        return world.sweeper(retimings=service_of(world, store))

    def trouble(when: str, name: str) -> None:
        if name == "list_everywhere":
            raise NoAnswer("throttled")

    with zones.working_with(sources[1]):
        report = sweeper(FaultyStore(world.store, trouble)).sweep(world.clock.now() + MINUTE)
        assert (report.shards, report.retimed) == (1, 0)
        assert [name for name, _ in world.notes.alarms] == ["retiming_stopped"]
        report = sweeper(world.store).sweep(world.clock.now() + MINUTE)
    assert (report.retiming_seen, report.retimed, report.retiming_failed) == (8, 5, 0)
    assert world.notes.counts["retiming_changed"] >= 5


def test_a_time_that_only_the_new_data_names_is_explained_by_that_and_what_ran_by_its_row(
    sources: tuple[ZoneSource, ...],
) -> None:
    """The release comes a day after the change of the clock: the fire of the night came an hour late."""
    world = started(sources[0])
    world.clock.set(OLD_FIRE)
    with zones.working_with(sources[0]):
        tick(world)
        [key] = [
            message.key
            for message in world.sent
            if (message.key.tenant, message.key.schedule_id) == ("acme", "nightly")
        ]
        world.store.insert_run(Run(key, RunStatus.SUCCEEDED, due_at=OLD_FIRE, tier="standard"))
    world.clock.advance(6 * HOUR)
    upgraded(world, sources[1])
    with zones.working_with(sources[1]):
        sweep(world)
        ledger = Ledger(store=world.store, clock=world.clock)
        now_named = ledger.explain(CALLER, "nightly", NEW_FIRE)
        ran = ledger.explain(CALLER, "nightly", OLD_FIRE)
        ahead = ledger.explain(CALLER, "nightly", NEW_FIRE + DAY)
    assert (now_named["code"], now_named["is_named"], now_named["is_decided"]) == ("zone_data", False, True)
    assert now_named["detail"]["release"] == "2026f"
    assert ran["code"] == "ran"
    assert (ahead["code"], ahead["is_named"]) == ("not_due", True)


def test_calendars_and_a_zone_that_has_left_the_package_stop_no_job(tmp_path: Path) -> None:
    """Both are met by the reading of whole pages, before any schedule is looked at by itself."""
    gone = "Test/Gone"
    old = release(tmp_path, "2026e", {PLACE: [(0, 5 * 3600)], gone: [(0, 0)]})
    new = release(tmp_path, "2026f", {PLACE: [(0, 5 * 3600), (CHANGE, 6 * 3600)]})
    world = started(old)
    with zones.working_with(old):
        calendars = Calendars(store=world.store, clock=world.clock, ids=world.ids)
        calendars.put(CALLER, "uk", lambda _: parse_content({"holidays": ["2026-12-02"]}))
        service = schedules(world)
        working = CronTrigger("30 2 * * *", PLACE, calendar=CalendarRule("uk", 0, Mode.EXCLUDE))
        service.create(CALLER, "working", lambda *_: Spec(working, HandlerTarget("billing.nightly")))
        lost = parse_trigger({"cron": "30 2 * * *", "timezone": gone}, NOW)
        service.create(CALLER, "lost", lambda *_: Spec(lost, HandlerTarget("billing.nightly")))
    upgraded(world, new)
    with zones.working_with(new):
        sweep(world)
    job = job_of(world, "2026f")
    assert (job.seen, job.changed, job.failed) == (10, 6, 1)
    assert timers(world)["working"].nominal_at == NEW_FIRE + DAY
    (alarm,) = [said for name, said in world.notes.alarms if name == "retiming_failed"]
    assert alarm["schedule_id"] == "lost"

"""Jobs that look at schedules again: page by page, once per schedule, whatever comes in between."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from cronfleet.domain.errors import Contended, Invalid
from cronfleet.domain.instant import MINUTE, SECOND, Instant
from cronfleet.domain.retiming import MAX_TRIES, Cause, Retiming, for_calendar
from cronfleet.domain.schedule import Timer
from cronfleet.ports.job_store import InsertRetiming, NoAnswer, UpdateTimer
from cronfleet.services import retiming as retimings
from cronfleet.services.retiming import Retimed, Retimings
from tests.support.builders import TENANT, every, timer
from tests.support.settable_clock import NOON
from tests.support.world import World


@dataclass
class Labelled:
    """A step that gives each schedule another owner of its last change; `trouble` may raise."""

    trouble: Callable[[Timer], None] = lambda _: None
    decided: list[str] = field(default_factory=list)

    def concerns(self, _job: Retiming, one: Timer) -> bool:
        return not one.schedule_id.startswith("other")

    def decide(self, job: Retiming, one: Timer, now: Instant) -> Retimed | None:
        self.decided.append(one.schedule_id)
        self.trouble(one)
        after = replace(one, rev=one.rev + 1, change_id=job.job_id, updated_at=now)
        return Retimed(after, {"rev": one.rev}, {"rev": after.rev}, "the calendar has a new version")


def world_with(*schedule_ids: str, tenant: str = TENANT) -> World:
    world = World(NOON)
    for schedule_id in schedule_ids:
        world.add(timer(every(60), NOON + MINUTE, schedule_id=schedule_id, tenant=tenant))
    return world


def service(world: World, step: Labelled, store: object = None) -> Retimings:
    return Retimings(
        store=store or world.store,  # type: ignore[arg-type]  # a store behind faults
        clock=world.clock,
        ids=world.ids,
        telemetry=world.notes,
        steps={Cause.CALENDAR: step},
    )


def begin(world: World) -> None:
    """What the write of a calendar's second version brings with it."""
    world.store.commit([InsertRetiming(for_calendar(TENANT, "holidays", 2, world.clock.now()))])


def advance(world: World, step: Labelled) -> retimings.RetimingReport:
    return service(world, step).advance(world.clock.now() + MINUTE)


def only_finished(world: World) -> Retiming:
    assert world.store.open_retimings(10) == []
    [job] = world.store.finished_retimings(10)
    return job


def test_a_calendars_job_changes_each_schedule_of_its_tenant_that_follows_it_and_no_other() -> None:
    world = world_with(*(f"s{number:03}" for number in range(250)), "other")
    world.add(timer(every(60), NOON + MINUTE, tenant="rival"))
    begin(world)
    step = Labelled()
    report = advance(world, step)
    assert (report.jobs, report.finished, report.tally.changed) == (1, 1, 250)
    assert sorted(step.decided) == [f"s{number:03}" for number in range(250)]
    job = only_finished(world)
    assert (job.seen, job.changed, job.failed, job.finished_at) == (251, 250, 0, NOON)
    assert {one.rev for one in world.store.state.timers.values() if one.tenant == "rival"} == {1}
    [entry] = [entry for entry in world.store.state.audit.values() if entry.schedule_id == "s007"]
    assert (entry.actor, entry.action, entry.request_id) == ("cronfleet", "edit", job.job_id), "it begins no epoch"
    assert (entry.before, entry.after) == ({"rev": 1}, {"rev": 2})


def test_time_that_is_up_leaves_the_rest_to_the_next_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retimings, "SCHEDULES_PER_PAGE", 2)
    world = world_with(*(f"s{number}" for number in range(7)))
    step = Labelled(trouble=lambda _: world.clock.advance(SECOND))
    begin(world)
    sweeps = 0
    while world.store.open_retimings(1):
        service(world, step).advance(world.clock.now() + 2 * SECOND)
        sweeps += 1
        assert sweeps < 10
    assert sweeps == 4
    assert step.decided == [f"s{number}" for number in range(7)]
    assert only_finished(world).changed == 7


def test_one_bad_schedule_is_counted_and_alarmed_and_the_others_go_on() -> None:
    def trouble(one: Timer) -> None:
        if one.schedule_id == "bad":
            raise Invalid("timezone", "has left the package")

    world = world_with("a", "bad", "c", "damaged")
    world.store.damage(world.timer("damaged"), "spoilt")
    begin(world)
    advance(world, Labelled(trouble))
    job = only_finished(world)
    assert (job.seen, job.changed, job.failed) == (4, 2, 2)
    alarms = [fields["schedule_id"] for name, fields in world.notes.alarms if name == "retiming_failed"]
    assert sorted(alarms) == ["bad", "damaged"]


def test_an_error_that_meets_every_schedule_stops_the_page_and_loses_nothing() -> None:
    def trouble(_: Timer) -> None:
        raise KeyError("a mistake of ours")

    world = world_with(*(f"s{number}" for number in range(9)))
    begin(world)
    with pytest.raises(RuntimeError):
        advance(world, Labelled(trouble))
    assert advance(world, Labelled()).tally.changed == 9
    assert only_finished(world).failed == 0


def test_a_schedule_that_cannot_be_changed_now_is_tried_again_with_the_next_sweeps() -> None:
    busy = [True]

    def trouble(one: Timer) -> None:
        if one.schedule_id == "busy" and busy[0]:
            raise Contended("due right now")

    world = world_with("a", "busy", "c")
    step = Labelled(trouble)
    begin(world)
    advance(world, step)
    [job] = world.store.open_retimings(10)
    assert (job.walked, job.seen, job.changed, job.postponed) == (True, 3, 2, ((TENANT, "busy", 1),))
    busy[0] = False
    advance(world, step)
    job = only_finished(world)
    assert (job.seen, job.changed, job.failed) == (3, 3, 0)


def test_a_schedule_that_can_never_be_changed_is_given_up_with_an_alarm() -> None:
    def trouble(_: Timer) -> None:
        raise Contended("due right now")

    world = world_with("busy")
    begin(world)
    for _ in range(MAX_TRIES):
        assert world.store.open_retimings(10)
        advance(world, Labelled(trouble))
    job = only_finished(world)
    assert (job.seen, job.changed, job.failed) == (1, 0, 1)
    assert [name for name, _ in world.notes.alarms] == ["retiming_failed"]


def test_what_somebody_changes_in_between_is_decided_again() -> None:
    world = world_with("nightly")
    raced: list[int] = []

    def trouble(one: Timer) -> None:
        if not raced:
            raced.append(one.rev)
            mine = replace(one, rev=one.rev + 1, change_id="theirs")
            world.store.commit([UpdateTimer(mine, one)])

    begin(world)
    advance(world, Labelled(trouble))
    assert world.timer().rev == 3
    assert only_finished(world).changed == 1


def test_open_jobs_take_turns_so_that_a_large_one_holds_up_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retimings, "SCHEDULES_PER_PAGE", 1)
    world = world_with(*(f"s{number}" for number in range(5)))
    world.add(timer(every(60), NOON + MINUTE, tenant="rival"))
    step = Labelled(trouble=lambda _: world.clock.advance(SECOND))
    world.store.commit([InsertRetiming(for_calendar(tenant, "h", 1, NOON)) for tenant in (TENANT, "rival")])
    service(world, step).advance(NOON + 2 * SECOND)
    assert [job.tenant for job in world.store.open_retimings(10)] == [TENANT]


def test_a_store_that_stays_silent_costs_nothing_but_time() -> None:
    world = world_with("a", "b")
    begin(world)

    def trouble(one: Timer) -> None:
        if one.schedule_id == "b":
            raise NoAnswer("throttled")

    with pytest.raises(NoAnswer):
        advance(world, Labelled(trouble))
    advance(world, Labelled())
    job = only_finished(world)
    assert (job.seen, job.changed) == (2, 2), "what was changed before the silence counts as well"

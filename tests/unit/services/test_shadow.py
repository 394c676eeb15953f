"""A schedule held in shadow, lived through: what it notes, what it never does, and the moment it is turned on."""

from dataclasses import replace
from typing import Any

from cronfleet.domain.instant import HOUR, MINUTE, SECOND, to_text
from cronfleet.domain.run import RunStatus
from cronfleet.domain.schedule import Status
from cronfleet.domain.trigger import OneShotTrigger
from cronfleet.ports.job_store import UpdateTimer
from tests.support.builders import at, cron
from tests.support.lived import ACME, ID, LivedWorld, spec

TWO = at("2026-12-01 02:00")
SINCE = TWO - 10 * SECOND


def held(wanted: Any, *, shadow: bool = True) -> LivedWorld:
    world = LivedWorld(SINCE)
    world.schedules.create(ACME, ID, lambda *_: wanted, held=True, shadow=shadow)
    return world


def test_nothing_is_sent_in_shadow_and_each_fire_is_explained_by_who_held_it_since_when() -> None:
    world = held(spec(600))
    world.live(25 * 60)
    assert not world.sent
    said = world.explain(TWO + 10 * MINUTE)
    assert said["text"] == "would have fired; the schedule is held in shadow since 2026-12-01T01:59:50Z, by ada"
    assert (said["code"], said["is_named"], said["is_decided"]) == ("shadow", True, True)
    assert said["detail"]["by"] == "ada"
    assert said["detail"]["shadow_at"] == "2026-12-01T01:59:50Z"
    codes = [(entry["at"], entry["code"], entry["count"]) for entry in world.entries(TWO, TWO + HOUR)]
    assert codes == [
        *((to_text(TWO + minutes * MINUTE), "shadow", 1) for minutes in (0, 10, 20)),
        ("2026-12-01T02:30:00Z", "shadow", 4),
    ]


def test_what_is_noted_is_counted_apart_from_what_is_skipped() -> None:
    world = held(spec(600))
    world.live(15 * 60)
    assert (world.notes.counts["noted"], world.notes.counts["skips"]) == (2, 0)


def test_what_is_still_to_come_is_said_to_be_noted_and_not_sent() -> None:
    world = held(spec(600))
    said = world.explain(TWO + 10 * MINUTE)
    assert said["text"].startswith("will not be sent, but noted; the schedule is held in shadow since")
    assert not said["is_decided"]


def test_a_held_schedule_says_who_registered_it_and_that_it_is_not_on() -> None:
    world = held(spec(600), shadow=False)
    world.live(15 * 60)
    assert not world.store.state.runs
    said = world.explain(TWO + 10 * MINUTE)
    assert said["code"] == "not_on"
    assert "held since 2026-12-01T01:59:50Z by ada" in said["text"]


def test_turned_on_it_fires_from_the_first_nominal_after_the_call_with_no_double_and_no_gap() -> None:
    world = held(spec(60))
    world.live(10 * 60 + 30)
    world.schedules.resume(ACME, ID)
    on_at = world.clock.now()
    world.live(5 * 60)
    rows = sorted(world.store.state.runs.values(), key=lambda row: row.key.nominal_at)
    noted = [row for row in rows if row.status is RunStatus.SHADOW]
    ran = [row.key.nominal_at for row in rows if row.status is RunStatus.SUCCEEDED]
    assert len(rows) == len(noted) + len(ran)
    assert sum((row.last_nominal_at - row.key.nominal_at) // MINUTE + 1 for row in noted) == 11
    assert noted[-1].last_nominal_at == TWO + 10 * MINUTE
    assert ran == [TWO + minutes * MINUTE for minutes in range(11, 16)]
    assert ran[0] > on_at


def test_an_hour_of_every_second_is_a_dozen_rows() -> None:
    world = held(spec(1))
    world.live(3_600)
    assert len(world.store.state.runs) <= 13
    (first, *_) = world.entries(TWO, TWO)
    assert first["code"] == "shadow"


def test_after_an_outage_one_entry_stands_for_all_that_was_named_meanwhile() -> None:
    world = held(spec(60))
    world.outage(7_200)
    world.live(10)
    (row,) = world.store.state.runs.values()
    assert (row.key.nominal_at, row.until_nominal_at) == (TWO, TWO + 119 * MINUTE)


def test_a_one_shot_stays_held_after_its_time_and_turning_it_on_completes_it() -> None:
    world = held(spec(60, trigger=OneShotTrigger(TWO, "2026-12-01T02:00:00Z", None)))
    world.live(60)
    assert (world.timer().status, world.timer().nominal_at, world.timer().due_at) == (Status.HELD, None, None)
    assert world.explain(TWO)["code"] == "shadow"
    world.schedules.resume(ACME, ID)
    assert world.timer().status is Status.COMPLETED


def test_a_new_trigger_of_a_schedule_in_shadow_is_noted_from_then_on_and_not_turned_on() -> None:
    world = held(spec(60))
    world.live(150)
    world.put(spec(90))
    world.live(300)
    assert world.timer().is_shadow
    assert not world.sent
    assert world.explain(TWO + 120 * SECOND)["code"] == "shadow"
    assert world.explain(TWO + 180 * SECOND)["code"] == "shadow"
    assert not world.explain(TWO + 240 * SECOND)["is_named"]


def test_a_manual_run_of_a_schedule_in_shadow_runs() -> None:
    world = held(spec(600))
    world.runs.run_now(ACME, ID)
    world.live(30)
    statuses = {row.key.cause[:6]: row.status for row in world.store.state.runs.values()}
    assert statuses == {"manual": RunStatus.SUCCEEDED, "schedu": RunStatus.SHADOW}


def test_a_zone_that_has_gone_takes_a_schedule_out_of_the_index_and_leaves_it_held() -> None:
    world = held(spec(600))
    stored = world.timer()

    broken = replace(stored, trigger=cron("0 2 * * *", "Mars/Olympus"), rev=stored.rev + 1)
    world.store.commit([UpdateTimer(broken, stored)])
    world.live(60)
    after = world.timer()
    assert (after.status, after.due_at, after.is_shadow) == (Status.HELD, None, False)
    assert [name for name, _ in world.notes.alarms] == ["schedule_parked"]
    assert "cannot be computed" in world.explain(TWO + 10 * MINUTE)["text"]
    world.put(spec(60))
    assert world.timer().is_shadow

"""A pause whose end has come, of a schedule that cannot go on: it alone is parked, and its shard is served."""

from typing import Any

import pytest

from cronfleet.domain.calendar import CalendarRule, Mode
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.schedule import Pause, Status
from cronfleet.domain.trigger import CronTrigger
from cronfleet.ports.job_store import Damaged
from tests.support.builders import at, cron, every, timer
from tests.support.world import World

TWO = at("2026-12-01 02:00")
LEFT_THE_PACKAGE = CronTrigger("0 2 * * *", "Mars/Base")
WITHOUT_ITS_CALENDAR = CronTrigger("0 2 * * *", "UTC", calendar=CalendarRule("holidays", 3, Mode.EXCLUDE))


def paused(world: World, trigger: CronTrigger) -> None:
    pause = Pause("ada", TWO - MINUTE, "lunch", TWO)
    world.add(timer(trigger, TWO, schedule_id="bad", status=Status.PAUSED, due_at=TWO, pause=pause))
    world.add(timer(every(10), TWO, schedule_id="good"))


@pytest.mark.parametrize("trigger", [LEFT_THE_PACKAGE, WITHOUT_ITS_CALENDAR])
def test_one_whose_trigger_no_longer_computes_is_parked_when_its_pause_ends(trigger: CronTrigger) -> None:
    world = World(TWO)
    paused(world, trigger)
    world.tick()
    bad = world.timer("bad")
    assert (bad.status, bad.due_at, bad.pause, bad.nominal_at) == (Status.PARKED, None, None, TWO)
    assert bad.parked is not None
    assert "pause reached its end" in bad.parked.text
    assert [name for name, _ in world.notes.alarms] == ["schedule_parked"]
    assert {message.key.schedule_id for message in world.sent} == {"good"}
    assert world.store.state.audit


def test_one_whose_base_item_cannot_be_read_is_taken_out_of_the_way_when_its_pause_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World(TWO)
    paused(world, cron("0 2 * * *"))
    read, dropped = world.store.get_timer, []

    def damaged(tenant: str, schedule_id: str) -> Any:
        if schedule_id == "bad":
            raise Damaged("acme#bad", "TIMER", "epoch_starts: not a number")
        return read(tenant, schedule_id)

    monkeypatch.setattr(world.store, "get_timer", damaged)
    monkeypatch.setattr(world.store, "drop_unreadable", lambda item, reason: not dropped.append((item, reason)))
    world.tick()
    ((item, reason),) = dropped
    assert (item.partition, item.sort, item.due_at) == ("acme#bad", "TIMER", TWO)
    assert "not a number" in reason.text
    assert {message.key.schedule_id for message in world.sent} == {"good"}

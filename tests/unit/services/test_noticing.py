"""Noticing: each edge is told once to each channel, tried again, given up, and held in quiet hours."""

from dataclasses import replace

import pytest

from cronfleet.domain.attempt import Result
from cronfleet.domain.channel import Channel
from cronfleet.domain.incident import Broken, IncidentKind
from cronfleet.domain.instant import HOUR, MINUTE, SECOND
from cronfleet.domain.notice import MAX_ATTEMPTS, Edge, Notice, NoticeStatus
from cronfleet.domain.quiet_hours import QuietHours
from cronfleet.domain.run import Outcome
from cronfleet.ports.alerts import PutAlert
from cronfleet.services.incidents import owing
from tests.support.builders import at
from tests.support.faults import Crash, FaultAt, Faulty
from tests.support.watch_room import CHANNEL, SHARDS, WatchRoom

NOW = at("2026-12-01 02:00")
KIND = IncidentKind.STARTS_WITHIN
NIGHT = replace(CHANNEL, quiet_hours=QuietHours(22 * 60, 7 * 60, "UTC"))
REFUSED = Result(Outcome.FAILED, "HTTP 410", retryable=False)
BUSY = Result(Outcome.FAILED, "HTTP 503")


def broken(room: WatchRoom, schedule_id: str = "nightly") -> Broken:
    return Broken(room.clock.now(), "it did not start", {}, (schedule_id,), 1)


def opened(room: WatchRoom, schedule_id: str = "nightly") -> None:
    room.incidents().open("acme", f"schedule:{schedule_id}", KIND, broken(room, schedule_id))


def healed(room: WatchRoom, schedule_id: str = "nightly") -> None:
    room.incidents().heal("acme", f"schedule:{schedule_id}", KIND, "it started")


def notices(room: WatchRoom) -> list[Notice]:
    return [one for one in room.store.state.alerts.values() if isinstance(one, Notice)]


def test_an_edge_is_told_once_however_often_it_is_owed_and_carried_on() -> None:
    room = WatchRoom(NOW)
    for _ in range(3):
        opened(room)
    for errand in room.errands():
        for _ in range(3):
            room.noticing().carry_on(errand.tenant, errand.errand_id, NOW + HOUR)
    assert room.courier.titles == ["[BROKEN] nightly: did not start in time"]
    assert [one.status for one in notices(room)] == [NoticeStatus.SENT]


def test_the_channels_that_an_objective_names_are_told_and_the_default_ones_where_none_of_them_is_there() -> None:
    day = Channel("acme", "day", CHANNEL.address)
    room = WatchRoom(NOW, CHANNEL, day)
    first = room.incidents().open("acme", "schedule:a", KIND, broken(room, "a"), ("day", "gone"))
    second = room.incidents().open("acme", "schedule:b", KIND, broken(room, "b"), ("gone",))
    assert first is not None
    assert second is not None
    assert (first.channels, second.channels) == (("day",), ("night",))


def test_a_delivery_that_fails_comes_again_later_each_time_and_is_given_up_with_an_alarm() -> None:
    room = WatchRoom(NOW)
    opened(room)
    room.courier.answers = [BUSY] * MAX_ATTEMPTS
    (errand,) = room.errands()
    waits = []
    for _ in range(MAX_ATTEMPTS):
        next_at = room.noticing().carry_on("acme", errand.errand_id, room.clock.now() + HOUR)
        if next_at is not None:
            waits.append(next_at - room.clock.now())
            assert room.noticing().carry_on("acme", errand.errand_id, room.clock.now() + HOUR) == next_at
            room.clock.set(next_at)
    assert waits[:4] == [15 * SECOND, 30 * SECOND, MINUTE, 2 * MINUTE]
    assert waits == sorted(waits)
    (notice,) = notices(room)
    assert (notice.status, notice.attempts, notice.error) == (NoticeStatus.GIVEN_UP, MAX_ATTEMPTS, "HTTP 503")
    assert [name for name, _ in room.notes.alarms] == ["notice_given_up"]
    assert room.courier.delivered == []


def test_what_no_retry_mends_is_given_up_at_once() -> None:
    room = WatchRoom(NOW)
    opened(room)
    room.courier.answers = [REFUSED]
    room.tell()
    assert [one.status for one in notices(room)] == [NoticeStatus.GIVEN_UP]


def test_a_notice_of_a_deleted_channel_is_dropped() -> None:
    room = WatchRoom(NOW)
    opened(room)
    room.store.commit([PutAlert(replace(CHANNEL, is_deleted=True, rev=2))])
    room.tell()
    assert [one.status for one in notices(room)] == [NoticeStatus.DROPPED]
    assert room.courier.delivered == []


def test_quiet_hours_hold_what_comes_up_and_one_summary_tells_it_all() -> None:
    room = WatchRoom(NOW, NIGHT)
    opened(room, "first")
    room.tell()
    room.clock.advance(HOUR)
    opened(room, "second")
    healed(room, "first")
    room.tell()
    assert room.courier.delivered == []
    room.clock.set(at("2026-12-01 06:59"))
    room.tell()
    assert room.courier.delivered == []
    room.clock.set(at("2026-12-01 07:00"))
    room.tell()
    room.tell()
    ((name, message),) = room.courier.delivered
    assert name == "night"
    assert message.title == "[SUMMARY] 3 in quiet hours, 1 still broken"
    first, *rest = message.text.splitlines()
    assert first == "2026-12-01 02:00 UTC  [BROKEN] first: did not start in time"
    assert set(rest) == {
        "2026-12-01 03:00 UTC  [BROKEN] second: did not start in time",
        "2026-12-01 03:00 UTC  [HEALED] first: did not start in time",
    }
    room.clock.set(at("2026-12-01 08:00"))
    healed(room, "second")
    room.tell()
    assert room.courier.titles[-1] == "[HEALED] second: did not start in time"


def test_a_test_is_told_at_once_in_quiet_hours_too() -> None:
    room = WatchRoom(NOW, NIGHT)
    room.store.commit(owing(Notice("acme", "t1", Edge.TEST, "night", NOW), NOW, SHARDS))
    room.tell()
    assert room.courier.titles == ["[TEST] Cronfleet can reach night"]


@pytest.mark.parametrize("channel", [CHANNEL, NIGHT], ids=["at once", "in quiet hours"])
def test_a_clerk_that_dies_at_any_call_loses_nothing_and_tells_it_under_one_id(channel: Channel) -> None:
    moments = FaultAt(None)
    room = WatchRoom(NOW, channel)
    opened(room)
    (errand,) = room.errands()
    room.noticing(Faulty(room.store, moments)).carry_on("acme", errand.errand_id, NOW + HOUR)
    for step in range(len(moments.moments)):
        room = WatchRoom(NOW, channel)
        opened(room)
        with pytest.raises(Crash):
            room.noticing(Faulty(room.store, FaultAt(step))).carry_on("acme", errand.errand_id, NOW + HOUR)
        room.tell()
        room.clock.set(at("2026-12-01 07:00"))
        room.tell()
        assert len({message.notice_id for _, message in room.courier.delivered}) == 1
        assert len(room.courier.delivered) <= 2

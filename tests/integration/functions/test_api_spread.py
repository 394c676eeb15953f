"""Spread through the API: an offset that is drawn once, kept by edits, and drawn anew for another trigger or window."""

from typing import Any

import pytest

from cronfleet.domain.attempt import decide_start
from cronfleet.domain.claim import BatchId
from cronfleet.domain.dispatch_plan import claim_schedule
from cronfleet.domain.instant import HOUR, MINUTE
from tests.support.api import NIGHTLY, Api, api_on_memory
from tests.support.builders import message
from tests.support.settable_clock import NOON

SPREAD = {
    **NIGHTLY,
    "id": "spread",
    "trigger": {"cron": "0 3 * * *", "timezone": "UTC"},
    "policies": {"spread": "auto"},
}
PATH = "/v1/schedules/spread"


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The front door on the memory store: what stores promise is in their contract."""
    return api_on_memory(monkeypatch)


def put_off(answer: Any) -> int:
    """By how much the next fire is due after its nominal time, as the answer's times say."""
    fire, due = (answer.json[name][11:19].split(":") for name in ("next_fire_at", "next_due_at"))
    return sum((int(late) - int(early)) * unit for late, early, unit in zip(due, fire, (3600, 60, 1), strict=True))


def test_a_spread_schedule_has_one_offset_for_all_its_fires_and_says_so(api: Any) -> None:
    made = api.call("POST", "/v1/schedules", SPREAD)
    assert made.status == 201
    offset = made.json["spread_offset_seconds"]
    assert 0 < offset <= 3_600
    assert (made.json["policies"]["spread"], made.json["jitter"]) == ("auto", "spread")
    assert put_off(made) == offset
    fires = api.call("GET", f"{PATH}/fires?limit=3").json["fires"]
    assert {one["due_at"][10:] for one in fires} == {made.json["next_due_at"][10:]}


def test_an_edit_keeps_the_offset_and_what_was_read_may_be_sent_back(api: Any) -> None:
    made = api.call("POST", "/v1/schedules", SPREAD).json
    others = [api.call("POST", "/v1/schedules", {**SPREAD, "id": f"other-{n}"}).json for n in range(3)]
    assert len({made["spread_offset_seconds"], *(one["spread_offset_seconds"] for one in others)}) > 1
    edited = api.call("PATCH", PATH, {"description": "another", "labels": {"a": "b"}}).json
    assert (edited["version"], edited["spread_offset_seconds"]) == (2, made["spread_offset_seconds"])
    same = api.call("PATCH", PATH, {"policies": {"spread": "auto:60m"}}).json
    assert same["version"] == 2, "an hour is the window anyway"
    put = {**SPREAD, "trigger": {"cron": "0 3 * * *", "timezone": "UTC"}, "description": "once more"}
    put.pop("id")
    assert api.call("PUT", PATH, put).json["spread_offset_seconds"] == made["spread_offset_seconds"]


def test_another_trigger_or_window_draws_anew_and_a_rollback_brings_the_old_offset_back(api: Any) -> None:
    first = api.call("POST", "/v1/schedules", SPREAD).json["spread_offset_seconds"]
    retimed = api.call("PATCH", PATH, {"trigger": {"cron": "0 4 * * *"}})
    assert retimed.json["spread_offset_seconds"] != first
    assert put_off(retimed) == retimed.json["spread_offset_seconds"]
    narrow = api.call("PATCH", PATH, {"policies": {"spread": "auto:30s"}}).json["spread_offset_seconds"]
    assert narrow <= 30
    back = api.call("POST", f"{PATH}/rollback", {"version": 1})
    assert back.json["spread_offset_seconds"] == first
    off = api.call("PATCH", PATH, {"policies": {"spread": None}}).json
    assert (off["spread_offset_seconds"], off["jitter"], off["policies"]["spread"]) == (None, "none", None)


def test_a_spread_replaces_the_jitter_of_midnight_and_the_warning_of_a_crowded_time(api: Any) -> None:
    midnight = {**SPREAD, "trigger": {"cron": "0 0 * * *", "timezone": "UTC"}, "policies": {"spread": "auto:10m"}}
    made = api.call("POST", "/v1/schedules", midnight).json
    assert made["policies"]["jitter_seconds"] == 60
    assert made["spread_offset_seconds"] > 60 or made["next_due_at"] <= made["next_fire_at"][:17] + "59Z"
    assert not [one for one in made["warnings"] if one["code"] == "crowded_time"]


def test_an_export_says_how_it_is_spread_and_not_by_how_much(api: Any) -> None:
    api.call("POST", "/v1/schedules", SPREAD)
    document = api.call("GET", "/v1/tenants/acme/export").json
    (only,) = document["schedules"]
    assert only["policies"]["spread"] == "auto"
    assert "spread_offset_seconds" not in only


def test_explain_says_that_a_fire_is_late_on_purpose(api: Any) -> None:
    made = api.call("POST", "/v1/schedules", SPREAD).json
    said = api.call("GET", f"{PATH}/explain?at={made['next_fire_at']}").json
    assert said["code"] == "not_due"
    assert f"put off by {made['spread_offset_seconds']} s, as it is spread" in said["text"]
    assert said["detail"]["due_at"] == made["next_due_at"]


def test_only_who_asks_for_a_spread_has_the_forecast_read(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, get = [], api.store.get_forecast
    monkeypatch.setattr(api.store, "get_forecast", lambda: asked.append(1) or get())
    for number in range(3):
        api.register(id=f"plain-{number}")
    assert asked == []
    for number in range(3):
        api.call("POST", "/v1/schedules", {**SPREAD, "id": f"spread-{number}"})
    api.call("PATCH", "/v1/schedules/spread-1", {"description": "another"})
    assert asked == [1], "once in five minutes"


def test_what_runs_after_others_cannot_be_spread(api: Any) -> None:
    api.register()
    refused = api.call("POST", "/v1/schedules", {**SPREAD, "trigger": {"after": ["nightly"]}})
    assert (refused.status, refused.json["errors"][0]["field"]) == (400, "policies.spread")


@pytest.mark.parametrize("change", ["delete", "retime", "resume"])
def test_what_was_turned_on_after_a_fire_that_ran_can_be_changed_at_once(api: Any, change: str) -> None:
    hourly = {**SPREAD, "trigger": {"cron": "0 * * * *", "timezone": "UTC"}, "policies": {"jitter_seconds": 0}}
    api.call("POST", "/v1/schedules", hourly)
    api.clock.advance(HOUR)
    claim = claim_schedule(api.store.state.timers["acme", "spread"], api.clock.now())
    api.store.claim(BatchId(0, 1, 1), [claim])
    assert api.call("GET", PATH).json["next_fire_at"] == "2026-11-30T14:00:00Z"
    started = decide_start(None, message(NOON + HOUR, schedule_id="spread"), "worker", api.clock.now())
    api.store.insert_run(started.run)
    api.clock.advance(MINUTE)
    offset = api.call("PATCH", PATH, {"policies": {"spread": "auto:50m"}}).json["spread_offset_seconds"]
    assert offset > 120, "else this test is about nothing"
    if change == "resume":
        assert api.call("POST", f"{PATH}/pause", {"reason": "maintenance"}).status == 200
        assert api.call("POST", f"{PATH}/resume", {}).status == 200
    elif change == "retime":
        assert api.call("PATCH", f"{PATH}?dry_run=true", {"trigger": {"cron": "5 * * * *"}}).json["effect"]["lost"]
        assert api.call("PATCH", PATH, {"trigger": {"cron": "5 * * * *"}}).status == 200
    else:
        assert api.call("DELETE", PATH).status == 204


def test_explain_says_by_how_much_a_fire_near_the_end_is_put_off(api: Any) -> None:
    made = api.call("POST", "/v1/schedules", {**SPREAD, "end_at": "2026-12-01T03:00:05Z"}).json
    assert made["spread_offset_seconds"] > 5
    said = api.call("GET", f"{PATH}/explain?at={made['next_fire_at']}").json
    assert "it is put off by 5 s, as the schedule is spread: it is due at 2026-12-01T03:00:05Z" in said["text"]

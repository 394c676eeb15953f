"""Jitter through the API: on by default for the time that everyone uses, and nowhere else."""

from typing import Any

from tests.integration.functions.test_api_imports import imported
from tests.support.api import NIGHTLY

MIDNIGHT = {**NIGHTLY, "id": "midnight", "trigger": {"cron": "0 0 * * *", "timezone": "UTC"}}


def jitter(answer: Any) -> tuple[int, str]:
    return answer.json["policies"]["jitter_seconds"], answer.json["jitter"]


def test_a_schedule_at_midnight_sharp_is_spread_by_default_and_says_so(api: Any) -> None:
    answer = api.call("POST", "/v1/schedules", MIDNIGHT)
    assert answer.status == 201
    assert jitter(answer) == (60, "default")
    assert not [one for one in answer.json["warnings"] if one["code"] == "crowded_time"]
    assert 0 <= int(answer.json["next_due_at"][17:19]) <= 59


def test_whoever_wants_none_says_so_and_is_warned(api: Any) -> None:
    answer = api.call("POST", "/v1/schedules", {**MIDNIGHT, "policies": {"jitter_seconds": 0}})
    assert jitter(answer) == (0, "none")
    assert answer.json["next_due_at"] == answer.json["next_fire_at"]
    assert [one["code"] for one in answer.json["warnings"]] == ["crowded_time"]


def test_an_edit_keeps_the_jitter_that_there_is_and_null_takes_it_back_to_the_default_of_its_time(api: Any) -> None:
    api.call("POST", "/v1/schedules", MIDNIGHT)
    path = "/v1/schedules/midnight"
    moved = api.call("PATCH", path, {"trigger": {"cron": "0 3 * * *"}})
    assert jitter(moved) == (60, "chosen")
    assert jitter(api.call("PATCH", path, {"policies": {"jitter_seconds": None}})) == (0, "none")
    assert jitter(api.call("PATCH", path, {"policies": {"jitter_seconds": 7}})) == (7, "chosen")


def test_an_imported_crontab_keeps_its_seconds(api: Any) -> None:
    (only,) = imported(api, "crontab", "@daily /usr/bin/backup\n", timezone="UTC")["schedules"]
    assert api.call("GET", f"/v1/schedules/{only['id']}").json["policies"]["jitter_seconds"] == 0

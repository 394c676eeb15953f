"""Words and warnings over HTTP: beside every schedule and preview, and for a whole tenant."""

import json

import pytest

from cronfleet.preview import answer
from tests.support.api import Api, api_on_memory
from tests.support.settable_clock import NOON

FRIDAY_13 = {"cron": "30 2 13 * 5", "timezone": "Europe/Paris"}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return api_on_memory(monkeypatch)


def test_every_answer_that_shows_a_schedule_says_it_in_words_with_warnings(api: Api) -> None:
    made = api.register(trigger=FRIDAY_13)
    said = {name: made.json[name] for name in ("words", "warnings")}
    assert said["words"] == "At 02:30 on day 13 of the month or on Friday (either one is enough), in Europe/Paris"
    assert [warning["code"] for warning in said["warnings"]] == ["day_either"]
    path = "/v1/schedules/nightly"
    answers = [
        api.call("GET", path),
        api.call("PATCH", path, {"description": "changed"}),
        api.call("POST", f"{path}/pause", {"reason": "month end"}),
        api.call("POST", f"{path}/resume", {}),
    ]
    listed = api.call("GET", "/v1/schedules").json["schedules"]
    for shown in [*(one.json for one in answers), *listed]:
        assert {name: shown[name] for name in ("words", "warnings")} == said
    retimed = api.call("PATCH", path, {"trigger": {"cron": "30 2 13 * *"}}).json
    assert (retimed["words"], retimed["warnings"]) == ("At 02:30 on day 13 of the month, in Europe/Paris", [])


def test_the_api_and_the_preview_command_say_the_same(api: Api) -> None:
    for trigger in (FRIDAY_13, {"every": "7h", "anchor": "2026-01-01T00:00:00Z"}, {"cron": "rate(5 minutes)"},
                    {"cron": "cron(0 0 L * ? 2027)", "timezone": "US/Eastern"}):  # fmt: skip
        fields = {"timezone": "UTC", **trigger} if "cron" in trigger else trigger
        shown = api.call("POST", "/v1/preview", {"trigger": fields, "after": "2026-11-29T12:00:00Z"}).json
        line = json.dumps({**fields, "after": "2026-11-29T12:00:00Z", "lint": True, "count": 10}).encode()
        assert json.loads(answer(line, lambda: NOON)) == shown
        made = api.call("PUT", "/v1/schedules/same", {"trigger": fields, "target": {"handler": "a.b"}}).json
        assert {warning["code"] for warning in made["warnings"]} == {warning["code"] for warning in shown["warnings"]}


def test_a_repeated_request_gets_the_words_and_warnings_of_the_first(api: Api) -> None:
    body = {"trigger": FRIDAY_13, "target": {"handler": "a.b"}}
    first = api.call("POST", "/v1/schedules", body, headers={"Idempotency-Key": "k"})
    api.clock.advance(40_000_000)
    assert api.call("POST", "/v1/schedules", body, headers={"Idempotency-Key": "k"}).json == first.json


def test_a_whole_tenant_is_looked_over(api: Api) -> None:
    api.register()
    api.register(id="other", trigger=FRIDAY_13)
    shown = api.call("GET", "/v1/lint?limit=1").json
    assert (shown["looked_at"], [one["id"] for one in shown["schedules"]], bool(shown["cursor"])) == (1, [], True)
    shown = api.call("GET", f"/v1/lint?limit=1&cursor={shown['cursor']}").json
    (found,) = shown["schedules"]
    assert (found["id"], found["status"], found["warnings"][0]["code"]) == ("other", "active", "day_either")
    assert api.call("GET", "/v1/lint?code=far_away").json["schedules"] == []
    assert api.call("GET", "/v1/lint", tenant="rival").json == {"schedules": [], "looked_at": 0, "cursor": None}


def test_what_cannot_be_asked_is_refused_with_its_field(api: Api) -> None:
    for query, field in (
        ("code=nonsense", "code"),
        ("limit=101", "limit"),
        ("cursor=nonsense", "cursor"),
        ("x=1", "x"),
    ):
        refused = api.call("GET", f"/v1/lint?{query}")
        assert (refused.status, refused.fields) == (400, [field]), refused.text


def test_crowded_minutes_are_shown(api: Api) -> None:
    for name in ("one", "two", "three"):
        api.register(id=name)
    shown = api.call("GET", "/v1/lint/crowded-minutes").json
    assert shown == {
        "minutes": [{"minute_at": "2026-11-30T20:30:00Z", "schedules": 3, "ids": ["one", "three", "two"]}],
        "frequent": 0,
        "looked_at": 3,
        "is_complete": True,
    }

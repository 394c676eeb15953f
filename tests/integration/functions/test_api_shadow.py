"""Held schedules, heartbeat URLs, pings without a key, and the comparison, over the API."""

import re
from typing import Any

import pytest
import time_machine

from cronfleet.adapters.memory.side_by_side import OneByOne
from cronfleet.domain.audit import Wanted
from cronfleet.domain.heartbeat import MAX_PINGS_PER_MINUTE
from cronfleet.domain.instant import HOUR, MINUTE, SECOND, to_datetime
from cronfleet.domain.lease import slot_of
from cronfleet.ports.queues import Tick
from cronfleet.services.dispatcher import Dispatcher
from tests.support.api import Answer, Api, api_on, api_on_memory, event_of
from tests.support.settable_clock import NOON, CountingIds, TravellingClock
from tests.support.stores import moto_engine
from tests.support.world import MemoryErrandQueue, MemoryRunQueue, Notes

HOURLY = {"trigger": {"cron": "0 * * * *", "timezone": "UTC"}, "held": True, "shadow": True}


@pytest.fixture(params=["memory", "moto"])
def api(request: Any, monkeypatch: Any) -> Any:
    if request.param == "memory":
        yield api_on_memory(monkeypatch)
        return
    # moto's answers carry its time, and the function refuses to change anything under a clock that is off.
    with (
        time_machine.travel(to_datetime(NOON), tick=False) as traveller,
        moto_engine(TravellingClock(traveller)) as engine,
    ):
        yield api_on(monkeypatch, engine.store, engine.clock)


@pytest.fixture
def quick(monkeypatch: Any) -> Api:
    return api_on_memory(monkeypatch)


def url_of(api: Api, schedule_id: str = "nightly") -> str:
    answer = api.call("POST", f"/v1/schedules/{schedule_id}/heartbeat")
    assert answer.status == 201, answer.text
    return answer.json["path"]


def ping(api: Api, path: str, body: Any = None, **more: Any) -> Answer:
    """As from outside: with no authorizer before it."""
    event = event_of("POST", path, body, **more)
    del event["requestContext"]["authorizer"]
    event["headers"].pop("authorization", None)
    return api.send(event)


def tick(api: Api) -> None:
    dispatcher = Dispatcher(
        store=api.store,
        run_queue=MemoryRunQueue(api.clock),
        errand_queue=MemoryErrandQueue(api.clock),
        side_by_side=OneByOne(),
        clock=api.clock,
        ids=CountingIds(10**9),
        telemetry=Notes(),
    )
    shard = api.store.get_timer("acme", "nightly").shard
    dispatcher.tick(Tick(shard, slot_of(api.clock.now())), api.clock.now() + MINUTE)


# --- held ------------------------------------------------------------------------------------------------------


def test_a_schedule_is_registered_held_and_in_shadow_and_turned_on_by_a_resume(api: Api) -> None:
    made = api.register(**HOURLY)
    assert (made.status, made.json["status"]) == (201, "held")
    since = "2026-11-30T12:00:00Z"
    assert made.json["hold"] == {"by": "demo", "at": since, "shadow": {"by": "demo", "at": since}}
    listed = api.call("GET", "/v1/schedules?status=held").json["schedules"]
    assert [one["id"] for one in listed] == ["nightly"]
    off = api.call("POST", "/v1/schedules/nightly/shadow", {"on": False, "reason": "enough"})
    assert off.json["hold"]["shadow"] is None
    on = api.call("POST", "/v1/schedules/nightly/resume")
    assert (on.json["status"], on.json["hold"]) == ("active", None)
    assert on.json["next_fire_at"] == "2026-11-30T13:00:00Z"


def test_what_does_not_go_with_a_held_schedule_is_refused_by_name(quick: Api) -> None:
    assert quick.register(shadow=True).fields == ["shadow"]
    quick.register(**HOURLY)
    assert quick.call("POST", "/v1/schedules/nightly/pause", {"reason": "no"}).status == 409
    assert quick.call("PATCH", "/v1/schedules/nightly", {"held": False}).fields == ["held"]
    missed = quick.call("POST", "/v1/schedules/nightly/resume", {"missed": {"policy": "fire_once"}})
    assert (missed.status, missed.fields) == (400, ["missed"])
    put = {"trigger": {"every": "1h"}, "target": {"handler": "billing.nightly"}, "hold": None}
    assert quick.call("PUT", "/v1/schedules/nightly", put).fields == ["hold"]
    quick.call("POST", "/v1/schedules/nightly/resume")
    assert quick.call("POST", "/v1/schedules/nightly/shadow", {"on": True}).status == 409


# --- the URL ---------------------------------------------------------------------------------------------------


def test_a_url_is_shown_once_kept_as_a_digest_and_audited_without_its_token(api: Api) -> None:
    api.register(**HOURLY)
    made = api.call("POST", "/v1/schedules/nightly/heartbeat", {"reason": "for the old crontab"})
    token = made.json["token"]
    assert re.fullmatch(r"[0-9a-z]{58}", token)
    assert made.json["path"] == f"/v1/heartbeats/{token}"
    assert made.json["url"].startswith("https://")
    assert made.json["url"].endswith(made.json["path"])
    shown = api.call("GET", "/v1/schedules/nightly/heartbeat").json
    assert (shown["made_by"], shown["last_ping"]) == ("demo", None)
    entries = api.store.list_audit("acme", Wanted(0, api.clock.now(), "schedule:nightly"), cursor=None, limit=9).items
    (entry,) = [one for one in entries if one.action == "make_heartbeat"]
    assert (entry.actor, entry.reason, entry.before) == ("demo", "for the old crontab", None)
    assert token not in str(entries)
    assert token[26:] not in str(api.store.get_heartbeat(token[:26]))


def test_a_new_url_ends_the_one_before_at_once(api: Api) -> None:
    api.register(**HOURLY)
    old, new = url_of(api), url_of(api)
    assert (ping(api, old).status, ping(api, new).status) == (404, 200)


def test_a_proxy_in_front_is_the_address_that_a_url_is_shown_with(quick: Api) -> None:
    quick.register(**HOURLY)
    ours = {"X-Forwarded-Host": "127.0.0.1:8787", "X-Forwarded-Proto": "http"}
    made = quick.call("POST", "/v1/schedules/nightly/heartbeat", headers=ours)
    assert made.json["url"] == f"http://127.0.0.1:8787{made.json['path']}"
    strange = quick.call("POST", "/v1/schedules/nightly/heartbeat", headers={"X-Forwarded-Host": "a b/<script>"})
    assert "script" not in strange.json["url"]


def test_a_url_cannot_be_asked_for_under_an_idempotency_key_since_nobody_keeps_its_token(quick: Api) -> None:
    quick.register(**HOURLY)
    refused = quick.call("POST", "/v1/schedules/nightly/heartbeat", headers={"Idempotency-Key": "a"})
    assert (refused.status, refused.fields) == (400, ["Idempotency-Key"])


# --- pings -----------------------------------------------------------------------------------------------------


def test_an_empty_ping_without_a_key_is_a_success(api: Api) -> None:
    api.register(**HOURLY)
    answer = ping(api, url_of(api))
    said = {"at": "2026-11-30T12:00:00Z", "state": "success", "exit_code": None, "message": ""}
    assert (answer.status, answer.json) == (200, said)
    assert api.call("GET", "/v1/schedules/nightly/heartbeat").json["last_ping"] == said


@pytest.mark.parametrize(
    ("query", "body", "state", "exit_code"),
    [
        ("?exit_code=0", None, "success", 0),
        ("?exit_code=137", None, "fail", 137),
        ("?state=start", None, "start", None),
        ("", {"state": "fail", "message": "no space"}, "fail", None),
        ("", {"exit_code": 2}, "fail", 2),
        ("?exit_code=1", {"message": "no space"}, "fail", 1),
    ],
)
def test_a_ping_says_how_the_job_ended_in_its_query_or_its_body(
    quick: Api, query: str, body: Any, state: str, exit_code: int | None
) -> None:
    quick.register(**HOURLY)
    answer = ping(quick, f"{url_of(quick)}{query}", body)
    assert (answer.status, answer.json["state"], answer.json["exit_code"]) == (200, state, exit_code)


@pytest.mark.parametrize(
    ("query", "body", "field"),
    [
        ("?state=done", None, "state"),
        ("?exit=1", None, "exit"),
        ("?exit_code=256", None, "exit_code"),
        ("?exit_code=1", {"exit_code": 1}, "exit_code"),
        ("?state=success&exit_code=1", None, "exit_code"),
        ("", {"message": "x" * 501}, "message"),
        ("", {"output": "x"}, "output"),
    ],
)
def test_a_ping_that_says_something_else_is_refused_by_the_name_of_its_field(
    quick: Api, query: str, body: Any, field: str
) -> None:
    quick.register(**HOURLY)
    answer = ping(quick, f"{url_of(quick)}{query}", body)
    assert (answer.status, answer.fields) == (400, [field])


def test_no_answer_tells_why_a_token_is_none(quick: Api) -> None:
    """Made up, cut short, with a wrong end, replaced, of a deleted schedule, of an earlier life: all the same."""
    quick.register(**HOURLY)
    replaced = url_of(quick)
    current = url_of(quick)
    strange = ["/v1/heartbeats/x", f"/v1/heartbeats/{'0' * 58}", current[:-1], f"{current[:-1]}!", replaced]
    answers = [ping(quick, path) for path in strange]
    quick.call("DELETE", "/v1/schedules/nightly")
    answers.append(ping(quick, current))
    quick.register(**HOURLY)
    answers.append(ping(quick, current))
    assert [answer.status for answer in answers] == [404] * 7
    bodies = {answer.text.replace(answer.json["instance"].rpartition("/")[2][:64], "") for answer in answers}
    assert len(bodies) == 1
    assert quick.call("GET", "/v1/schedules/nightly/heartbeat").status == 404


def test_the_path_of_a_ping_takes_nothing_but_post(quick: Api) -> None:
    quick.register(**HOURLY)
    path = url_of(quick)
    assert quick.call("GET", path).status == 405
    assert not quick.store.state.pings


def test_a_ping_that_is_sent_again_under_its_key_is_one_ping(api: Api) -> None:
    api.register(**HOURLY)
    path = url_of(api)
    once = [ping(api, path, headers={"Idempotency-Key": "run-7"}) for _ in range(3)]
    assert {answer.text for answer in once} == {once[0].text}
    other = ping(api, f"{path}?exit_code=1", headers={"Idempotency-Key": "run-7"})
    assert other.status == 422
    name = path.rpartition("/")[2][:26]
    assert len(api.store.list_pings(name, since=0, until=api.clock.now(), cursor=None, limit=9).items) == 1


def test_a_url_is_pinged_so_often_in_a_minute_and_no_more(quick: Api) -> None:
    quick.register(**HOURLY)
    quick.register(**{**HOURLY, "id": "other"})
    path, other = url_of(quick), url_of(quick, "other")
    assert {ping(quick, path).status for _ in range(MAX_PINGS_PER_MINUTE)} == {200}
    refused = ping(quick, path)
    assert (refused.status, refused.headers["retry-after"]) == (429, "60")
    assert ping(quick, other).status == 200
    quick.clock.advance(MINUTE)
    assert ping(quick, path).status == 200


def test_another_tenant_makes_and_sees_no_url_of_ours(quick: Api) -> None:
    quick.register(**HOURLY)
    url_of(quick)
    for method in ("POST", "GET"):
        assert quick.call(method, "/v1/schedules/nightly/heartbeat", tenant="rival").status == 404
    assert quick.call("GET", "/v1/schedules/nightly/shadow", tenant="rival").status == 404


# --- the comparison --------------------------------------------------------------------------------------------


def a_day(api: Api, *, without: tuple[int, ...] = ()) -> str:
    """An hourly job of the old system, which pings seven seconds after the hour; and ours beside it in shadow."""
    api.register(**HOURLY)
    path = url_of(api)
    for hour in range(1, 25):
        api.clock.advance(HOUR if hour == 1 else HOUR - 7 * SECOND)
        tick(api)
        api.clock.advance(7 * SECOND)
        if hour not in without:
            assert ping(api, f"{path}?exit_code=0").status == 200
    api.clock.advance(10 * MINUTE)
    return path


def test_a_day_in_shadow_with_every_fire_seen_is_safe_to_turn_on(api: Api) -> None:
    a_day(api)
    answer = api.call("GET", "/v1/schedules/nightly/shadow").json
    assert answer["verdict"] == {"code": "safe", "text": "24 of 24 fires seen; safe to turn on"}
    assert answer["summary"]["median_lag_seconds"] == 7.0
    assert (answer["from"], len(answer["entries"]), answer["left_out"]) == ("2026-11-30T12:00:00Z", 24, 0)
    assert answer["entries"][0]["nominal_at"] == "2026-11-30T13:00:00Z"
    assert answer["entries"][0]["state"] == "matched"


def test_what_the_old_system_left_out_or_did_besides_is_found(quick: Api) -> None:
    path = a_day(quick, without=(3, 4))
    quick.clock.advance(20 * MINUTE)
    ping(quick, path)
    answer = quick.call("GET", "/v1/schedules/nightly/shadow").json
    assert answer["verdict"]["code"] == "differs"
    assert answer["verdict"]["text"].startswith("22 of 24 fires seen, 2 missing and 1 unexpected")
    missing = quick.call("GET", "/v1/schedules/nightly/shadow?state=missing&limit=1").json
    assert [entry["nominal_at"] for entry in missing["entries"]] == ["2026-11-30T15:00:00Z"]
    assert (missing["left_out"], missing["summary"]) == (1, answer["summary"])
    narrow = quick.call("GET", "/v1/schedules/nightly/shadow?tolerance_seconds=5").json
    assert narrow["summary"]["missing"] == 24


def test_the_record_of_a_shadow_is_compared_after_the_schedule_was_turned_on(quick: Api) -> None:
    a_day(quick)
    quick.call("POST", "/v1/schedules/nightly/resume")
    quick.clock.advance(3 * HOUR)
    span = "from=2026-11-30T12:00:00Z&to=2026-12-01T12:05:00Z"
    answer = quick.call("GET", f"/v1/schedules/nightly/shadow?{span}").json
    assert answer["verdict"]["text"] == "24 of 24 fires seen; safe to turn on"


def test_a_week_of_every_minute_is_compared_and_much_more_is_refused(quick: Api) -> None:
    quick.register(**{**HOURLY, "trigger": {"every": "1m"}})
    for _ in range(7 * 24):
        quick.clock.advance(HOUR)
        tick(quick)
    answer = quick.call("GET", "/v1/schedules/nightly/shadow?limit=0").json
    assert answer["verdict"]["code"] == "no_pings"
    assert answer["summary"]["fires"] + answer["summary"]["pending"] == answer["left_out"] == 7 * 24 * 60
    for _ in range(2 * 24):
        quick.clock.advance(HOUR)
        tick(quick)
    refused = quick.call("GET", "/v1/schedules/nightly/shadow")
    assert (refused.status, refused.fields) == (400, ["from"])


@pytest.mark.parametrize(
    "query", ["from=yesterday", "to=2026-11-30T11:00:00Z", "tolerance_seconds=86401", "state=late"]
)
def test_a_question_that_cannot_be_answered_is_refused_by_the_name_of_its_parameter(quick: Api, query: str) -> None:
    quick.register(**HOURLY)
    answer = quick.call("GET", f"/v1/schedules/nightly/shadow?{query}")
    assert (answer.status, answer.fields) == (400, [query.partition("=")[0]])

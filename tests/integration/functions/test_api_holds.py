"""The hold over the API: made, shown, released; who may; and what can still be done in a standby."""

from typing import Any

import pytest
import time_machine

from cronfleet import settings
from cronfleet.domain.hold import Here
from cronfleet.domain.instant import MINUTE, to_datetime, to_text
from cronfleet.domain.role import Role
from tests.support.api import Answer, Api, api_on, api_on_memory
from tests.support.settable_clock import NOON, TravellingClock
from tests.support.stores import moto_engine

ADMIN = Role.PLATFORM_ADMIN
DRAIN = {"mode": "drain", "reason": "update to 2.1"}
STANDBY = {"mode": "standby", "reason": "eu-west-1 has failed"}


@pytest.fixture(params=["memory", "moto"])
def api(request: Any, monkeypatch: Any) -> Any:
    if request.param == "memory":
        yield api_on_memory(monkeypatch, **{settings.SHARDS: "2"})
        return
    with (
        time_machine.travel(to_datetime(NOON), tick=False) as traveller,
        moto_engine(TravellingClock(traveller)) as engine,
    ):
        yield api_on(monkeypatch, engine.store, engine.clock, **{settings.SHARDS: "2"})


@pytest.fixture
def quick(monkeypatch: Any) -> Api:
    return api_on_memory(monkeypatch, **{settings.SHARDS: "2"})


def ask(api: Api, method: str, body: Any = None, query: str = "", **more: Any) -> Answer:
    return api.call(method, f"/v1/hold{query}", body, **{"role": ADMIN, **more})


def test_an_installation_is_drained_shown_and_released(api: Api) -> None:
    api.store.here = Here("eu-west-1")
    assert ask(api, "GET").json == {
        "region": "eu-west-1",
        "status": "running",
        "hold": None,
        "ended": [],
        "going_on": None,
        "elsewhere": [],
    }
    held = ask(api, "POST", DRAIN)
    assert held.status == 200, held.text
    assert held.json["status"] == "drain"
    assert held.json["hold"] == {
        "id": held.json["hold"]["id"],
        "mode": "drain",
        "by": "demo",
        "at": to_text(NOON),
        "reason": "update to 2.1",
        "released": None,
    }
    assert held.json["going_on"] == {
        "settled": True,
        "drained": True,
        "open_batches": 0,
        "unstarted": 0,
        "running": 0,
        "abandoned": 0,
        "counted_all": True,
    }
    assert ask(api, "GET").json == held.json
    assert api.call("GET", "/v1/health").json["hold"] == {
        "mode": "drain",
        "at": to_text(NOON),
        "reason": "update to 2.1",
    }
    released = ask(api, "DELETE", query="?reason=done")
    assert released.json["status"] == "running"
    assert released.json["ended"][0]["released"]["reason"] == "done"
    assert api.call("GET", "/v1/health").json["hold"] is None


def test_a_drained_installation_can_be_changed(quick: Api) -> None:
    ask(quick, "POST", DRAIN)
    assert quick.register().status == 201


def test_a_standby_can_be_read_and_released_and_nothing_else_be_changed_in_it(api: Api) -> None:
    api.register()
    ask(api, "POST", STANDBY)
    refused = api.call("PATCH", "/v1/schedules/nightly", {"description": "x"})
    assert (refused.status, refused.json["type"]) == (409, "urn:cronfleet:problem:standby")
    assert "eu-west-1 has failed" in refused.json["detail"]
    for method, target in (("POST", "/v1/schedules/nightly/run"), ("DELETE", "/v1/schedules/nightly")):
        assert api.call(method, target).json["type"] == "urn:cronfleet:problem:standby"
    assert api.call("GET", "/v1/schedules/nightly").status == 200
    assert api.call("POST", "/v1/preview", {"trigger": {"cron": "0 2 * * *", "timezone": "UTC"}}).status == 200
    assert ask(api, "POST", DRAIN).status == 409
    assert ask(api, "DELETE").json["status"] == "running"
    assert api.call("DELETE", "/v1/schedules/nightly").status in (200, 204)


def test_a_ping_that_comes_to_a_standby_is_refused_and_not_lost_in_another_copy(quick: Api) -> None:
    quick.register()
    url = quick.call("POST", "/v1/schedules/nightly/heartbeat").json["url"]
    ask(quick, "POST", STANDBY)
    assert quick.call("POST", url[url.index("/v1/") :]).status == 409


def test_whoever_may_not_know_learns_nothing_of_a_standby(quick: Api) -> None:
    ask(quick, "POST", STANDBY)
    refused = quick.call("POST", "/v1/schedules", {}, role=Role.VIEWER)
    assert refused.status == 403
    assert "standby" not in refused.text


def test_another_regions_installation_is_held_through_the_tables_that_it_shares(quick: Api) -> None:
    quick.store.here = Here("eu-central-1")
    held = ask(quick, "POST", STANDBY, "?region=eu-west-1")
    assert (held.json["region"], held.json["status"]) == ("eu-west-1", "standby")
    here = ask(quick, "GET").json
    assert here["status"] == "running"
    assert [(one["region"], one["status"]) for one in here["elsewhere"]] == [("eu-west-1", "standby")]
    quick.clock.advance(MINUTE)
    assert ask(quick, "DELETE", query="?region=eu-west-1").json["status"] == "running"


@pytest.mark.parametrize(
    ("body", "query", "named"),
    [
        ({"mode": "stop", "reason": "x"}, "", "mode"),
        ({"mode": "drain"}, "", "reason"),
        ({"mode": "drain", "reason": ""}, "", "reason"),
        (DRAIN, "?region=Ireland", "region"),
    ],
)
def test_what_cannot_be_used_is_named(quick: Api, body: Any, query: str, named: str) -> None:
    refused = ask(quick, "POST", body, query)
    assert refused.status == 400
    assert [error["field"] for error in refused.json["errors"]] == [named]


def test_the_same_request_under_the_same_key_holds_once(quick: Api) -> None:
    first = ask(quick, "POST", DRAIN, headers={"Idempotency-Key": "k1"})
    again = ask(quick, "POST", DRAIN, headers={"Idempotency-Key": "k1"})
    assert first.json["hold"] == again.json["hold"]


def test_what_a_fail_over_lost_is_looked_for_again_where_a_standby_was_released(quick: Api) -> None:
    mend = {"reason": "eu-west-1 is back"}
    assert quick.call("POST", "/v1/hold/mend", mend, role=ADMIN).status == 409
    ask(quick, "POST", STANDBY)
    assert quick.call("POST", "/v1/hold/mend", mend, role=ADMIN).status == 409
    ask(quick, "DELETE")
    assert quick.call("POST", "/v1/hold/mend", mend, role=ADMIN).status == 202
    assert len(quick.store.open_retimings(10)) == 2

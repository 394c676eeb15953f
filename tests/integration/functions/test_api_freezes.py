"""Freezes over the API: made, shown, changed, thawed; who may; and what schedules say of them."""

from typing import Any

import pytest
import time_machine

from cronfleet.domain.instant import HOUR, MINUTE, SECOND, to_datetime, to_text
from tests.support.api import Answer, Api, api_on, api_on_memory
from tests.support.settable_clock import NOON, TravellingClock
from tests.support.stores import moto_engine

WHOLE = {"scope": {"tenant": True}, "reason": "the ledger moves"}
LABEL = {"scope": {"label": {"team": "billing"}}, "reason": "the ledger moves"}
TIER = {"scope": {"tier": "standard"}, "reason": "the ledger moves"}


@pytest.fixture(params=["memory", "moto"])
def api(request: Any, monkeypatch: Any) -> Any:
    if request.param == "memory":
        yield api_on_memory(monkeypatch)
        return
    with (
        time_machine.travel(to_datetime(NOON), tick=False) as traveller,
        moto_engine(TravellingClock(traveller)) as engine,
    ):
        yield api_on(monkeypatch, engine.store, engine.clock)


@pytest.fixture
def quick(monkeypatch: Any) -> Api:
    return api_on_memory(monkeypatch)


def frozen(api: Api, body: Any = None, **more: Any) -> Answer:
    answer = api.call("POST", "/v1/freezes", body or WHOLE, **more)
    assert answer.status == 201, answer.text
    return answer


def test_a_freeze_is_made_shown_moved_and_thawed(api: Api) -> None:
    made = frozen(api, {**LABEL, "until": to_text(NOON + HOUR)})
    place = made.headers["location"]
    assert made.json == {
        "id": place.rsplit("/", maxsplit=1)[1],
        "scope": LABEL["scope"],
        "reason": "the ledger moves",
        "by": "demo",
        "at": to_text(NOON),
        "until": to_text(NOON + HOUR),
        "status": "in_force",
        "suspends_tenant": False,
        "thawed": None,
    }
    assert api.call("GET", place).json == made.json
    assert api.call("PATCH", place, {"until": None}).json == {**made.json, "until": None}
    assert api.call("PATCH", place, {"reason": "it takes longer"}).json["until"] is None
    asked_at = api.clock.now()
    thawed = api.call("DELETE", f"{place}?reason=done").json
    assert thawed["status"] == "ended"
    assert thawed["thawed"] == {"by": "demo", "at": to_text(asked_at), "reason": "done"}
    assert api.call("GET", "/v1/freezes").json == {"freezes": [thawed]}
    assert api.call("DELETE", place).json == thawed


def test_a_freeze_takes_two_seconds_to_return_and_so_does_a_thaw(quick: Api) -> None:
    place = frozen(quick).headers["location"]
    assert quick.clock.now() - NOON == 2 * SECOND
    quick.call("DELETE", place)
    assert quick.clock.now() - NOON == 4 * SECOND


def test_a_schedule_shows_the_freeze_that_holds_it(api: Api) -> None:
    api.register(labels={"team": "billing"})
    assert api.call("GET", "/v1/schedules/nightly").json["frozen"] is None
    made = frozen(api, {**LABEL, "until": to_text(NOON + HOUR)}).json
    assert api.call("GET", "/v1/schedules/nightly").json["frozen"] == made
    assert api.call("GET", "/v1/schedules").json["schedules"][0]["frozen"] == made
    assert api.call("POST", "/v1/schedules/nightly/pause", {"reason": "lunch"}).json["frozen"] == made


def test_fires_and_explain_say_what_is_frozen(quick: Api) -> None:
    quick.register(trigger={"every": "10m"})
    frozen(quick, {**WHOLE, "until": to_text(NOON + HOUR)})
    fires = quick.call("GET", "/v1/schedules/nightly/fires?limit=8").json["fires"]
    assert [fire["frozen"] for fire in fires] == [True] * 5 + [False] * 3
    said = quick.call("GET", f"/v1/schedules/nightly/explain?at={to_text(NOON + 10 * MINUTE)}").json
    assert (said["code"], said["is_decided"]) == ("frozen", False)


def test_run_now_while_frozen_is_a_conflict_that_names_the_freeze(quick: Api) -> None:
    quick.register()
    made = frozen(quick).json
    answer = quick.call("POST", "/v1/schedules/nightly/run")
    assert answer.status == 409
    assert made["id"] in answer.json["detail"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**WHOLE, "scope": {}}, "scope"),
        ({**WHOLE, "scope": {"tenant": True, "tier": "standard"}}, "scope"),
        ({**WHOLE, "scope": {"label": {}}}, "scope.label"),
        ({**WHOLE, "scope": {"label": {"": "x"}}}, "scope.label."),
        ({**WHOLE, "scope": {"tenant": False}}, "scope.tenant"),
        ({**WHOLE, "scope": {"tier": "golden"}}, "scope.tier"),
        ({**WHOLE, "until": to_text(NOON + SECOND)}, "until"),
        ({**WHOLE, "until": "tomorrow"}, "until"),
        ({"scope": {"tenant": True}}, "reason"),
        ({**WHOLE, "reason": ""}, "reason"),
        ({**WHOLE, "from": "now"}, "from"),
    ],
)
def test_what_is_no_freeze_is_refused_with_the_field(quick: Api, body: Any, field: str) -> None:
    answer = quick.call("POST", "/v1/freezes", body)
    assert answer.status == 400, answer.text
    assert answer.fields == [field]


def test_a_repeated_request_makes_one_freeze(quick: Api) -> None:
    first = frozen(quick, headers={"Idempotency-Key": "k1"})
    again = frozen(quick, headers={"Idempotency-Key": "k1"})
    assert again.json["id"] == first.json["id"]
    assert len(quick.call("GET", "/v1/freezes").json["freezes"]) == 1


def test_a_tier_is_frozen_by_a_platform_admin_and_seen_by_its_tenants(quick: Api) -> None:
    refused = quick.call("POST", "/v1/freezes", TIER)
    assert refused.status == 403
    assert "platform_admin" in refused.json["detail"]
    made = frozen(quick, TIER, role="platform_admin")
    place = made.headers["location"]
    assert quick.call("GET", place, tenant="other", role="viewer").json == made.json
    assert quick.call("DELETE", place).status == 403
    assert quick.call("PATCH", place, {"until": None}).status == 403
    assert quick.call("DELETE", place, role="platform_admin").status == 200


def test_another_tenants_freeze_is_not_there(quick: Api) -> None:
    place = frozen(quick).headers["location"]
    for method, body in (("GET", None), ("PATCH", {"until": None}), ("DELETE", None)):
        assert quick.call(method, place, body, tenant="other").status == 404
    assert quick.call("GET", "/v1/freezes", tenant="other").json == {"freezes": []}


def test_an_ended_freeze_cannot_be_changed(quick: Api) -> None:
    place = frozen(quick, {**WHOLE, "until": to_text(NOON + MINUTE)}).headers["location"]
    quick.clock.advance(MINUTE)
    assert quick.call("GET", place).json["status"] == "ended"
    answer = quick.call("PATCH", place, {"until": None})
    assert answer.status == 409
    assert "make a new one" in answer.json["detail"]


def test_the_freeze_of_a_suspended_tenant_ends_with_its_resumption_alone(quick: Api) -> None:
    admin: dict[str, Any] = {"tenant": "root", "role": "platform_admin"}
    assert quick.call("POST", "/v1/tenants", {"id": "acme"}, **admin).status == 201
    assert quick.call("POST", "/v1/tenants/acme/suspend", {"reason": "unpaid"}, **admin).status == 200
    (freeze,) = quick.call("GET", "/v1/freezes").json["freezes"]
    assert freeze["suspends_tenant"] is True
    acting = {**admin, "headers": {"Cronfleet-Tenant": "acme"}}
    answer = quick.call("DELETE", f"/v1/freezes/{freeze['id']}", **acting)
    assert answer.status == 409
    assert "resumes the tenant" in answer.json["detail"]


def test_changes_of_freezes_are_in_the_audit_log(quick: Api) -> None:
    made = frozen(quick).json
    entries = quick.call("GET", "/v1/audit").json["entries"]
    assert [(one["action"], one["subject"]) for one in entries] == [("freeze", f"freeze:{made['id']}")]

"""GET /v1/forecast: a tenant's own as its schedules stand, that of all as it was counted, each to whom it is for."""

from typing import Any

import pytest

from cronfleet.domain.instant import DAY, HOUR
from cronfleet.services import forecasts
from cronfleet.services.forecaster import Forecaster
from tests.support.api import NIGHTLY, Api, api_on_memory
from tests.support.settable_clock import NOON


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    """The front door on the memory store: what stores promise is in their contract."""
    return api_on_memory(monkeypatch)


def have(api: Api, name: str, cron: str, tenant: str = "acme", **more: Any) -> None:
    body = {**NIGHTLY, "id": name, "trigger": {"cron": cron, "timezone": "UTC"}, **more}
    assert api.call("POST", "/v1/schedules", body, tenant=tenant).status == 201


def test_a_tenant_sees_its_own_fires_by_the_minute_at_once(api: Api) -> None:
    have(api, "hourly", "15 * * * *")
    have(api, "noon", "15 13 * * *")
    have(api, "theirs", "15 13 * * *", tenant="rival")
    have(api, "asleep", "* * * * *", held=True)
    found = api.call("GET", "/v1/forecast?from=2026-11-30T13:00:00Z&to=2026-11-30T15:00:00Z")
    assert found.status == 200
    said = found.json
    assert said["minutes"] == [*[0] * 15, 2, *[0] * 59, 1, *[0] * 44]
    assert (said["fires"], said["peak"]) == (3, {"at": "2026-11-30T13:15:00Z", "fires": 2})
    assert (said["mean"], said["peak_to_mean"]) == (0.025, 80)
    assert (said["schedules"], said["is_complete"], said["scope"]) == (2, True, "tenant")
    assert said["as_of"] == said["read_at"] == "2026-11-30T12:00:00Z"
    assert api.call("GET", "/v1/forecast").json["fires"] == 25


def test_by_shard_and_by_tenant_the_parts_make_the_whole(api: Api) -> None:
    for number in range(8):
        have(api, f"hourly-{number}", f"{number + 1} * * * *")
    shards = api.call("GET", "/v1/forecast?by=shard").json
    assert len(shards["shards"]) > 1
    assert sum(one["fires"] for one in shards["shards"]) == shards["fires"] == 192
    assert (shards["minutes"], shards["tenants"]) == (None, None)
    assert api.call("GET", "/v1/forecast?by=tenant").json["tenants"] == [{"tenant": "acme", "fires": 192}]


def test_pages_of_a_large_tenant_add_up(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forecasts, "MOST_SCHEDULES", 4)
    monkeypatch.setattr(forecasts, "LIST_PAGE", 2)
    for number in range(7):
        have(api, f"hourly-{number}", "5 * * * *")
    first = api.call("GET", "/v1/forecast").json
    assert (first["schedules"], first["fires"], first["is_complete"]) == (4, 96, False)
    second = api.call("GET", f"/v1/forecast?cursor={first['cursor']}").json
    assert (second["schedules"], second["fires"], second["is_complete"]) == (3, 72, True)
    monkeypatch.setattr(forecasts, "MOST_WORK", 10)
    assert api.call("GET", "/v1/forecast").json["schedules"] == 2, "what fires often ends an answer sooner"


def test_a_platform_admin_sees_all_tenants_as_the_sweeper_counted_them(api: Api) -> None:
    path = "/v1/forecast?scope=platform"
    have(api, "hourly", "15 * * * *")
    have(api, "theirs", "20 13 * * *", tenant="rival")
    early = api.call("GET", path, role="platform_admin")
    assert (early.status, early.headers["retry-after"]) == (503, "2")
    Forecaster(store=api.store, clock=api.clock).advance(NOON + HOUR, 64)
    api.clock.advance(10 * 60_000)
    said = api.call("GET", f"{path}&to=2026-11-30T14:00:00Z", role="platform_admin").json
    assert (said["fires"], said["minutes"][5], said["minutes"][70]) == (3, 1, 1)
    assert (said["as_of"], said["scope"]) == ("2026-11-30T12:00:00Z", "platform")
    tenants = api.call("GET", f"{path}&by=tenant&to=2026-11-30T13:30:00Z", role="platform_admin").json
    assert tenants["tenants"] == [{"tenant": "acme", "fires": 2}, {"tenant": "rival", "fires": 1}]
    assert (tenants["from"], tenants["to"]) == ("2026-11-30T12:00:00Z", "2026-11-30T14:00:00Z")
    shards = api.call("GET", f"{path}&by=shard", role="platform_admin").json
    assert sum(one["fires"] for one in shards["shards"]) == shards["fires"] == 25
    api.clock.advance(DAY)
    late = api.call("GET", f"{path}&to=2026-12-08T12:10:00Z", role="platform_admin")
    assert late.status == 503
    assert "2026-11-30T12:00:00Z" in late.json["detail"]


@pytest.mark.parametrize("role", ["viewer", "tenant_admin"])
def test_nobody_else_sees_other_tenants(api: Api, role: str) -> None:
    assert api.call("GET", "/v1/forecast?scope=platform", role=role).status == 403
    assert api.call("GET", "/v1/forecast", role=role).status == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("from=2026-11-30T11:00:00Z", "from"),
        ("to=2026-11-30T12:00:00Z", "to"),
        ("to=2026-12-07T12:01:00Z", "to"),
        ("from=2026-12-08T00:00:00Z", "from"),
        ("from=9999-12-31T23:59:59Z&to=9999-12-31T23:59:59Z", "from"),
        ("by=hour", "by"),
        ("scope=all", "scope"),
        ("cursor=nonsense", "cursor"),
        ("limit=5", "limit"),
    ],
)
def test_what_nobody_forecasts_is_refused_with_its_field(api: Api, query: str, field: str) -> None:
    answer = api.call("GET", f"/v1/forecast?{query}")
    assert answer.status == 400
    assert [one["field"] for one in answer.json["errors"]] == [field]


def test_a_whole_week_is_one_answer(api: Api) -> None:
    have(api, "minutely", "* * * * *")
    said = api.call("GET", "/v1/forecast?to=2026-12-07T12:00:00Z").json
    # The minute of now has fired already.
    assert (len(said["minutes"]), said["fires"], said["peak_to_mean"]) == (10_080, 10_079, 1)


@pytest.mark.parametrize("by", ["minute", "shard", "tenant"])
def test_minutes_before_the_hour_in_which_all_were_counted_are_answered_too(api: Api, by: str) -> None:
    have(api, "hourly", "2 * * * *")
    Forecaster(store=api.store, clock=api.clock).advance(NOON + HOUR, 64)
    api.clock.advance(60_000)
    path = f"/v1/forecast?scope=platform&by={by}&from=2026-11-30T11:53:00Z"
    said = api.call("GET", f"{path}&to=2026-11-30T12:05:00Z", role="platform_admin").json
    parts = {"minute": said["minutes"], "shard": said["shards"], "tenant": said["tenants"]}[by]
    assert said["fires"] == sum(one if by == "minute" else one["fires"] for one in parts) == 1
    if by == "minute":
        assert (said["from"], parts) == ("2026-11-30T11:53:00Z", [*[0] * 9, 1, 0, 0])
    past = api.call("GET", f"{path}&to=2026-11-30T11:55:00Z", role="platform_admin")
    assert (past.status, past.json["fires"]) == (200, 0)


def test_who_asks_for_just_seven_days_from_now_is_answered_in_the_middle_of_a_minute_too(api: Api) -> None:
    have(api, "minutely", "* * * * *")
    api.clock.advance(30_500)
    said = api.call("GET", "/v1/forecast?to=2026-12-07T12:00:30.500Z")
    assert (said.status, said.json["to"]) == (200, "2026-12-07T12:01:00Z")
    assert api.call("GET", "/v1/forecast?to=2026-12-07T12:01:01Z").fields == ["to"]

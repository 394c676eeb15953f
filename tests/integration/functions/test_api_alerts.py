"""Channels, incidents and objectives through the API."""

from typing import Any

import pytest

from cronfleet.domain.errand import ErrandKind
from cronfleet.domain.incident import Broken, IncidentKind
from cronfleet.domain.watch import Watch
from cronfleet.ports.alerts import PutAlert
from cronfleet.services.incidents import Incidents
from tests.support.api import NIGHTLY, Api, api_on_memory
from tests.support.settable_clock import NOON, CountingIds

SLACK = {"kind": "slack", "url_secret": "cronfleet/acme/slack", "default": True}
OBJECTIVES = {"starts_within": "5m", "succeeds_by": "06:00", "runs_no_longer_than": "learned"}
BROKEN = Broken(NOON, "the fire of noon did not start within 5m", {}, ("nightly",), 1)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return api_on_memory(monkeypatch)


def opened(api: Api) -> Any:
    incidents = Incidents(store=api.store, clock=api.clock, ids=CountingIds(900), shards=64)
    return incidents.open("acme", "schedule:nightly", IncidentKind.STARTS_WITHIN, BROKEN)


def test_a_schedule_says_what_is_expected_of_it_and_its_watch_is_woken_by_each_change(api: Api) -> None:
    made = api.register(objectives=OBJECTIVES)
    assert made.status == 201
    assert made.json["objectives"] == {**OBJECTIVES, "channels": []}
    first = api.store.get_errand("acme", ErrandKind.WATCH, "nightly")
    assert first is not None
    assert first.due_at == NOON
    api.clock.advance(5_000)
    api.call("POST", "/v1/schedules/nightly/pause", {"reason": "holiday"})
    again = api.store.get_errand("acme", ErrandKind.WATCH, "nightly")
    assert again.due_at == NOON + 5_000
    changed = api.call("PATCH", "/v1/schedules/nightly", {"objectives": {"ping_within": "10m", "succeeds_by": None}})
    assert changed.json["objectives"] == {
        "starts_within": "5m",
        "runs_no_longer_than": "learned",
        "ping_within": "10m",
        "channels": [],
    }
    assert api.call("PATCH", "/v1/schedules/nightly", {"objectives": None}).json["objectives"] is None


def test_a_schedule_of_which_nothing_is_expected_has_no_watch(api: Api) -> None:
    api.register()
    assert api.store.state.errands == {}


@pytest.mark.parametrize(
    ("objectives", "field"),
    [
        ({}, "objectives"),
        ({"starts_within": "soon"}, "objectives.starts_within"),
        ({"starts_within": "32d"}, "objectives.starts_within"),
        ({"succeeds_by": "25:00"}, "objectives.succeeds_by"),
        ({"runs_no_longer_than": "known"}, "objectives.runs_no_longer_than"),
        ({"ping_within": "5m", "channels": ["no channel"]}, "objectives.channels.0"),
        ({"ping_within": "5m", "speed": "high"}, "objectives.speed"),
        ({"ping_within": 5}, "objectives.ping_within"),
    ],
)
def test_objectives_that_are_none_are_refused_by_their_field(api: Api, objectives: Any, field: str) -> None:
    refused = api.call("POST", "/v1/schedules", {**NIGHTLY, "objectives": objectives})
    assert refused.status in (400, 422)
    assert refused.fields == [field]


def test_a_channel_is_made_replaced_and_deleted_and_each_is_audited(api: Api) -> None:
    assert api.call("PUT", "/v1/channels/night", SLACK).status == 201
    same = api.call("PUT", "/v1/channels/night", SLACK)
    assert (same.status, same.json["default"]) == (200, True)
    quiet = {"start": "22:00", "end": "07:00", "timezone": "Asia/Kolkata", "days": ["sun", "mon"]}
    changed = api.call("PUT", "/v1/channels/night", {**SLACK, "quiet_hours": quiet, "template": "{{state}}: {{text}}"})
    assert changed.json["quiet_hours"] == {**quiet, "days": ["mon", "sun"]}
    assert [one["name"] for one in api.call("GET", "/v1/channels").json["channels"]] == ["night"]
    assert api.call("GET", "/v1/channels", tenant="other").json["channels"] == []
    assert api.call("DELETE", "/v1/channels/night").status == 204
    assert api.call("GET", "/v1/channels/night").status == 404
    assert api.call("PUT", "/v1/channels/night", SLACK).status == 201
    actions = [entry.action for entry in api.store.state.audit.values()]
    assert actions == ["put_channel", "put_channel", "delete_channel", "put_channel"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"kind": "pigeon"}, "kind"),
        ({"kind": "slack"}, "url_secret"),
        ({"kind": "slack", "url_secret": "cronfleet/other/slack"}, "url_secret"),
        ({"kind": "webhook"}, "url"),
        ({"kind": "webhook", "url": "ftp://example.com"}, "url"),
        ({"kind": "webhook", "url": "https://example.com", "to": ["a@example.com"]}, "to"),
        ({"kind": "email", "to": []}, "to"),
        ({"kind": "email", "to": ["nobody"]}, "to.0"),
        ({"kind": "email", "to": ["a@example.com\r\nBcc: b@example.com"]}, "to.0"),
        ({"kind": "sns", "topic_arn": "arn:aws:sns:eu-west-1:111122223333:orders"}, "topic_arn"),
        ({**SLACK, "template": "{{secret}}"}, "template"),
        ({**SLACK, "template": "{{schedule"}, "template"),
        ({**SLACK, "quiet_hours": {"start": "22", "end": "07:00", "timezone": "UTC"}}, "quiet_hours.start"),
        ({**SLACK, "quiet_hours": {"start": "22:00", "end": "07:00", "timezone": "Mars"}}, "quiet_hours.timezone"),
        (
            {**SLACK, "quiet_hours": {"start": "22:00", "end": "07:00", "timezone": "UTC", "days": ["day"]}},
            "quiet_hours.days",
        ),
    ],
)
def test_a_channel_that_could_never_be_told_is_refused_by_its_field(api: Api, body: Any, field: str) -> None:
    refused = api.call("PUT", "/v1/channels/night", body)
    assert refused.status in (400, 422)
    assert refused.fields == [field]


def test_the_test_button_owes_one_message_however_often_it_is_pressed_under_one_key(api: Api) -> None:
    api.call("PUT", "/v1/channels/night", SLACK)
    key = {"Idempotency-Key": "press-1"}
    first = api.call("POST", "/v1/channels/night/test", headers=key)
    again = api.call("POST", "/v1/channels/night/test", headers=key)
    assert (first.status, first.json) == (202, again.json)
    read = api.call("GET", first.headers["location"])
    assert (read.json["edge"], read.json["status"]) == ("test", "owed")
    assert len(api.store.state.errands) == 1
    assert api.call("POST", "/v1/channels/gone/test").status == 404


def test_incidents_are_listed_read_and_acknowledged_by_their_tenant_alone(api: Api) -> None:
    api.call("PUT", "/v1/channels/night", SLACK)
    incident = opened(api)
    for query in ("", "?status=open", "?schedule=nightly", "?status=open&schedule=nightly"):
        listed = api.call("GET", f"/v1/incidents{query}").json["incidents"]
        assert [one["id"] for one in listed] == [incident.incident_id]
    for query in ("?status=healed", "?schedule=other", "?status=open&schedule=other"):
        assert api.call("GET", f"/v1/incidents{query}").json["incidents"] == []
    assert api.call("GET", "/v1/incidents", tenant="other").json["incidents"] == []
    path = f"/v1/incidents/{incident.incident_id}"
    assert api.call("GET", path, tenant="other").status == 404
    assert [one["channel"] for one in api.call("GET", path).json["notices"]] == ["night"]
    seen = api.call("POST", f"{path}/acknowledge", {"note": "on it"})
    assert seen.json["acknowledged"]["note"] == "on it"
    assert seen.json["status"] == "open"


def test_the_installations_own_are_for_platform_admins(api: Api) -> None:
    for path in ("/v1/channels?scope=platform", "/v1/incidents?scope=platform"):
        assert api.call("GET", path).status == 403
        assert api.call("GET", path, role="platform_admin").status == 200
    body = {"kind": "webhook", "url": "https://alerts.example.com/in", "default": True}
    assert api.call("PUT", "/v1/channels/ops?scope=platform", body, role="platform_admin").status == 201
    assert api.call("GET", "/v1/channels").json["channels"] == []


def test_a_schedule_says_how_what_is_expected_of_it_stands(api: Api) -> None:
    api.register(objectives=OBJECTIVES)
    path = "/v1/schedules/nightly/objectives"
    fresh = api.call("GET", path)
    assert fresh.status == 200
    states = [(one["kind"], one["expected"], one["state"]) for one in fresh.json["objectives"]]
    assert states == [
        ("starts_within", "5m", "not_judged_yet"),
        ("succeeds_by", "06:00", "not_judged_yet"),
        ("runs_no_longer_than", "learned", "not_judged_yet"),
    ]
    assert (fresh.json["judged_until"], fresh.json["learned"]) == (None, None)
    incident = opened(api)
    api.store.commit([PutAlert(Watch("acme", "nightly", NOON, NOON, rev=1))])
    broken = api.call("GET", path).json
    assert [one["state"] for one in broken["objectives"]] == ["broken", "kept", "kept"]
    assert broken["objectives"][0]["incident"]["id"] == incident.incident_id
    api.call("POST", "/v1/schedules/nightly/pause", {"reason": "holiday"})
    assert [one["state"] for one in api.call("GET", path).json["objectives"]] == ["broken", *["not_watched"] * 2]
    assert api.call("GET", path, tenant="rival").status == 404


def test_a_schedule_of_which_nothing_is_expected_says_so(api: Api) -> None:
    api.register()
    assert api.call("GET", "/v1/schedules/nightly/objectives").json["objectives"] == []

"""Calendars over HTTP: put them, use them, see what a new version changes before and after it comes."""

from typing import Any

import pytest

from cronfleet import bootstrap
from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.retiming import Cause
from cronfleet.services.calendar_step import CalendarStep
from cronfleet.services.retiming import Retimings
from tests.support.api import Api, api_on_memory
from tests.support.world import Notes

UK = {
    "holidays": [
        {"date": "2026-12-25", "label": "Christmas Day"},
        {"date": "2026-12-28", "label": "Boxing Day (substitute)"},
        "2027-01-01",
    ],
    "covers_until": "2027-12-31",
}


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    return api_on_memory(monkeypatch)


def cron(expression: str, mode: str, **more: Any) -> dict[str, Any]:
    """A trigger in London under the calendar `uk`."""
    return {"cron": expression, "timezone": "Europe/London", "calendar": {"name": "uk", "mode": mode, **more}}


def fires(api: Api, first: str, last: str, schedule_id: str = "nightly") -> list[str]:
    answer = api.call("GET", f"/v1/schedules/{schedule_id}/fires?from={first}T00:00:00Z&to={last}T23:59:59Z&limit=99")
    assert answer.status == 200, answer.text
    return [fire["nominal_at"][5:10] for fire in answer.json["fires"]]


def retimed(api: Api) -> Any:
    """What the sweeper does about open jobs."""
    step = {Cause.CALENDAR: CalendarStep(api.store)}
    jobs = Retimings(store=api.store, clock=api.clock, ids=bootstrap.SystemIds(), telemetry=Notes(), steps=step)
    return jobs.advance(api.clock.now() + MINUTE)


# --- calendars ---------------------------------------------------------------------------------------------------


def test_a_calendar_is_put_read_listed_and_put_again(api: Api) -> None:
    made = api.call("PUT", "/v1/calendars/uk?reason=first", UK)
    assert made.status == 201
    assert made.headers["location"] == "/v1/calendars/uk"
    assert (made.json["version"], made.json["reason"], made.json["warnings"]) == (1, "first", [])
    read = api.call("GET", "/v1/calendars/uk")
    assert read.json["holidays"][0] == {"date": "2026-12-25", "label": "Christmas Day"}
    assert read.json["weekend"] == ["saturday", "sunday"]
    same = api.call("PUT", "/v1/calendars/uk", {name: read.json[name] for name in (*UK, "weekend")})
    assert (same.status, same.json["version"], same.headers["etag"]) == (200, 1, read.headers["etag"])
    other = api.call(
        "PUT", "/v1/calendars/uk", {**UK, "description": "England"}, headers={"If-Match": read.headers["etag"]}
    )
    assert (other.status, other.json["version"]) == (200, 2)
    late = api.call("PUT", "/v1/calendars/uk", UK, headers={"If-Match": read.headers["etag"]})
    assert (late.status, late.fields) == (412, ["If-Match"])
    assert [one["version"] for one in api.call("GET", "/v1/calendars").json["calendars"]] == [2]
    assert [one["version"] for one in api.call("GET", "/v1/calendars/uk/versions").json["versions"]] == [2, 1]
    assert api.call("GET", "/v1/calendars/uk?version=1").json["description"] == ""


def test_versions_come_in_pages_and_calendars_are_a_tenants_own(api: Api) -> None:
    for number in range(5):
        api.call("PUT", "/v1/calendars/uk", {**UK, "description": str(number)})
    first = api.call("GET", "/v1/calendars/uk/versions?limit=3").json
    rest = api.call("GET", f"/v1/calendars/uk/versions?limit=3&cursor={first['cursor']}").json
    assert [one["version"] for one in first["versions"] + rest["versions"]] == [5, 4, 3, 2, 1]
    assert rest["cursor"] is None
    assert api.call("GET", "/v1/calendars/uk", tenant="globex").status == 404
    assert api.call("GET", "/v1/calendars", tenant="globex").json["calendars"] == []


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({}, "body", "holds nothing"),
        ({"holidays": ["2026-02-30"]}, "holidays.0", "no date"),
        ({"holidays": ["2026-12-25", 7]}, "holidays.1", "must be a date"),
        ({"freezes": [{"from": "2026-12-25", "to": "2026-12-24"}]}, "freezes.0.to", "lies before"),
        ({"freezes": [{"from": "2026-12-25", "until": "2026-12-26"}]}, "freezes.0.until", "known are"),
        ({"holidays": ["2026-12-25"], "weekend": ["caturday"]}, "weekend", "no weekday"),
        ({"weekend": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]}, "weekend", "no business day"),
        ({"holidays": [{"from": "1990-01-01", "to": "2020-01-01"}]}, "holidays", "5000 are allowed"),
        ({"holidays": ["2026-12-25"], "kind": "freeze"}, "kind", "goes with ical"),
        ({"holiday": ["2026-12-25"]}, "holiday", "did you mean holidays"),
        ({"ical": "hello"}, "ical", "line 1"),
        ({"ical": "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:x\r\nEND:VCALENDAR\r\n"}, "ical", "names no date"),
    ],
)
def test_what_is_wrong_with_a_calendar_is_named(api: Api, body: Any, field: str, says: str) -> None:
    answer = api.call("PUT", "/v1/calendars/uk", body)
    assert (answer.status, answer.fields) == (400, [field])
    assert says in answer.json["errors"][0]["reason"]


def test_a_calendar_about_to_run_out_says_so(api: Api) -> None:
    made = api.call("PUT", "/v1/calendars/uk", {"holidays": ["2026-12-25"]})
    assert made.json["covers_until"] == "2026-12-25"
    assert [one["code"] for one in made.json["warnings"]] == ["calendar_runs_out"]


def test_a_calendar_file_is_put_as_it_is(api: Api) -> None:
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//x", "BEGIN:VEVENT", "UID:1", "SUMMARY:Christmas"]
    lines += ["DTSTART;VALUE=DATE:20201225", "RRULE:FREQ=YEARLY", "END:VEVENT", "END:VCALENDAR", ""]
    headers = {"content-type": "text/calendar"}
    text = "\r\n".join(lines)
    made = api.call("PUT", "/v1/calendars/uk?weekend=friday,saturday&kind=freeze", text, headers=headers)
    assert made.status == 201, made.text
    assert made.json["weekend"] == ["friday", "saturday"]
    assert made.json["freezes"][1] == {"date": "2026-12-25", "label": "Christmas"}
    assert made.json["covers_until"] == "2036-12-31"


# --- schedules under a calendar ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trigger", "days"),
    [
        (cron("0 9 * * *", "exclude"), "12-23 12-24 12-26 12-27 12-29 12-30 12-31 01-02 01-03 01-04"),
        (cron("0 9 * * *", "business_days"), "12-23 12-24 12-29 12-30 12-31 01-04"),
        (cron("0 9 25,27 * *", "roll_forward"), "12-29"),
        (cron("0 9 25,27 * *", "roll_back"), "12-24"),
        (cron("0 9 * * *", "nth_business_day", nth=-1), "12-31"),
        (cron("0 9 * * *", "nth_business_day", nth=1), "01-04"),
    ],
    ids=lambda value: value["calendar"]["mode"] if isinstance(value, dict) else "",
)
def test_a_schedule_fires_as_its_calendar_says(api: Api, trigger: dict[str, Any], days: str) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    made = api.register(trigger=trigger)
    assert made.status == 201, made.text
    assert made.json["trigger"] == {**trigger, "calendar": {**trigger["calendar"], "version": 1}}
    assert fires(api, "2026-12-23", "2027-01-04") == days.split()
    body = {"trigger": trigger, "after": "2026-12-22T12:00:00Z", "until": "2027-01-04T12:00:00Z", "limit": 50}
    seen = api.call("POST", "/v1/preview", body)
    assert [at[5:10] for at in seen.json["fires"]] == days.split()


@pytest.mark.parametrize(
    ("trigger", "field"),
    [
        (cron("0 9 * * *", "skip"), "trigger.calendar.mode"),
        (cron("0 9 * * *", "exclude", nth=2), "trigger.calendar.nth"),
        (cron("0 9 * * *", "nth_business_day"), "trigger.calendar.nth"),
        (cron("0 9 * * *", "nth_business_day", nth=24), "trigger.calendar.nth"),
        (cron("0 9 1 * *", "nth_business_day", nth=2), "trigger.calendar.mode"),
        (cron("0 9 * * *", "exclude", version=3), "trigger.calendar.version"),
        (cron("0 9 * * *", "exclude", versoin=3), "trigger.calendar.versoin"),
        ({**cron("0 9 * * *", "exclude"), "calendar": {"name": "fr", "mode": "exclude"}}, "trigger.calendar.name"),
        ({"every": "1h", "calendar": {"name": "uk", "mode": "exclude"}}, "trigger.calendar"),
        (cron("0 9 * * 0", "business_days"), "trigger.calendar"),
    ],
)
def test_what_is_wrong_with_the_use_of_a_calendar_is_named(api: Api, trigger: Any, field: str) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    answer = api.register(trigger=trigger)
    assert (answer.status, answer.fields) == (400, [field]), answer.text


def test_a_calendar_that_leaves_no_day_is_refused_alike_where_a_trigger_is_tried_and_where_it_is_kept(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    trigger = cron("0 9 * * 0", "business_days")
    kept = api.register(trigger=trigger)
    assert kept.fields == ["trigger.calendar"]
    assert "leaves no day on which it can fire" in kept.json["errors"][0]["reason"]
    assert api.call("POST", "/v1/preview", {"trigger": trigger}).json["errors"] == kept.json["errors"]


def test_explain_names_the_calendar_the_date_its_label_and_where_it_went(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    api.register(trigger=cron("0 9 25 * *", "roll_forward"))
    said = api.call("GET", "/v1/schedules/nightly/explain?at=2026-12-25T09:00:00Z").json
    assert said["code"] == "calendar"
    assert not said["is_named"]
    wanted = {
        "calendar": "uk",
        "calendar_version": 1,
        "mode": "roll_forward",
        "date": "2026-12-25",
        "day": "holiday",
        "label": "Christmas Day",
        "rolled_to_at": "2026-12-29T09:00:00Z",
        "covers_until": "2027-12-31",
    }
    assert {name: said["detail"][name] for name in wanted} == wanted
    assert api.call("GET", "/v1/schedules/nightly/explain?at=2026-12-29T09:00:00Z").json["code"] == "not_due"
    assert api.call("GET", "/v1/schedules/nightly/explain?at=2026-12-25T09:01:00Z").json["code"] == "not_named"


def test_a_calendar_in_use_is_not_deleted_and_one_that_comes_back_goes_on_counting(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    api.register(trigger=cron("0 9 * * *", "exclude"))
    refused = api.call("DELETE", "/v1/calendars/uk")
    assert refused.status == 409
    assert "nightly" in refused.json["detail"]
    api.call("PATCH", "/v1/schedules/nightly", {"trigger": {"calendar": None}})
    assert api.call("DELETE", "/v1/calendars/uk").status == 204
    assert api.call("GET", "/v1/calendars/uk").status == 404
    assert api.call("GET", "/v1/calendars/uk?version=1").status == 200
    assert api.register(id="other", trigger=cron("0 9 * * *", "exclude")).fields == ["trigger.calendar.name"]
    assert api.call("PUT", "/v1/calendars/uk", UK).json["version"] == 2


# --- a new version -----------------------------------------------------------------------------------------------

LESS = {**UK, "holidays": [*UK["holidays"], {"date": "2026-12-24", "label": "Christmas Eve"}]}


def test_a_dry_run_shows_which_schedules_and_dates_change_and_changes_nothing(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    api.register(trigger=cron("0 9 24,25 * *", "roll_forward"))
    api.register(id="pinned", trigger=cron("0 9 24 * *", "exclude", pinned=True))
    api.register(id="untouched", trigger=cron("0 9 13 * *", "exclude"))
    shown = api.call("PUT", "/v1/calendars/uk?dry_run=true", LESS).json
    assert shown["changes"]["schedules"] == [
        {
            "schedule_id": "nightly",
            "mode": "roll_forward",
            "removed": ["2026-12-24"],
            "added": [],
            "truncated": False,
            "error": None,
        }
    ]
    assert (shown["changes"]["from"], shown["changes"]["looked_at"]) == ("2026-11-30", 3)
    assert api.call("GET", "/v1/calendars/uk").json["version"] == 1
    assert api.store.state.open_retimings == {}
    assert api.call("PUT", "/v1/calendars/uk", LESS).json["changes"] == shown["changes"]


def test_a_new_version_comes_to_every_schedule_that_follows_with_a_reason(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    api.register(trigger=cron("0 9 24 * *", "exclude"))
    api.register(id="pinned", trigger=cron("0 9 24 * *", "exclude", pinned=True))
    api.register(id="paused", trigger=cron("0 9 24 * *", "exclude"))
    api.call("POST", "/v1/schedules/paused/pause", {"reason": "x"})
    assert api.call("GET", "/v1/schedules/nightly").json["next_fire_at"] == "2026-12-24T09:00:00Z"
    api.clock.advance(MINUTE)
    api.call("PUT", "/v1/calendars/uk?reason=new%20law", LESS)
    assert retimed(api).tally.changed == 2
    after = api.call("GET", "/v1/schedules/nightly").json
    assert (after["version"], after["next_fire_at"]) == (2, "2027-01-24T09:00:00Z")
    assert after["trigger"]["calendar"]["version"] == 2
    definition = api.store.get_definition("acme", "nightly", 2)
    assert definition.author == SCHEDULER_ACTOR
    assert definition.reason == "calendar 'uk' came to version 2: new law"
    assert api.call("GET", "/v1/schedules/pinned").json["trigger"]["calendar"]["version"] == 1
    assert api.call("GET", "/v1/schedules/paused").json["status"] == "paused"
    said = api.call("GET", "/v1/schedules/nightly/explain?at=2026-12-24T09:00:00Z").json
    assert (said["code"], said["detail"]["label"], said["detail"]["named_by_version"]) == (
        "calendar",
        "Christmas Eve",
        1,
    )
    assert retimed(api).tally.changed == 0


def test_an_edit_while_the_new_version_is_on_its_way_keeps_the_old_one(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    api.register(trigger=cron("0 9 24 * *", "exclude"))
    api.call("PUT", "/v1/calendars/uk", LESS)
    edited = api.call("PATCH", "/v1/schedules/nightly", {"description": "x"})
    assert edited.json["trigger"]["calendar"]["version"] == 1
    retimed(api)
    assert api.call("GET", "/v1/schedules/nightly").json["trigger"]["calendar"]["version"] == 2


def test_a_schedule_whose_calendar_cannot_be_read_is_still_shown_explained_and_mended(api: Api) -> None:
    api.call("PUT", "/v1/calendars/uk", UK)
    api.register(trigger=cron("0 9 24 * *", "exclude"))
    del api.store.state.calendars["acme", "uk", 1]
    shown = api.call("GET", "/v1/schedules/nightly")
    assert (shown.status, shown.json["trigger"]["calendar"]["version"]) == (200, 1)
    assert api.call("GET", "/v1/schedules").status == 200
    for at in ("2026-12-24T09:00:00Z", "2026-11-29T09:00:00Z", "2026-12-25T09:00:00Z"):
        assert api.call("GET", f"/v1/schedules/nightly/explain?at={at}").status == 200
    fires_then = api.call("GET", "/v1/schedules/nightly/fires")
    assert (fires_then.status, "cannot be read" in fires_then.text or "is not there" in fires_then.text) == (400, True)
    mended = api.call("PATCH", "/v1/schedules/nightly", {"trigger": {"calendar": None}})
    assert (mended.status, mended.json["next_fire_at"]) == (200, "2026-12-24T09:00:00Z")

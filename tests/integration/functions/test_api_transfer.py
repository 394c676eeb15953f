"""A tenant exported and applied elsewhere: what goes out comes in, once, and says the same again."""

import json

import pytest

from cronfleet.domain.instant import DAY, to_text
from cronfleet.domain.tenant import Tenant
from cronfleet.ports.job_store import Damaged, PutTenant
from cronfleet.services import transfer
from functions.api import applying

CALENDAR = {"holidays": [{"date": "2026-12-25", "label": "Christmas"}], "weekend": ["saturday", "sunday"]}
POLICIES = {
    "misfire": {"policy": "catch_up", "max": 5, "window_seconds": 7200},
    "overlap": "skip",
    "jitter_seconds": 0,
    "retry": {"max_attempts": 5, "backoff": {"kind": "fixed", "base_seconds": 7}},
}
CRON = {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"}


def exported(api, tenant="acme", query=""):
    answer = api.call("GET", f"/v1/tenants/{tenant}/export{query}", tenant=tenant)
    assert answer.status == 200, answer.text
    return answer.json


def said(document):
    """What a document says of the tenant, whoever that is and whenever it was asked."""
    return {name: document[name] for name in ("format", "calendars", "schedules", "unreadable", "cursor")}


def applied(api, document, tenant="beta", query=""):
    answer = api.call("POST", f"/v1/imports/cronfleet{query}", document, tenant=tenant)
    assert answer.status == 200, answer.text
    return answer.json


def outcomes(answer):
    return {one["id"]: one["outcome"] for one in answer["schedules"]}


def changes(api, tenant="beta"):
    """The ETag of each schedule and calendar: every accepted change moves one."""
    schedules = api.call("GET", "/v1/schedules", tenant=tenant).json["schedules"]
    calendars = api.call("GET", "/v1/calendars", tenant=tenant).json["calendars"]
    listed = [f"/v1/schedules/{one['id']}" for one in schedules] + [f"/v1/calendars/{one['name']}" for one in calendars]
    return {path: api.call("GET", path, tenant=tenant).headers["etag"] for path in listed}


def done(answer, *statuses):
    assert answer.status in (statuses or (200, 201)), answer.text
    return answer.json


@pytest.fixture
def acme(api):
    """A tenant with one of everything that a document can hold."""
    api.store.commit([PutTenant(Tenant("acme", rev=1, change_id="made"), None)])
    done(api.call("PUT", "/v1/calendars/uk", CALENDAR))
    done(api.call("PUT", "/v1/calendars/uk", {**CALENDAR, "holidays": ["2026-12-25", "2026-12-28"]}))
    done(api.call("PUT", "/v1/calendars/unused", CALENDAR))
    done(api.register(policies=POLICIES, labels={"team": "billing"}, owner="billing-team", payload={"a": [1, 2.5]}))
    use = {"name": "uk", "mode": "roll_forward"}
    done(api.register(id="follows", trigger={**CRON, "calendar": use}))
    done(api.register(id="pinned", trigger={**CRON, "calendar": {**use, "version": 1, "pinned": True}}))
    done(api.register(id="paused", trigger={"every": "10s"}))
    until = to_text(api.clock.now() + DAY)
    done(api.call("POST", "/v1/schedules/paused/pause", {"reason": "month end", "until": until}))
    done(api.register(id="held", held=True, shadow=True))
    done(api.register(id="once", trigger={"at": to_text(api.clock.now() + 2 * DAY)}, end_at="2030-01-01T00:00:00Z"))
    target = {"url": "https://example.com/hook", "secret": "cronfleet/acme/hook"}
    done(api.register(id="signed", target=target))
    done(api.register(id="entrusted", target={"handler": "x.y", "secrets": {"TOKEN": "cronfleet/acme/token"}}))
    return api


def test_an_export_applied_to_a_fresh_tenant_exports_the_same(acme):
    document = exported(acme)
    answer = applied(acme, document)
    assert answer["refused"] == []
    assert set(outcomes(answer).values()) == {"created"}
    assert {one["name"]: (one["outcome"], one["version"]) for one in answer["calendars"]} == {
        "uk": ("created", 2),
        "unused": ("created", 1),
    }
    again = exported(acme, "beta")
    [signed] = [one for one in again["schedules"] if one["id"] == "signed"]
    assert signed["target"].pop("secret") == "cronfleet/beta/hook"
    signed["target"]["secret"] = "cronfleet/acme/hook"
    [entrusted] = [one for one in again["schedules"] if one["id"] == "entrusted"]
    assert entrusted["target"]["secrets"] == {"TOKEN": "cronfleet/beta/token"}
    entrusted["target"]["secrets"] = {"TOKEN": "cronfleet/acme/token"}
    assert said(again) == said(document)


def test_an_export_says_how_each_schedule_stands_and_nobody_s_name(acme):
    entries = {one["id"]: one for one in exported(acme)["schedules"]}
    assert {name: one["status"] for name, one in entries.items()} == {
        "nightly": "active",
        "follows": "active",
        "pinned": "active",
        "paused": "paused",
        "held": "held",
        "once": "active",
        "signed": "active",
        "entrusted": "active",
    }
    assert entries["paused"]["paused"] == {"reason": "month end", "until": "2026-12-01T12:00:00Z"}
    assert entries["held"]["hold"] == {"shadow": True}
    assert "version" not in entries["follows"]["trigger"]["calendar"]
    assert entries["pinned"]["trigger"]["calendar"]["version"] == 1
    assert not any(name in json.dumps(entries) for name in ('"by"', '"author"', '"created_at"', "01j9"))


def test_applying_the_same_again_changes_nothing(acme):
    document = exported(acme)
    applied(acme, document)
    before = changes(acme)
    again = applied(acme, document)
    assert set(outcomes(again).values()) == {"unchanged"}
    assert {one["outcome"] for one in again["calendars"]} == {"unchanged"}
    assert changes(acme) == before


def test_a_dry_run_shows_what_would_be_created_changed_and_stay_and_changes_nothing(acme):
    document = exported(acme)
    applied(acme, {**document, "schedules": [one for one in document["schedules"] if one["id"] != "once"]})
    done(acme.call("PATCH", "/v1/schedules/nightly", {"owner": "somebody"}, tenant="beta"))
    before = changes(acme)
    would = applied(acme, document, query="?dry_run=true")
    found = {one["id"]: (one["outcome"], one["differs"]) for one in would["schedules"]}
    assert found["once"] == ("created", [])
    assert found["nightly"] == ("replaced", ["owner"])
    assert found["pinned"] == ("unchanged", [])
    assert found["follows"] == ("unchanged", [])
    assert changes(acme) == before
    did = applied(acme, document)
    assert outcomes(did) == outcomes(would)
    assert said(exported(acme, "beta"))["calendars"] == document["calendars"]


OVER = {"end_at": "2020-01-01T00:00:00Z"}
LARGE = {"payload": "x" * 40_000}
PAST = {"trigger": {"at": "2020-01-01T00:00:00Z"}, "status": "completed"}
ONLY = {"trigger": {**CRON, "calendar": {"name": "uk", "mode": "business_days"}}}


@pytest.mark.parametrize("there", ["none", "another"])
@pytest.mark.parametrize("wrong", [OVER, LARGE, {**ONLY, **OVER}, {**ONLY, **LARGE}, PAST, ONLY, {"owner": "me"}])
def test_a_dry_run_refuses_what_would_be_refused(memory, there, wrong):
    """Whatever is judged only where a schedule is made or changed: its end, its payload, whether it ever fires."""
    if there == "another":
        done(memory.register(id="x", payload="small"))
    entry = {"id": "x", "trigger": CRON, "target": {"handler": "x.y"}, **wrong}
    calendars = [{"name": "uk", "versions": [{"version": 1, **CALENDAR}]}]
    document = {"format": "cronfleet-tenant/1", "calendars": calendars, "schedules": [entry]}
    before = vars_of(memory)
    would = applied(memory, document, "acme", "?dry_run=true")
    assert vars_of(memory) == before
    did = applied(memory, document, "acme")
    assert {**did, "dry_run": True} == would


def vars_of(api):
    """Everything that is stored, as text, but for how far lines of rates are."""
    state = api.store.state
    names = set(state.__slots__) - {"clock", "due_index", "lines"}
    return {name: repr(getattr(state, name)) for name in names}


def test_when_time_is_up_the_same_again_goes_on(acme, monkeypatch):
    document = exported(acme)
    with monkeypatch.context() as short:
        short.setattr(applying, "SECONDS", 0)
        cut = applied(acme, document)
    assert not cut["complete"]
    assert set(outcomes(cut).values()) | {one["outcome"] for one in cut["calendars"]} == {"pending"}
    assert applied(acme, document)["complete"]


def test_what_is_there_may_be_kept_as_it_is(acme):
    document = exported(acme)
    applied(acme, document)
    done(acme.call("PATCH", "/v1/schedules/nightly", {"owner": "somebody"}, tenant="beta"))
    done(acme.call("PUT", "/v1/calendars/uk", CALENDAR, tenant="beta"))
    kept = applied(acme, document, query="?existing=keep")
    assert outcomes(kept)["nightly"] == "differs"
    assert {one["name"]: one["outcome"] for one in kept["calendars"]}["uk"] == "differs"
    assert acme.call("GET", "/v1/schedules/nightly", tenant="beta").json["owner"] == "somebody"


def test_everything_may_come_in_held(acme):
    answer = applied(acme, exported(acme), query="?held=true")
    assert {one["status"] for one in answer["schedules"]} == {"held"}
    listed = acme.call("GET", "/v1/schedules", tenant="beta").json["schedules"]
    assert {one["status"] for one in listed} == {"held"}
    assert all(one["hold"]["shadow"] is None for one in listed)


def test_what_has_fired_its_last_comes_in_as_completed(acme):
    document = exported(acme)
    over = {**next(one for one in document["schedules"] if one["id"] == "once"), "status": "completed"}
    over["trigger"] = {"at": "2020-01-01T00:00:00Z"}
    answer = applied(acme, {**document, "schedules": [over]})
    assert [one["status"] for one in answer["schedules"]] == ["completed"]
    assert acme.call("GET", "/v1/schedules/once", tenant="beta").json["status"] == "completed"
    assert exported(acme, "beta")["schedules"] == [over]


def test_what_lies_in_the_past_and_never_fired_is_refused_and_the_rest_applied(acme):
    document = exported(acme)
    acme.clock.advance(3 * DAY)
    answer = applied(acme, document)
    [refused] = answer["refused"]
    assert (refused["id"], "is past" in refused["reason"]) == ("once", True)
    assert len(answer["schedules"]) == len(document["schedules"]) - 1
    # The pause has ended there as well.
    assert {one["id"]: one["status"] for one in answer["schedules"]}["paused"] == "active"


def test_a_calendar_of_that_name_which_says_something_else_gets_a_new_version(acme):
    document = exported(acme)
    done(acme.call("PUT", "/v1/calendars/uk", {"holidays": ["2027-01-01"]}, tenant="beta"))
    answer = applied(acme, document)
    assert {one["name"]: (one["outcome"], one["version"]) for one in answer["calendars"]}["uk"] == ("replaced", 2)
    # Version 1 is another one here: who is pinned to it must not get that.
    assert [one["id"] for one in answer["refused"]] == ["pinned"]
    assert "trigger.calendar.version" in answer["refused"][0]["reason"]


def test_a_tenant_of_many_comes_in_several_documents_each_of_which_can_be_applied(acme, monkeypatch):
    with monkeypatch.context() as small:
        small.setattr(transfer, "MAX_SCHEDULES", 1)
        small.setattr(transfer, "_SCHEDULES_PER_READ", 2)
        documents = [exported(acme)]
        while documents[-1]["cursor"]:
            documents.append(exported(acme, query=f"?cursor={documents[-1]['cursor']}"))
    assert len(documents) > 2
    for document in documents:
        answer = applied(acme, document)
        assert answer["refused"] == []
        assert answer["complete"]
    ids = [one["id"] for one in exported(acme, "beta")["schedules"]]
    assert ids == [one["id"] for one in exported(acme)["schedules"]]


def test_a_schedule_that_cannot_be_read_is_named_and_the_rest_exported(acme, monkeypatch):
    read = acme.store.get_schedules

    def damaged(tenant, listed):
        if any(one.schedule_id == "held" for one in listed):
            raise Damaged("acme#held", "TIMER", "spoilt")
        return read(tenant, listed)

    monkeypatch.setattr(acme.store, "get_schedules", damaged)
    document = exported(acme)
    assert [one["id"] for one in document["unreadable"]] == ["held"]
    assert len(document["schedules"]) == 7


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({}, "format"),
        ({"format": "cronfleet-tenant/2"}, "format"),
        ({"format": "cronfleet-tenant/1", "schedule": []}, "schedule"),
        ({"format": "cronfleet-tenant/1", "tenant": "a b"}, "tenant"),
    ],
)
def test_what_is_no_document_is_refused_whole(api, document, field):
    answer = api.call("POST", "/v1/imports/cronfleet", document)
    assert (answer.status, answer.fields) == (400, [field])


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (7, "id is missing"),
        ({"id": "x"}, "is missing"),
        ({"id": "x", "trigger": {"cron": "0 25 * * *", "timezone": "UTC"}, "target": {"handler": "x.y"}}, "hour"),
        ({"id": "x", "trigger": CRON, "target": {"handler": "x.y"}, "colour": "red"}, "is no field"),
        ({"id": "x", "trigger": CRON, "target": "x.y"}, "must be an object"),
        ({"id": "x", "trigger": CRON, "target": {"handler": "x.y"}, "status": "cancelled"}, "must be"),
        (
            {
                "id": "x",
                "trigger": {**CRON, "calendar": {"name": "no", "mode": "exclude"}},
                "target": {"handler": "x.y"},
            },
            "no calendar",
        ),
    ],
)
def test_an_entry_that_is_no_schedule_is_refused_with_its_place_and_reason(api, entry, reason):
    good = {"id": "good", "trigger": CRON, "target": {"handler": "x.y"}}
    answer = applied(api, {"format": "cronfleet-tenant/1", "schedules": [entry, good]}, tenant="acme")
    [refused] = answer["refused"]
    assert refused["entry"] == "schedules.0"
    assert reason in refused["reason"]
    assert outcomes(answer) == {"good": "created"}


@pytest.mark.parametrize("name", [None, True, 1.5, "", [], ["uk"], {}, {"uk": 1}])
@pytest.mark.parametrize("version", [None, True, "1", 1.5, [], {}, 1])
def test_a_calendar_pinned_by_what_is_no_name_or_number_is_refused_in_its_place(memory, name, version):
    use = {"name": name, "version": version, "pinned": True, "mode": "exclude"}
    bad = {"id": "bad", "trigger": {**CRON, "calendar": use}, "target": {"handler": "x.y"}}
    good = {"id": "good", "trigger": CRON, "target": {"handler": "x.y"}}
    calendars = [{"name": "uk", "versions": [{"version": 1, **CALENDAR}]}]
    document = {"format": "cronfleet-tenant/1", "calendars": calendars, "schedules": [bad, good]}
    answer = applied(memory, document, tenant="acme")
    assert [one["entry"] for one in answer["refused"]] == ["schedules.0"]
    assert outcomes(answer) == {"good": "created"}


@pytest.mark.parametrize(
    "calendar",
    [
        3,
        {"name": "uk"},
        {"name": "u k", "versions": [{"version": 1, **CALENDAR}]},
        {"name": "uk", "versions": []},
        {"name": "uk", "versions": [{"version": 0, **CALENDAR}]},
        {"name": "uk", "versions": [{"version": True, **CALENDAR}]},
        {"name": "uk", "versions": [{"version": 1, "holidays": ["2026-13-25"]}]},
        {"name": "uk", "versions": [{"version": 1, "hollidays": []}]},
        {"name": "uk", "versions": [7]},
    ],
)
def test_an_entry_that_is_no_calendar_is_refused_and_the_schedules_applied(api, calendar):
    good = {"id": "good", "trigger": CRON, "target": {"handler": "x.y"}}
    document = {"format": "cronfleet-tenant/1", "calendars": [calendar], "schedules": [good]}
    answer = applied(api, document, tenant="acme")
    assert [one["entry"] for one in answer["refused"]] == ["calendars.0"]
    assert outcomes(answer) == {"good": "created"}


def test_another_tenant_s_export_is_not_to_be_had(acme):
    assert acme.call("GET", "/v1/tenants/acme/export", tenant="beta").status == 404
    assert acme.call("GET", "/v1/tenants/acme/export", role="editor").status == 403
    assert exported(acme)["tenant"] == "acme"
    answer = acme.call("GET", "/v1/tenants/acme/export", tenant="home", role="platform_admin")
    assert answer.json["tenant"] == "acme"


def test_a_foreign_cursor_is_refused(acme):
    assert acme.call("GET", "/v1/tenants/acme/export?cursor=abc").fields == ["cursor"]

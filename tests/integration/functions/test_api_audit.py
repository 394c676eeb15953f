"""/v1/audit by way of the API function, on both stores: lists, exports, and the check of a log that was touched."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import time_machine

from cronfleet.domain.instant import MINUTE, to_datetime
from cronfleet.services.sealing import Sealer
from cronfleet.verify_audit import check, read
from functions.api import handler
from tests.support.api import CONTEXT, NIGHTLY, Api, api_on, event_of
from tests.support.settable_clock import NOON, TravellingClock
from tests.support.stores import Engine, memory_engine, moto_engine
from tests.support.tampering import Tampering
from tests.support.world import Notes

Spoil = Callable[[Tampering, Sequence[str]], object]


@pytest.fixture(params=["memory", "moto"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "memory":
        yield memory_engine()
    else:
        # moto's answers carry its time, and the function refuses to change anything under a clock that is off.
        with (
            time_machine.travel(to_datetime(NOON), tick=False) as traveller,
            moto_engine(TravellingClock(traveller)) as made,
        ):
            yield made


@pytest.fixture
def api(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Api:
    """Two schedules and a calendar that were changed a few times, all sealed but the last change."""
    made = api_on(monkeypatch, engine.store, engine.clock)
    assert made.register().status == 201
    assert made.register(id="other").status == 201
    assert made.call("PUT", "/v1/calendars/uk", {"holidays": ["2026-12-25"]}).status == 201
    assert made.call("POST", "/v1/schedules/nightly/pause", {"reason": "month end"}).status == 200
    assert made.call("POST", "/v1/schedules/other/run", {"reason": "try it"}).status == 201
    engine.clock.advance(MINUTE)
    Sealer(store=engine.store, clock=engine.clock, telemetry=Notes()).seal(engine.clock.now() + MINUTE)
    assert made.call("POST", "/v1/schedules/nightly/resume", {}).status == 200
    return made


def entries(api: Api, query: str = "", **how: Any) -> list[dict[str, Any]]:
    answer = api.call("GET", f"/v1/audit{query}", **how)
    assert answer.status == 200, answer.text
    found: list[dict[str, Any]] = answer.json["entries"]
    return found


def ids(api: Api) -> list[str]:
    """Oldest first."""
    return [entry["id"] for entry in entries(api)][::-1]


def actions(api: Api, query: str) -> list[str]:
    return [entry["action"] for entry in entries(api, query)]


def test_changes_and_manual_runs_are_listed_with_all_that_is_known_of_them(api: Api) -> None:
    assert actions(api, "") == ["resume", "run", "pause", "put_calendar", "create", "create"]
    assert actions(api, "?schedule=nightly") == ["resume", "pause", "create"]
    assert actions(api, "?schedule=other&action=run") == ["run"]
    assert actions(api, "?subject=calendar:uk") == ["put_calendar"]
    assert actions(api, "?actor=nobody") == []
    (pause,) = entries(api, "?action=pause")
    said = {name: pause[name] for name in ("tenant", "actor", "credential", "subject", "schedule_id", "reason", "seq")}
    assert said == {
        "tenant": "acme",
        "actor": "demo",
        "credential": "demo",
        "subject": "schedule:nightly",
        "schedule_id": "nightly",
        "reason": "month end",
        "seq": 2,
    }
    assert (pause["before"]["status"], pause["after"]["status"]) == ("active", "paused")
    assert (pause["acting_for"], pause["home_tenant"]) == (None, None)
    assert pause["request_id"]


def test_entries_are_listed_by_time(memory: Api) -> None:
    memory.register()
    memory.clock.advance(MINUTE)
    memory.call("POST", "/v1/schedules/nightly/pause", {"reason": "x"})
    assert actions(memory, "?from=2026-11-30T12:00:30Z") == ["pause"]
    assert actions(memory, "?to=2026-11-30T12:00:30Z&schedule=nightly") == ["create"]
    assert actions(memory, "?from=2026-11-30T12:00:00Z&to=2026-11-30T12:01:00Z") == ["pause", "create"]


def test_a_list_comes_in_pages(api: Api) -> None:
    for query in ("?limit=2", "?limit=1&schedule=nightly"):
        found, cursor = [], ""
        for _ in range(9):
            answer = api.call("GET", f"/v1/audit{query}{cursor}").json
            found += answer["entries"]
            if answer["cursor"] is None:
                break
            cursor = f"&cursor={answer['cursor']}"
        assert found == entries(api, query.replace("limit=2", "limit=100").replace("limit=1&", "limit=100&"))


def test_another_tenants_log_is_another(api: Api) -> None:
    assert entries(api, tenant="rival") == []
    assert api.call("GET", "/v1/audit/verify", tenant="rival").json["checked"] == 0


def test_a_platform_admin_who_acts_for_a_tenant_is_named_with_its_own(api: Api) -> None:
    made = api.call("POST", "/v1/tenants", {"id": "acme"}, tenant="demo", role="platform_admin")
    assert made.status == 201, made.text
    headers = {"Cronfleet-Tenant": "acme"}
    answer = api.call(
        "POST", "/v1/schedules/other/pause", {"reason": "x"}, tenant="demo", role="platform_admin", headers=headers
    )
    assert answer.status == 200, answer.text
    (entry,) = entries(api, "?schedule=other&action=pause")
    assert (entry["tenant"], entry["acting_for"], entry["home_tenant"]) == ("acme", "acme", "demo")
    assert api.call("GET", "/v1/audit/verify").json["ok"]


def test_the_log_is_well_as_long_as_nobody_touches_it(api: Api) -> None:
    assert api.call("GET", "/v1/audit/verify").json == {
        "ok": True,
        "checked": 6,
        "first_bad": None,
        "why": None,
        "seals": 1,
        "unsealed": 1,
        "cursor": None,
    }


@pytest.mark.parametrize(
    ("spoil", "first_bad"),
    [
        (lambda log, ids: log.alter(ids[3], reason="nothing"), 3),
        (lambda log, ids: log.alter(ids[5], actor="somebody"), 5),
        (lambda log, ids: log.take_out(ids[0]), 0),
        (lambda log, ids: log.take_out(ids[3]), 3),
        (lambda log, ids: log.take_out(ids[5]), 5),
        (lambda log, ids: log.swap(ids[0], ids[3]), 0),
        (lambda log, ids: log.swap(ids[1], ids[3]), 1),
        (lambda log, ids: (log.take_out(ids[2]), log.take_out_head("calendar:uk")), 2),
    ],
    ids=["altered", "newest-altered", "first-gone", "one-gone", "newest-gone", "swapped", "two-chains", "all-of-one"],
)
def test_the_first_entry_that_was_touched_is_named(api: Api, engine: Engine, spoil: Spoil, first_bad: int) -> None:
    known = ids(api)
    spoil(Tampering(engine, "acme"), known)
    verdict = api.call("GET", "/v1/audit/verify").json
    assert (verdict["ok"], verdict["first_bad"]) == (False, known[first_bad])
    assert verdict["why"]
    assert check(read(exported(api))) is not None or first_bad == 5, "its end is not sealed yet"


def exported(api: Api) -> list[str]:
    lines: list[str] = []
    query = "?limit=4"
    while True:
        answer = api.call("GET", f"/v1/audit/export{query}")
        assert answer.status == 200, answer.text
        assert answer.headers["content-type"] == "application/x-ndjson"
        assert answer.text.endswith("\n")
        lines += answer.text.splitlines()
        cursor = json.loads(lines[-1])["cursor"]
        if cursor is None:
            return lines
        query = f"?limit=4&cursor={cursor}"


def test_an_export_holds_everything_and_can_be_checked_elsewhere(api: Api) -> None:
    lines = exported(api)
    assert [json.loads(line)["id"] for line in lines if '"kind":"entry"' in line] == ids(api)
    assert check(read(lines)) is None


def test_entries_of_the_version_before_are_listed_and_checked_with_the_rest(api: Api, engine: Engine) -> None:
    log = Tampering(engine, "acme")
    first = log.get(ids(api)[0])
    log.put(type(first)(**{**_fields(first), "entry_id": "0" * 26, "at": first.at - MINUTE, "link": None}))
    assert [entry["seq"] for entry in entries(api, "?schedule=nightly")] == [3, 2, 1, None]
    verdict = api.call("GET", "/v1/audit/verify").json
    assert (verdict["ok"], verdict["checked"]) == (True, 7)


def _fields(entry: Any) -> dict[str, Any]:
    return {name: getattr(entry, name) for name in type(entry).__slots__}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?schedule=a&subject=tenant", "subject"),
        ("?subject=nightly", "subject"),
        ("?schedule=a:b", "schedule"),
        ("?action=PAUSE", "action"),
        ("?limit=0", "limit"),
        ("?cursor=x", "cursor"),
        ("?from=2026-12-01T12:00:00Z&to=2026-12-01T11:00:00Z", "to"),
        ("?from=yesterday", "from"),
        ("/verify?cursor=x", "cursor"),
        ("/export?cursor=x", "cursor"),
        ("/export?limit=1001", "limit"),
    ],
)
def test_a_question_that_cannot_be_answered_names_what_is_wrong(memory: Api, query: str, field: str) -> None:
    answer = memory.call("GET", f"/v1/audit{query}")
    assert (answer.status, answer.fields) == (400, [field])


@pytest.mark.parametrize("text", ["\u8349", '"', "\\", "\U0001f642", "x"])
def test_no_page_of_what_callers_wrote_is_larger_than_an_answer_can_be(memory: Api, text: str) -> None:
    """Payloads as large as a tenant may have, which escaping makes larger still: pages are shorter, and all come."""
    payload = text * (32_000 // (len(json.dumps(text, ensure_ascii=False).encode()) - 2))
    for number in range(60):
        body = json.dumps({**NIGHTLY, "id": f"b{number:02}", "payload": payload}, ensure_ascii=False)
        assert memory.call("POST", "/v1/schedules", body.encode()).status == 201
    body = json.dumps({"payload": f"{payload}."}, ensure_ascii=False).encode()
    for number in range(60):
        assert memory.call("PATCH", f"/v1/schedules/b{number:02}", body).status == 200
    for path, name, wanted in (("/v1/schedules", "schedules", 60), ("/v1/audit", "entries", 120)):
        seen: list[str] = []
        query = "?limit=100"
        for _ in range(wanted):
            answer = handler.handle(event_of("GET", path + query), CONTEXT)
            assert answer["statusCode"] == 200
            assert len(json.dumps(answer)) < 6_000_000
            page = json.loads(answer["body"])
            seen += [one["id"] for one in page[name] if name == "schedules" or "b" in one["subject"]]
            if page["cursor"] is None:
                break
            query = f"?limit=100&cursor={page['cursor']}"
        assert len(seen) == len(set(seen)) == wanted, (path, len(seen))

"""Dead letters over the API: listed, grouped, read, discarded; who may; what is refused."""

from dataclasses import replace
from typing import Any

import pytest
import time_machine

from cronfleet import bootstrap
from cronfleet.domain.attempt import Result, decide_finish
from cronfleet.domain.attempt_log import AttemptLog, LogLine, LogPlace
from cronfleet.domain.instant import DAY, HOUR, MINUTE, SECOND, to_datetime, to_text
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.retry import Retry
from cronfleet.domain.run import Attempt, Outcome, Run, RunKey, RunStatus
from cronfleet.domain.undelivered import Delivery, UnreadableMessage
from cronfleet.settings import from_environment
from tests.support.api import Api, api_on, api_on_memory
from tests.support.examples import run
from tests.support.settable_clock import NOON, TravellingClock
from tests.support.stores import moto_engine


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


def dead(number: int, error: str = "HTTP 503: no answer", schedule_id: str = "nightly", **changes: Any) -> Run:
    """A run that died some minutes before noon: the higher the number, the longer ago."""
    at = NOON - (number + 1) * MINUTE
    row = replace(run(at, schedule_id=schedule_id), status=RunStatus.RUNNING, due_at=at, **changes)
    row = replace(row, attempts=(Attempt(1, 1, "owner", at),), fence=1, version=1)
    return decide_finish(row, Result(Outcome.FAILED, error), Retry(1), at + SECOND, "handler")


def stored(api: Api, *rows: Run) -> list[str]:
    for row in rows:
        assert api.store.insert_run(row) is None
    return [row.key.run_id for row in rows]


def listed(api: Api, query: str = "", **more: Any) -> list[str]:
    answer = api.call("GET", f"/v1/dead-letters{query}", **more)
    assert answer.status == 200, answer.text
    return [letter["run_id"] for letter in answer.json["dead_letters"]]


def discard(api: Api, body: Any, query: str = "", **more: Any) -> Any:
    return api.call("POST", f"/v1/dead-letters/discard{query}", {"reason": "paid by hand", **body}, **more)


# --- looking -----------------------------------------------------------------------------------------------------


def test_letters_are_listed_newest_first_page_by_page(api: Api) -> None:
    ids = stored(api, *(dead(number) for number in range(5)))
    first = api.call("GET", "/v1/dead-letters?limit=3").json
    assert [letter["run_id"] for letter in first["dead_letters"]] == ids[:3]
    rest = api.call("GET", f"/v1/dead-letters?limit=3&cursor={first['cursor']}").json
    assert [letter["run_id"] for letter in rest["dead_letters"]] == ids[3:]
    assert rest["cursor"] is None


def test_a_letter_says_what_went_wrong_why_and_when_it_goes(api: Api) -> None:
    stored(api, dead(0, "order 4711 is locked"))
    (letter,) = api.call("GET", "/v1/dead-letters").json["dead_letters"]
    assert letter["failure"] == "handler failed: order <n> is locked"
    assert (letter["status"], letter["kind"], letter["reason"]["code"]) == ("dead", "run", "attempts")
    assert letter["died_at"] == to_text(NOON - MINUTE + SECOND)
    assert letter["expires_soon"] is False


def test_letters_of_one_failure_form_a_group_the_largest_first(api: Api) -> None:
    stored(api, dead(0, "poison", "weekly"), *(dead(n, f"order {n} is locked") for n in range(1, 4)))
    answer = api.call("GET", "/v1/dead-letters?group=signature").json
    assert (answer["count"], answer["is_complete"], answer["cursor"]) == (4, True, None)
    most, least = answer["groups"]
    assert (most["count"], most["failure"]) == (3, "handler failed: order <n> is locked")
    assert most["schedules"] == {"nightly": 3}
    assert (most["first_died_at"], most["last_died_at"]) == (
        to_text(NOON - 4 * MINUTE + SECOND),
        to_text(NOON - 2 * MINUTE + SECOND),
    )
    assert (least["count"], least["schedules"], least["schedule_count"]) == (1, {"weekly": 1}, 1)
    assert listed(api, f"?signature={least['signature']}") == least["examples"]


def test_letters_are_found_by_schedule_label_and_time(api: Api) -> None:
    api.register(id="nightly", labels={"team": "billing"})
    api.register(id="weekly", labels={"team": "sales", "stage": "prod"})
    one, two, old = stored(api, dead(0), dead(1, schedule_id="weekly"), dead(90, schedule_id="weekly"))
    assert listed(api, "?schedule=nightly") == [one]
    assert listed(api, "?label=team=sales") == [two, old]
    assert listed(api, "?label=team=sales,stage=test") == []
    assert listed(api, f"?from={to_text(NOON - HOUR)}") == [one, two]
    assert listed(api, f"?to={to_text(NOON - HOUR)}") == [old]
    assert listed(api, "?kind=undelivered") == []


def test_another_tenant_sees_nothing_of_them(api: Api) -> None:
    (run_id,) = stored(api, dead(0))
    assert listed(api, tenant="rival") == []
    assert api.call("GET", f"/v1/dead-letters/{run_id}", tenant="rival").status == 404
    assert discard(api, {"run_ids": [run_id]}, tenant="rival").status == 404
    assert discard(api, {"filter": {}}, tenant="rival").json == {"discarded": 0, "more": False}
    assert listed(api) == [run_id]


def test_a_letter_says_where_its_last_attempt_can_be_read(api: Api) -> None:
    row = dead(0)
    (run_id,) = stored(api, row)
    lines = (LogLine(NOON, "ERROR", "the mirror does not answer"),)
    api.store.put_log(AttemptLog(row.key, 1, NOON, lines, place=LogPlace("eu-central-1", "/aws/lambda/worker")))
    log = api.call("GET", f"/v1/dead-letters/{run_id}").json["log"]
    assert log["line_count"] == 1
    assert log["url"].startswith("https://eu-central-1.console.aws.amazon.com/cloudwatch/")
    assert [line["text"] for line in api.call("GET", log["path"]).json["lines"]] == ["the mirror does not answer"]
    (never,) = stored(api, replace(dead(3), attempts=()))
    assert api.call("GET", f"/v1/dead-letters/{never}").json["log"] is None


def test_a_letter_is_read_with_its_attempts_payload_and_target(api: Api) -> None:
    api.register(payload={"for": "all"})
    (run_id, own) = stored(api, dead(0), dead(1, payload={"for": "one"}, has_payload=True))
    answer = api.call("GET", f"/v1/dead-letters/{run_id}").json
    assert answer["run"]["attempts"][0]["error"] == "HTTP 503: no answer"
    assert (answer["payload"], answer["is_payload_known"]) == ({"for": "all"}, True)
    assert answer["target"] == {"handler": "billing.nightly"}
    assert answer["settled"] is None
    assert answer["log"] == {"attempt": 1, "path": f"/v1/runs/{run_id}/log?attempt=1", "line_count": 0, "url": None}
    assert api.call("GET", f"/v1/dead-letters/{own}").json["payload"] == {"for": "one"}


def test_a_run_that_is_no_letter_is_not_found(api: Api) -> None:
    row = replace(run(), status=RunStatus.SUCCEEDED, finished_at=NOON)
    (run_id,) = stored(api, row)
    assert api.call("GET", f"/v1/dead-letters/{run_id}").status == 404
    assert discard(api, {"run_ids": [run_id]}).status == 404


def test_what_the_tenants_retention_no_longer_reaches_is_not_shown(quick: Api) -> None:
    (run_id,) = stored(quick, dead(0))
    quick.clock.advance(27 * DAY)
    (letter,) = quick.call("GET", "/v1/dead-letters").json["dead_letters"]
    assert letter["expires_soon"] is True
    quick.clock.advance(3 * DAY)
    assert listed(quick) == []
    assert quick.call("GET", f"/v1/dead-letters/{run_id}").status == 404


def test_messages_that_nobody_can_read_are_a_platform_admins(api: Api) -> None:
    delivery = Delivery("cronfleet-runs-standard-dead", "m-1", 6, NOON - HOUR)
    api.store.keep_unreadable(UnreadableMessage(delivery, "{", "message: is not JSON", NOON))
    assert api.call("GET", "/v1/dead-letters?kind=unreadable").status == 403
    (message,) = api.call("GET", "/v1/dead-letters?kind=unreadable", role="platform_admin").json["dead_letters"]
    assert (message["message_id"], message["body"], message["receives"]) == ("m-1", "{", 6)


def test_a_message_that_nobody_can_read_is_let_go_of_by_a_platform_admin(api: Api) -> None:
    delivery = Delivery("cronfleet-runs-standard-dead", "m-1", 6, NOON - HOUR)
    kept = UnreadableMessage(delivery, "{", "message: is not JSON", NOON)
    api.store.keep_unreadable(kept)
    path, admin = f"/v1/dead-letters/unreadable/{kept.unreadable_id}/discard", {"role": "platform_admin"}
    assert api.call("POST", path, {"reason": "another program's"}).status == 403
    for body, field in (({}, "reason"), ({"reason": ""}, "reason"), ({"reason": "x", "why": "y"}, "why")):
        assert api.call("POST", path, body, **admin).fields == [field]
    once = {"Idempotency-Key": "click"}
    answer = api.call("POST", path, {"reason": "another program's"}, headers=once, **admin)
    assert (answer.status, answer.json["id"]) == (200, kept.unreadable_id), answer.text
    assert api.call("POST", path, {"reason": "another program's"}, headers=once, **admin).json == answer.json
    assert api.call("GET", "/v1/dead-letters?kind=unreadable", **admin).json["dead_letters"] == []
    assert api.call("POST", path, {"reason": "again"}, **admin).status == 409
    absent = path.replace("m-1", "m-2")
    assert api.call("POST", absent, {"reason": "x"}, **admin).status == 404
    assert api.call("POST", "/v1/dead-letters/unreadable/m-1/discard", {"reason": "x"}, **admin).status == 400


# --- discarding --------------------------------------------------------------------------------------------------


def test_discarded_letters_leave_the_view_and_their_runs_stay_as_they_are(api: Api) -> None:
    one, two = stored(api, dead(0), dead(1))
    assert discard(api, {"run_ids": [one]}).json == {"discarded": 1, "more": False}
    assert listed(api) == [two]
    assert api.call("GET", f"/v1/runs/{one}").json["status"] == "dead"
    settled = api.call("GET", f"/v1/dead-letters/{one}").json["settled"]
    assert settled == {"how": "discarded", "by": "demo", "at": to_text(NOON), "run_id": None, "reason": "paid by hand"}
    again = discard(api, {"run_ids": [two, one]})
    assert again.status == 409
    assert "discarded" in again.json["detail"]
    assert listed(api) == [two], "all or none"


def test_a_discard_is_audited_with_its_reason(api: Api) -> None:
    api.register()
    ids = stored(api, dead(0), dead(1))
    discard(api, {"run_ids": ids})
    (entry,) = api.call("GET", "/v1/audit?action=discard_letters").json["entries"]
    assert (entry["subject"], entry["reason"]) == ("schedule:nightly", "paid by hand")
    assert entry["after"] == {"run_ids": ids}


def test_a_repeated_click_is_answered_like_the_first(api: Api) -> None:
    one, two = stored(api, dead(0), dead(1))
    for body in ({"run_ids": [one]}, {"filter": {}}):
        first = discard(api, body, headers={"idempotency-key": f"k{len(body)}{next(iter(body))}"})
        again = discard(api, body, headers={"idempotency-key": f"k{len(body)}{next(iter(body))}"})
        assert (again.status, again.text) == (first.status, first.text)
    assert listed(api) == []
    assert two


def test_letters_are_discarded_by_a_filter_after_they_were_counted(api: Api) -> None:
    stored(api, *(dead(number, f"order {number} is locked") for number in range(30)))
    (left,) = stored(api, dead(30, "poison"))
    signature = api.call("GET", "/v1/dead-letters?group=signature").json["groups"][0]["signature"]
    body = {"filter": {"signature": signature}}
    assert discard(api, body, "?dry_run=true").json == {"discarded": 30, "more": False}
    assert len(listed(api)) == 31, "a dry run changes nothing"
    wrong = discard(api, {**body, "expected": 29})
    assert wrong.status == 409
    assert "30 dead letters match now" in wrong.json["detail"]
    assert discard(api, {**body, "expected": 30}).json == {"discarded": 30, "more": False}
    assert listed(api) == [left]


def test_what_died_after_the_request_came_is_not_discarded(quick: Api, monkeypatch: Any) -> None:
    stored(quick, dead(0))
    late = replace(dead(0, schedule_id="weekly"), finished_at=NOON)
    find = quick.store.list_letters

    def meanwhile(*args: Any, **more: Any) -> Any:
        quick.store.insert_run(late)
        return find(*args, **more)

    monkeypatch.setattr(quick.store, "list_letters", meanwhile)
    assert discard(quick, {"filter": {}}).json["discarded"] == 1
    assert listed(quick) == [late.key.run_id]


def test_a_viewer_looks_and_an_operator_discards(quick: Api) -> None:
    (run_id,) = stored(quick, dead(0))
    assert listed(quick, role="viewer") == [run_id]
    assert discard(quick, {"run_ids": [run_id]}, role="viewer").status == 403
    assert discard(quick, {"run_ids": [run_id]}, role="operator").status == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "filter"),
        ({"run_ids": ["x"], "filter": {}}, "filter"),
        ({"run_ids": []}, "run_ids"),
        ({"run_ids": ["x"] * 26}, "run_ids"),
        ({"run_ids": [7]}, "run_ids.0"),
        ({"run_ids": "x"}, "run_ids"),
        ({"run_ids": ["no run id"]}, "run_ids.0"),
        ({"filter": {"signature": "xyz"}}, "filter.signature"),
        ({"filter": {"signature": "0F3A9BE1C2D4"}}, "filter.signature"),
        ({"filter": {"schedule": "a b"}}, "filter.schedule"),
        ({"filter": {"labels": {"": "x"}}}, "filter.labels."),
        ({"filter": {"from": "yesterday"}}, "filter.from"),
        ({"filter": {"status": "dead"}}, "filter.status"),
        ({"filter": {}, "expected": -1}, "expected"),
        ({"run_ids": ["acme~nightly~1~20261201T020000Z~schedule"], "expected": 2}, "expected"),
        ({"filter": {}, "reason": ""}, "reason"),
        ({"filter": {}, "reason": "a\x1b[31m"}, "reason"),
        ({"filter": {}, "why": "x"}, "why"),
    ],
)
def test_a_malformed_discard_is_refused_with_its_field(quick: Api, body: Any, field: str) -> None:
    (run_id,) = stored(quick, dead(0))
    answer = discard(quick, body)
    assert answer.status in (400, 422), answer.text
    assert answer.fields == [field]
    assert listed(quick) == [run_id]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("group=schedule", "group"),
        ("kind=poison", "kind"),
        ("signature=12", "signature"),
        ("schedule=a%20b", "schedule"),
        ("label=team", "label"),
        ("from=then", "from"),
        ("to=1969-12-31T00:00:00Z", "to"),
        ("cursor=x", "cursor"),
        ("kind=unreadable&cursor=x", "cursor"),
        ("limit=0", "limit"),
    ],
)
def test_a_malformed_query_is_refused_with_its_field(quick: Api, query: str, field: str) -> None:
    answer = quick.call("GET", f"/v1/dead-letters?{query}", role="platform_admin")
    assert answer.status in (400, 422), answer.text
    assert answer.fields == [field]


def test_refused_runs_are_letters_too(api: Api) -> None:
    row = replace(run(NOON - HOUR), status=RunStatus.RUNNING)
    refused = row.ended(RunStatus.REFUSED, NOON - HOUR, Reason(Code.NO_DEFINITION, "version 3 cannot be read"))
    (run_id,) = stored(api, refused)
    assert listed(api) == [run_id]


# --- redriving ---------------------------------------------------------------------------------------------------


def redrive(api: Api, body: Any, query: str = "", **more: Any) -> Any:
    return api.call("POST", f"/v1/dead-letters/redrive{query}", body, **more)


def carry_on(api: Api) -> None:
    """The clerk's part: every operation is carried on as far as it goes now."""
    doer = bootstrap.operation_doer(from_environment(), "clerk")
    for operation in api.store.list_operations("acme", cursor=None, limit=10).items:
        doer.carry_on("acme", operation.operation_id, api.clock.now() + MINUTE)


def test_letters_are_counted_first_and_then_redriven_as_an_operation(api: Api) -> None:
    api.register()
    stored(api, *(dead(number) for number in range(3)), dead(7, "poison"))
    signature = api.call("GET", "/v1/dead-letters?group=signature").json["groups"][0]["signature"]
    body = {"filter": {"signature": signature}, "expected": 3, "reason": "mended", "max_concurrent": 2}
    counted = redrive(api, body, "?dry_run=true").json
    assert (counted["count"], counted["is_complete"], len(counted["examples"])) == (3, True, 3)
    assert counted["write_units"] > 0
    assert len(listed(api)) == 4, "a dry run changes nothing"
    made = redrive(api, body)
    assert made.status == 202, made.text
    assert (made.json["kind"], made.json["total"], made.json["status"]) == ("redrive", 3, "running")
    carry_on(api)
    found = api.call("GET", made.headers["location"]).json
    assert (found["counts"]["under_way"], found["counts"]["pending"]) == (2, 1)
    results = api.call("GET", f"{made.headers['location']}/results").json["results"]
    assert [one["state"] for one in results] == ["queued", "queued", "pending"]
    assert [one["ancestor"] for one in results] == [dead(number).key.run_id for number in (2, 1, 0)]
    assert listed(api) == [dead(number).key.run_id for number in (0, 7)]
    settled = api.call("GET", f"/v1/dead-letters/{results[0]['ancestor']}").json["settled"]
    assert (settled["how"], settled["run_id"], settled["reason"]) == ("redriven", results[0]["run_id"], "mended")


def test_a_letter_is_redriven_by_name_with_another_payload_once_however_often_it_is_clicked(api: Api) -> None:
    api.register()
    (run_id,) = stored(api, dead(0))
    body = {"run_ids": [run_id], "payload": {"fixed": True}}
    first, again = (redrive(api, body, headers={"idempotency-key": "click"}) for _ in range(2))
    assert (first.status, again.text) == (202, first.text)
    carry_on(api)
    (result,) = api.call("GET", f"{first.headers['location']}/results").json["results"]
    row = api.store.get_run(RunKey.parse(result["run_id"]))
    assert (row.payload, row.ancestor) == ({"fixed": True}, run_id)
    assert redrive(api, body).status == 409, "it is settled"


def test_a_redrive_is_refused_where_another_number_is_meant_or_none(quick: Api) -> None:
    stored(quick, dead(0))
    assert redrive(quick, {"filter": {}, "expected": 2}).status == 409
    nothing = redrive(quick, {"filter": {"schedule": "weekly"}})
    assert (nothing.status, nothing.fields) == (400, ["filter"])
    assert quick.call("GET", "/v1/operations").json["operations"] == []


def test_a_redrive_is_resumed_without_a_failure_and_other_operations_have_none(quick: Api) -> None:
    quick.register()
    stored(quick, dead(0))
    place = redrive(quick, {"filter": {}}).headers["location"]
    quick.call("POST", f"{place}/pause", {})
    signature = dead(0).signature.digest
    assert quick.call("POST", f"{place}/resume", {"exclude_signatures": [signature]}).json["status"] == "running"
    carry_on(quick)
    assert quick.call("GET", place).json["counts"]["passed_over"] == 1
    rerun = quick.call("POST", "/v1/reruns", {"filter": {"schedule": "nightly"}})
    refused = quick.call("POST", f"/v1/operations/{rerun.json['id']}/resume", {"exclude_signatures": [signature]})
    assert refused.fields == ["exclude_signatures"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "filter"),
        ({"run_ids": ["x"], "filter": {}}, "filter"),
        ({"run_ids": ["x"]}, "run_ids.0"),
        ({"run_ids": ["x"] * 201}, "run_ids"),
        ({"run_ids": []}, "run_ids"),
        ({"filter": {"signature": 7}}, "filter.signature"),
        ({"filter": {}, "version": "oldest"}, "version"),
        ({"filter": {}, "rate_per_minute": 0}, "rate_per_minute"),
        ({"filter": {}, "max_concurrent": 1_000}, "max_concurrent"),
        ({"filter": {}, "reason": 7}, "reason"),
        ({"filter": {"from": "2026-12-01T00:00:00Z", "to": "2026-12-01T00:00:00Z"}}, "filter.to"),
    ],
)
def test_a_malformed_redrive_is_refused_with_its_field(quick: Api, body: Any, field: str) -> None:
    stored(quick, dead(0))
    answer = redrive(quick, body)
    assert answer.status in (400, 422), answer.text
    assert answer.fields == [field]


def test_a_viewer_redrives_nothing_and_nobody_another_tenants(quick: Api) -> None:
    (run_id,) = stored(quick, dead(0))
    assert redrive(quick, {"run_ids": [run_id]}, role="viewer").status == 403
    assert redrive(quick, {"run_ids": [run_id]}, tenant="rival").status == 404

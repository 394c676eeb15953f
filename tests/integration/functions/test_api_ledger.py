"""/explain and /ledger over HTTP, on the memory store: answers, pages, tenants, and requests that are wrong."""

import copy
from typing import Any
from urllib.parse import quote

import pytest

from cronfleet.domain.explanation import DETAILS
from cronfleet.domain.instant import DAY, HOUR, SECOND, to_text
from cronfleet.domain.reason import Code
from cronfleet.domain.run import RunKey, RunStatus
from tests.support.api import Api, api_on_memory
from tests.support.examples import run
from tests.support.settable_clock import NOON

NIGHT = NOON + 8 * HOUR + 30 * 60 * SECOND
"""02:00 in Kolkata, the first fire of `nightly`."""


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = api_on_memory(monkeypatch)
    assert made.register().status == 201
    return made


def explained(api: Api, at: int, schedule_id: str = "nightly") -> dict[str, Any]:
    answer = api.call("GET", f"/v1/schedules/{schedule_id}/explain?at={to_text(at)}")
    assert answer.status == 200, answer.text
    assert set(answer.json["detail"]) <= set(DETAILS[Code(answer.json["code"])].split())
    return answer.json


def ledger(api: Api, query: str) -> dict[str, Any]:
    answer = api.call("GET", f"/v1/schedules/nightly/ledger?{query}")
    assert answer.status == 200, answer.text
    return answer.json


def test_a_time_ahead_is_not_due_yet(api: Api) -> None:
    found = explained(api, NIGHT)
    assert (found["schedule_id"], found["code"], found["at"]) == ("nightly", "not_due", "2026-11-30T20:30:00Z")
    assert (found["is_named"], found["is_decided"], found["run"]) == (True, False, None)
    assert found["detail"] == {"due_at": "2026-11-30T20:30:00Z"}


def test_a_time_may_be_asked_for_in_any_offset(api: Api) -> None:
    local = quote("2026-12-01T02:00:00+05:30")
    assert api.call("GET", f"/v1/schedules/nightly/explain?at={local}").json["at"] == "2026-11-30T20:30:00Z"


def test_a_time_that_is_never_named_comes_with_the_nearest_two(api: Api) -> None:
    found = explained(api, NOON + HOUR)
    assert (found["code"], found["is_named"]) == ("not_named", False)
    assert found["detail"]["earlier_at"] == "2026-11-29T20:30:00Z"
    assert found["detail"]["later_at"] == "2026-11-30T20:30:00Z"


def test_a_time_before_the_registration_is_not_the_schedules(api: Api) -> None:
    assert explained(api, NIGHT - DAY)["code"] == "not_created"
    assert explained(api, 0)["code"] == "not_created"


def test_a_run_is_shown_with_all_its_attempts(api: Api) -> None:
    api.clock.set(NIGHT + DAY)
    api.store.insert_run(run(NIGHT, epoch=1, status=RunStatus.SUCCEEDED))
    found = explained(api, NIGHT)
    assert (found["code"], found["is_decided"]) == ("ran", True)
    assert found["run"]["run_id"] == RunKey("acme", "nightly", 1, NIGHT).run_id


def test_a_pause_is_told_with_who_made_it_and_why_while_it_lasts_and_afterwards(api: Api) -> None:
    api.call("POST", "/v1/schedules/nightly/pause", {"reason": "month end"})
    api.clock.set(NIGHT + DAY + HOUR)
    assert (explained(api, NIGHT)["code"], explained(api, NIGHT)["is_decided"]) == ("paused", False)
    api.call("POST", "/v1/schedules/nightly/resume")
    found = explained(api, NIGHT)
    assert (found["code"], found["is_decided"], found["count"]) == ("paused", True, 2)
    assert (found["detail"]["by"], found["detail"]["why"]) == ("demo", "month end")
    assert found["detail"]["paused_at"] == to_text(NOON)
    assert found["until_nominal_at"] == to_text(NIGHT + DAY)


def test_a_changed_trigger_says_which_version_named_the_time_and_who_replaced_it(api: Api) -> None:
    api.clock.advance(60 * SECOND)
    body = {"trigger": {"cron": "0 3 * * *", "timezone": "Asia/Kolkata"}}
    api.call("PATCH", "/v1/schedules/nightly?reason=too+early", body)
    found = explained(api, NIGHT)
    assert (found["code"], found["is_named"]) == ("superseded", False)
    assert found["detail"]["named_by_version"] == 1
    assert isinstance(found["detail"]["named_by_version"], int)
    assert found["detail"]["replaced_by_version"] == 2
    assert (found["detail"]["by"], found["detail"]["why"]) == ("demo", "too early")
    assert explained(api, NIGHT + HOUR)["code"] == "not_due"


def test_the_trigger_that_was_in_force_is_the_one_that_counts(api: Api) -> None:
    for hour in (3, 4, 5):
        api.clock.advance(DAY)
        body = {"trigger": {"cron": f"0 {hour} * * *", "timezone": "Asia/Kolkata"}}
        assert api.call("PATCH", "/v1/schedules/nightly", body).status == 200
    api.clock.advance(DAY)
    named = {day: [hour for hour in range(4) if _is_named(api, day, hour)] for day in range(4)}
    assert named == {0: [0], 1: [1], 2: [2], 3: [3]}


def _is_named_at(api: Api, hour: int, minute: int) -> bool:
    return explained(api, NOON + hour * HOUR + minute * 60 * SECOND)["is_named"]


def _is_named(api: Api, day: int, hour: int) -> bool:
    return explained(api, NIGHT + day * DAY + hour * HOUR)["is_named"]


def test_epochs_that_the_timer_has_forgotten_are_read_back(api: Api) -> None:
    for number in range(12):
        api.clock.advance(HOUR)
        body = {"trigger": {"cron": f"{number} * * * *", "timezone": "UTC"}}
        assert api.call("PATCH", "/v1/schedules/nightly", body).status == 200
    # Number n came at 13:00 + n hours and names minute n: its fire on the hour is still the one before's.
    minutes = [[m for m in range(12) if _is_named_at(api, hour, m)] for hour in range(1, 12)]
    assert minutes == [[], [0, 1], *([n] for n in range(2, 11))]
    assert explained(api, NOON + HOUR - SECOND)["code"] == "not_named"
    assert explained(api, NOON)["code"] == "not_created"


def test_a_deleted_schedule_says_who_deleted_it_and_why(api: Api) -> None:
    api.clock.advance(60 * SECOND)
    api.call("DELETE", "/v1/schedules/nightly?reason=no+more")
    found = explained(api, NIGHT)
    assert (found["code"], found["detail"]["by"], found["detail"]["why"]) == ("deleted", "demo", "no more")
    assert ledger(api, f"from={to_text(NOON)}&to={to_text(NIGHT)}")["entries"] == []
    api.clock.advance(60 * SECOND)
    api.register()
    api.clock.set(NIGHT)
    assert explained(api, NOON + 90 * SECOND)["code"] == "deleted"
    assert explained(api, NOON + 30 * SECOND)["code"] in ("not_named", "superseded")
    assert explained(api, NOON - SECOND)["code"] == "not_created"


def test_the_ledger_goes_from_past_to_future_page_by_page_oldest_first(api: Api) -> None:
    api.clock.set(NIGHT + DAY + HOUR)
    api.store.insert_run(run(NIGHT, epoch=1, status=RunStatus.SUCCEEDED))
    query = f"from={to_text(NOON)}&to={to_text(NIGHT + 3 * DAY)}"
    pages = [ledger(api, f"{query}&limit=2")]
    pages.append(ledger(api, f"{query}&limit=2&cursor={pages[0]['cursor']}"))
    entries = [entry for page in pages for entry in page["entries"]]
    assert [entry["at"] for entry in entries] == [to_text(NIGHT + n * DAY) for n in range(4)]
    assert [entry["code"] for entry in entries] == ["ran", "due", "not_due", "not_due"]
    assert pages[1]["cursor"] is None
    assert ledger(api, query)["entries"] == entries


def test_a_stretch_is_one_entry_that_says_how_many_fires_it_stands_for(api: Api) -> None:
    api.call("POST", "/v1/schedules/nightly/pause", {"reason": "month end"})
    api.clock.set(NIGHT + 5 * DAY + HOUR)
    found = ledger(api, f"from={to_text(NOON)}&to={to_text(NIGHT + 9 * DAY)}")
    [lasting] = found["entries"]
    assert (lasting["code"], lasting["count"], lasting["is_decided"]) == ("paused", 10, False)
    api.call("POST", "/v1/schedules/nightly/resume")
    found = ledger(api, f"from={to_text(NIGHT + DAY)}&to={to_text(NIGHT + 6 * DAY)}")
    held, ahead = found["entries"]
    assert (held["code"], held["at"], held["count"]) == ("paused", to_text(NIGHT + DAY), 5)
    assert held["until_nominal_at"] == to_text(NIGHT + 5 * DAY)
    assert (ahead["code"], ahead["at"]) == ("not_due", to_text(NIGHT + 6 * DAY))


def test_runs_that_were_asked_for_by_hand_are_no_fires(api: Api) -> None:
    assert api.call("POST", "/v1/schedules/nightly/run").status == 201
    assert explained(api, NOON)["run"] is None
    assert ledger(api, f"from={to_text(NOON)}&to={to_text(NOON + HOUR)}")["entries"] == []


def test_nothing_is_written_when_it_is_asked(api: Api) -> None:
    before = copy.deepcopy({name: getattr(api.store.state, name) for name in ("timers", "runs", "audit", "books")})
    explained(api, NIGHT)
    ledger(api, f"from={to_text(NOON)}&to={to_text(NIGHT + 9 * DAY)}")
    assert before == {name: getattr(api.store.state, name) for name in before}


def test_another_tenant_learns_nothing(api: Api) -> None:
    for target in (f"explain?at={to_text(NIGHT)}", f"ledger?from={to_text(NOON)}&to={to_text(NIGHT)}"):
        answer = api.call("GET", f"/v1/schedules/nightly/{target}", tenant="rival")
        assert (answer.status, answer.fields) == (404, ["schedule_id"])


SPAN = "from=2026-12-01T00:00Z&to=2026-12-02T00:00Z"
WRONG = [
    # target below /v1/schedules/, status, field
    ("missing/explain?at=2026-12-01T00:00Z", 404, "schedule_id"),
    ("a~b/explain?at=2026-12-01T00:00Z", 400, "schedule_id"),
    ("nightly/explain", 400, "at"),
    ("nightly/explain?at=", 400, "at"),
    ("nightly/explain?at=now", 400, "at"),
    ("nightly/explain?at=2026-12-01", 400, "at"),
    ("nightly/explain?at=2026-12-01T02:00:00", 400, "at"),
    ("nightly/explain?at=1796040000", 400, "at"),
    ("nightly/explain?at=2026-12-01T02:00:00+05:30", 400, "at"),
    ("nightly/explain?at=2026-02-30T00:00Z", 400, "at"),
    ("nightly/explain?at=1969-12-31T23:59:59Z", 400, "at"),
    ("nightly/explain?at=10000-01-01T00:00:00Z", 400, "at"),
    (f"nightly/explain?at={'9' * 65}", 400, "at"),
    ("nightly/explain?at=2026-12-01T00:00Z&at=2026-12-02T00:00Z", 400, "at"),
    ("nightly/explain?at=2026-12-01T00:00Z&limit=1", 400, "limit"),
    ("nightly/explain?at=2026-12-01T00:00Z&when=2026-12-01T00:00Z", 400, "when"),
    (f"missing/ledger?{SPAN}", 404, "schedule_id"),
    ("nightly/ledger", 400, "from"),
    ("nightly/ledger?from=2026-12-01T00:00Z", 400, "to"),
    ("nightly/ledger?to=2026-12-01T00:00Z", 400, "from"),
    ("nightly/ledger?from=today&to=2026-12-01T00:00Z", 400, "from"),
    ("nightly/ledger?from=2026-12-01T00:00Z&to=tomorrow", 400, "to"),
    ("nightly/ledger?from=2026-12-02T00:00Z&to=2026-12-01T00:00Z", 400, "to"),
    (f"nightly/ledger?{SPAN}&limit=0", 400, "limit"),
    (f"nightly/ledger?{SPAN}&limit=101", 400, "limit"),
    (f"nightly/ledger?{SPAN}&limit=ten", 400, "limit"),
    (f"nightly/ledger?{SPAN}&cursor=", 400, "cursor"),
    (f"nightly/ledger?{SPAN}&cursor=!!!", 400, "cursor"),
    (f"nightly/ledger?{SPAN}&cursor=bm90aGluZw", 400, "cursor"),
    (f"nightly/ledger?{SPAN}&cursor=MjAyNjEzMDFUMDAwMDAwWn5uaWdodGx5", 400, "cursor"),  # month 13
    (f"nightly/ledger?{SPAN}&cursor=MjAyNTAxMDFUMDAwMDAwWn5uaWdodGx5", 400, "cursor"),  # before `from`
    (f"nightly/ledger?{SPAN}&cursor=MjAyNjEyMDFUMTIwMDAwWn5vdGhlcg", 400, "cursor"),  # another schedule's
    (f"nightly/ledger?{SPAN}&cursor={'a' * 2_049}", 400, "cursor"),
    (f"nightly/ledger?{SPAN}&status=ran", 400, "status"),
]


@pytest.mark.parametrize(("target", "status", "field"), WRONG, ids=[row[0][:70] for row in WRONG])
def test_a_question_that_is_wrong_is_refused_by_the_name_of_what_is_wrong(
    api: Api, target: str, status: int, field: str
) -> None:
    answer = api.call("GET", f"/v1/schedules/{target}")
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert field in answer.fields, answer.text
    assert all(error["reason"] for error in answer.json["errors"])


@pytest.mark.parametrize("part", ["explain", "ledger"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_questions_are_asked_with_get_alone(api: Api, method: str, part: str) -> None:
    answer = api.call(method, f"/v1/schedules/nightly/{part}")
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("skew", [2_001, -30_000, HOUR])
def test_a_process_whose_clock_is_off_explains_nothing_changes_nothing_and_alarms(
    api: Api, skew: int, caplog: pytest.LogCaptureFixture
) -> None:
    """An hour ahead it would call every fire of that hour lost."""
    api.store.state.skew_ms = skew
    asked = [
        api.call("GET", f"/v1/schedules/nightly/explain?at={to_text(NIGHT)}"),
        api.call("GET", f"/v1/schedules/nightly/ledger?from={to_text(NOON)}&to={to_text(NIGHT)}"),
        api.call("POST", "/v1/schedules/nightly/pause", {"reason": "to see"}),
    ]
    assert [answer.status for answer in asked] == [503, 503, 503]
    alarms = [vars(record) for record in caplog.records if record.message == "clock_skewed"]
    assert [alarm["skew_seconds"] for alarm in alarms] == [skew / SECOND] * 3
    assert api.call("GET", "/v1/schedules/nightly").status == 200

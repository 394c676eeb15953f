"""/v1/breakers: what is left alone is seen, and let go of, by whoever may."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.audit import SCHEDULER_ACTOR
from cronfleet.domain.breaker import Breaker, BreakerKind, Guarded, State
from cronfleet.domain.change import paused
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.noticeboard import Topic, posted, sheet_of
from cronfleet.domain.schedule import Pause
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.job_store import UpdateTimer
from cronfleet.ports.noticeboard import PutSheet
from tests.support.settable_clock import NOON

HOOK = Guarded("acme", BreakerKind.WEBHOOK, "https://example.com/hook")
OPEN = Breaker(
    HOOK,
    State.OPEN,
    failures=10,
    failed_at=NOON,
    error="connection refused",
    opened_at=NOON,
    try_at=NOON + MINUTE,
    cooldown=30_000,
    rev=1,
    change_id="c1",
)
PATH = f"/v1/breakers/{HOOK.breaker_id}"


@pytest.fixture
def opened(memory: Any) -> Any:
    store = memory.store
    sheet = store.get_sheet(Topic.BREAKERS, sheet_of(HOOK.notice))
    store.commit([PutBreaker(OPEN), PutSheet(posted(sheet, HOOK.notice, OPEN.notice, now=NOON, change_id="c1"))])
    healthy = Guarded("acme", BreakerKind.HANDLER, "billing")
    store.put_breaker(Breaker(healthy, failed_at=NOON, rev=1))
    return memory


def test_a_breaker_is_listed_and_read_with_what_it_guards_and_when_it_is_tried(opened: Any) -> None:
    (one,) = opened.call("GET", "/v1/breakers").json["breakers"]
    assert one == opened.call("GET", PATH).json
    assert one["target"] == "https://example.com/hook"
    assert (one["state"], one["failures"], one["error"]) == ("open", 10, "connection refused")
    assert one["try_at"] == "2026-11-30T12:01:00Z"
    assert one["cooldown_seconds"] == 30


def test_a_breaker_that_is_closed_by_hand_is_forgotten_by_every_worker_and_audited(opened: Any) -> None:
    answer = opened.call("POST", f"{PATH}/close", {"reason": "they say it is mended"})
    assert (answer.status, answer.json["state"], answer.json["failures"]) == (200, "closed", 0)
    assert opened.store.get_notices().about(Topic.BREAKERS, HOOK.notice, NOON) is None
    (entry,) = [one for one in opened.store.state.audit.values() if one.action == "close"]
    assert entry.reason == "they say it is mended"
    assert entry.subject == f"breaker:{HOOK.breaker_id}"
    again = opened.call("POST", f"{PATH}/close")
    assert again.json["state"] == "closed"
    assert opened.call("GET", "/v1/breakers").json["breakers"] == []


def test_a_repeated_click_closes_once(opened: Any) -> None:
    once = {"Idempotency-Key": "close-1"}
    first = opened.call("POST", f"{PATH}/close", headers=once)
    assert opened.call("POST", f"{PATH}/close", headers=once).json == first.json


def test_another_tenants_breaker_and_one_that_is_none_are_not_found(opened: Any) -> None:
    other = replace(OPEN, guarded=replace(HOOK, tenant="other", name="https://example.com/theirs"))
    opened.store.put_breaker(other)
    for path in (f"/v1/breakers/{other.guarded.breaker_id}", "/v1/breakers/webhook-0000000000000000"):
        assert opened.call("GET", path).status == 404
        assert opened.call("POST", f"{path}/close").status == 404
    assert opened.call("GET", "/v1/breakers/nonsense").status == 400


def test_schedules_that_their_breaker_has_paused_follow_the_targets_and_closing_resumes_them(opened: Any) -> None:
    for name in ("one", "two", "by-hand", "well"):
        assert opened.register(id=name, policies={"breaker": {"failures": 3, "cooldown": "10m"}}).status == 201
    for name in ("one", "two"):
        trip(opened, name)
    opened.call("POST", "/v1/schedules/by-hand/pause", {"reason": "holidays"})
    found = opened.call("GET", "/v1/breakers").json
    assert [one["id"] for one in found["breakers"]] == [HOOK.breaker_id, "schedule-one", "schedule-two"]
    assert found["cursor"] is None
    one = opened.call("GET", "/v1/breakers/schedule-one").json
    assert one == found["breakers"][1]
    assert (one["kind"], one["target"], one["state"], one["failures"]) == ("schedule", "one", "open", 3)
    assert (one["error"], one["try_at"]) == ("3 runs in a row died", "2026-11-30T12:10:00Z")
    assert opened.call("GET", "/v1/breakers/schedule-well").json["state"] == "closed"

    answer = opened.call("POST", "/v1/breakers/schedule-one/close", {"reason": "mended"})
    assert (answer.status, answer.json["state"]) == (200, "closed")
    assert opened.call("GET", "/v1/schedules/one").json["status"] == "active"
    assert [one.reason for one in opened.store.state.audit.values() if one.action == "resume"] == ["mended"]
    assert opened.call("POST", "/v1/breakers/schedule-one/close").json["state"] == "closed"
    assert opened.call("POST", "/v1/breakers/schedule-by-hand/close").status == 200
    assert opened.call("GET", "/v1/schedules/by-hand").json["status"] == "paused", "what a person paused stands"


def trip(api: Any, name: str) -> None:
    """What the death of a run does."""
    before = api.store.get_timer("acme", name)
    pause = Pause(SCHEDULER_ACTOR, NOON, "3 runs in a row died", until=NOON + 10 * MINUTE)
    api.store.commit([UpdateTimer(paused(before, pause, now=NOON, change_id=f"trip-{name}"), before)])


def test_a_page_is_never_longer_than_asked_for_and_every_breaker_is_on_one(opened: Any) -> None:
    for number in range(5):
        assert opened.register(id=f"s{number}", policies={"breaker": {"failures": 3, "cooldown": "10m"}}).status == 201
        trip(opened, f"s{number}")
    found, cursor = [], ""
    while cursor is not None:
        page = opened.call("GET", f"/v1/breakers?limit=2{cursor and f'&cursor={cursor}'}").json
        assert len(page["breakers"]) <= 2
        found += [one["id"] for one in page["breakers"]]
        cursor = page["cursor"]
    assert found == [HOOK.breaker_id, *(f"schedule-s{number}" for number in range(5))]
    assert opened.call("GET", "/v1/breakers?cursor=x").fields == ["cursor"]


def test_a_schedule_without_a_breaker_has_none(opened: Any) -> None:
    opened.register(id="plain")
    for name in ("plain", "absent"):
        assert opened.call("GET", f"/v1/breakers/schedule-{name}").status == 404
        assert opened.call("POST", f"/v1/breakers/schedule-{name}/close").status == 404


def test_a_viewer_sees_and_does_not_close(opened: Any) -> None:
    assert opened.call("GET", PATH).status == 200
    assert opened.call("POST", f"{PATH}/close", {"reasons": "x"}).status == 400

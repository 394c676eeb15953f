"""/v1/breakers: what is left alone is seen, and let go of, by whoever may."""

from dataclasses import replace
from typing import Any

import pytest

from cronfleet.domain.breaker import Breaker, BreakerKind, Guarded, State
from cronfleet.domain.instant import MINUTE
from cronfleet.domain.noticeboard import Topic, posted, sheet_of
from cronfleet.ports.breakers import PutBreaker
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


def test_a_viewer_sees_and_does_not_close(opened: Any) -> None:
    assert opened.call("GET", PATH).status == 200
    assert opened.call("POST", f"{PATH}/close", {"reasons": "x"}).status == 400

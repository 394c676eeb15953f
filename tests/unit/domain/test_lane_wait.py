"""Why a run of an operation waits although it is due: told when somebody asks, by what is known anyway."""

from dataclasses import replace

import pytest

from cronfleet.domain.claim import RunTimer, TimerKind
from cronfleet.domain.instant import MINUTE, SECOND
from cronfleet.domain.lane_wait import LEFT_AFTER, is_left, why_left
from cronfleet.domain.quota import Quotas, quotas_of
from cronfleet.domain.reason import Code, Reason
from cronfleet.domain.run import RunKey
from cronfleet.domain.slot import Slot, holder_of
from cronfleet.domain.tenant import Tenant
from tests.support.builders import at

NOW = at("2026-12-01 02:00")
OPERATIONS, LIVE = "backfill-o1", "schedule"


def waiting(due_at: int = NOW - MINUTE, cause: str = OPERATIONS) -> RunTimer:
    return RunTimer(RunKey("acme", "nightly", 1, NOW, cause), TimerKind.QUEUED, 1, due_at, "standard", 0, 1, 60)


def limited(limit: int | None) -> Quotas:
    return replace(quotas_of(Tenant("acme")), concurrent_runs=limit, fires_per_second=7)


def taken(number: int, cause: str) -> Slot:
    run_id = RunKey("acme", "nightly", 1, NOW + number * SECOND, cause).run_id
    return Slot("acme", number).taken(holder_of(run_id, 1, NOW), NOW, NOW + MINUTE)


def test_only_what_yields_and_has_been_passed_by_is_left() -> None:
    assert is_left(waiting(NOW - LEFT_AFTER), NOW)
    assert is_left(waiting(cause="rerun-o12"), NOW)
    assert not is_left(waiting(NOW - LEFT_AFTER + SECOND), NOW)
    assert not is_left(waiting(cause="schedule"), NOW)
    assert not is_left(waiting(cause="rerun-k12"), NOW)
    assert not is_left(replace(waiting(), deferred=Reason(Code.TENANT_RATE, "…")), NOW)


@pytest.mark.parametrize(
    ("limit", "causes", "short_of", "said"),
    [
        (None, [], "rate", "7 fires a second"),
        (4, [LIVE] * 4, "slots", "going on as may at once (4)"),
        (4, [LIVE, OPERATIONS, OPERATIONS], "share", "have 2 of the tenant's 4 slots"),
        (1, [OPERATIONS], "slots", "(1)"),
        (4, [LIVE, LIVE, LIVE], "rate", "something live of it waits"),
        (4, [OPERATIONS], "rate", "7 fires a second"),
    ],
)
def test_what_leaves_it_no_place_is_told_by_the_slots_and_else_it_is_the_rate(
    limit: int | None, causes: list[str], short_of: str, said: str
) -> None:
    slots = [taken(number + 1, cause) for number, cause in enumerate(causes)]
    reason = why_left(waiting(), limited(limit), slots, NOW + SECOND)
    assert (reason.code, reason.detail["short_of"]) == (Code.YIELDS, short_of)
    assert said in reason.text
    assert reason.detail["due_at"] == NOW - MINUTE

"""A deployed installation is drained and released: nothing is claimed meanwhile, and every fire is accounted for."""

import time
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from tests.e2e.conftest import LOOK_SECONDS, PATIENCE_SECONDS, Caller

pytestmark = pytest.mark.e2e

EVERY = timedelta(seconds=2)
HELD_SECONDS = 14
"""Past what had been claimed ahead: somebody would have claimed what came due since."""


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def wait_until_drained(api: Caller) -> Any:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := api.ask("GET", "/v1/hold").body)["going_on"]["drained"]:
        assert time.monotonic() < deadline, found
        time.sleep(LOOK_SECONDS)
    return found


def is_whole(rows: list[dict[str, Any]]) -> bool:
    """Whether no fire is missing, and none there twice: what was held back starts beside what is due now."""
    nominals = sorted(at(row["nominal_at"]) for row in rows)
    return {later - earlier for earlier, later in pairwise(nominals)} == {EVERY}


def test_a_drained_installation_claims_nothing_says_so_and_goes_on_where_it_was(api: Caller) -> None:
    api.put("drained", trigger={"every": "2s"}, target={"handler": "demo.heartbeat"})
    api.wait_for_runs("drained", lambda rows: len(rows) >= 3)
    held = api.ask("POST", "/v1/hold", {"mode": "drain", "reason": "an update"})
    assert held.status == 200, held
    returned_at = datetime.now(UTC)
    try:
        assert wait_until_drained(api)["status"] == "drain"
        # What must not happen cannot be waited for.
        time.sleep(HELD_SECONDS)
        assert max(at(row["claimed_at"]) for row in api.runs("drained")) <= returned_at
        assert api.ask("GET", "/v1/health").body["hold"]["reason"] == "an update"
    finally:
        released = api.ask("DELETE", "/v1/hold?reason=done")
    assert released.body["status"] == "running"
    since = datetime.now(UTC)
    rows = api.wait_for_runs("drained", lambda rows: at(rows[0]["nominal_at"]) > since + 2 * EVERY and is_whole(rows))
    api.ask("DELETE", "/v1/schedules/drained")
    assert {row["caught_up"]["detail"]["cause"] for row in rows if row["caught_up"]} == {"hold"}

"""A diamond on the deployed product: named by one nominal time, joined once, by the real store and queues."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.e2e.conftest import Caller

pytestmark = pytest.mark.e2e


def test_a_diamond_comes_together_for_one_nominal_time(api: Caller) -> None:
    at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=20)
    target = {"handler": "demo.heartbeat"}
    api.put("kin-load", trigger={"at": at.isoformat()}, target=target)
    api.put("kin-clean", trigger={"after": ["kin-load"]}, target=target)
    api.put("kin-alarm", trigger={"after": ["kin-load"], "on": "failure"}, target=target)
    api.put("kin-report", trigger={"after": ["kin-clean", "kin-alarm"], "on": "finished"}, target=target)
    cycle = api.ask("PATCH", "/v1/schedules/kin-load", {"trigger": {"at": None, "after": ["kin-report"]}})
    assert cycle.status == 400
    assert "would make a cycle" in str(cycle.body)
    [report] = api.wait_for_runs("kin-report", lambda rows: any(row["status"] == "succeeded" for row in rows))
    assert datetime.fromisoformat(report["nominal_at"]) == at
    assert report["parents"] == {"kin-clean": "succeeded", "kin-alarm": "skipped"}
    [alarm] = api.runs("kin-alarm")
    assert alarm["reason"]["code"] == "parents"
    shown = api.ask("GET", "/v1/schedules/kin-load/dependencies").body
    assert [one["schedule_id"] for one in shown["dependants"]] == ["kin-alarm", "kin-clean"]

"""Long runs on the real local stack: the entry of the long worker's image, as a process beside the emulator."""

import os
import signal
from typing import Any

from tests.e2e.conftest import NEVER

HALF_AN_HOUR = {"timeout_seconds": 1_800}


def test_a_job_that_may_take_half_an_hour_goes_on_where_it_was_when_its_worker_is_stopped(api: Any) -> None:
    api.put(
        "night",
        trigger=NEVER,
        target={"handler": "demo.long"},
        payload={"steps": 3, "seconds": 4},
        policies=HALF_AN_HOUR,
    )
    run_id = api.ask("POST", "/v1/schedules/night/run", {"reason": "to see it"}).body["run_id"]
    [row] = api.wait_for_runs("night", lambda rows: bool(rows) and rows[0]["progress"] is not None)
    assert (row["status"], row["run_id"]) == ("running", run_id)
    worker = api.stack.facts["processes"]["long_worker"]
    os.kill(worker, signal.SIGTERM)
    [over] = api.wait_for_runs("night", lambda rows: rows[0]["status"] in ("succeeded", "dead"))
    assert over["status"] == "succeeded"
    assert [attempt["outcome"] for attempt in over["attempts"]] == ["interrupted", "succeeded"]
    assert over["attempts"][0]["error"] == "it stopped where it was, as its worker had to"
    assert over["progress"]["text"] == "step 3 of 3"
    assert api.stack.facts["processes"]["long_worker"] != worker, "another was started in its place"


def test_a_long_run_is_cancelled_like_any_other(api: Any) -> None:
    target, payload = {"handler": "demo.long"}, {"steps": 30, "seconds": 60}
    api.put("stopped", trigger=NEVER, target=target, payload=payload, policies=HALF_AN_HOUR)
    run_id = api.ask("POST", "/v1/schedules/stopped/run", {"reason": "to see it"}).body["run_id"]
    api.wait_for_runs("stopped", lambda rows: bool(rows) and rows[0]["progress"] is not None)
    assert api.ask("POST", f"/v1/runs/{run_id}/cancel", {"reason": "seen enough"}).status == 202
    [over] = api.wait_for_runs("stopped", lambda rows: rows[0]["status"] != "running")
    assert (over["status"], [one["outcome"] for one in over["attempts"]]) == ("cancelled", ["cancelled"])

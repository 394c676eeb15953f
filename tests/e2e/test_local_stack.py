"""The local stack itself: it starts beside another, survives what can be survived, and stops without a trace."""

import shutil
import signal
import socket
from datetime import UTC, datetime, timedelta

import pytest

from local.testing import StackProcess, running_stack
from tests.e2e import deployments
from tests.e2e.conftest import NEVER, Caller
from tests.e2e.processes import function_processes, kill, left_of

pytestmark = pytest.mark.e2e

RESEND_SECONDS = 480
QUIET = ("--port", "0", "--no-demo")
ENDED = {"succeeded", "paused"}


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    """A stack that has run once, was used, and was stopped cleanly: what `make run` finds the second time."""
    state = tmp_path_factory.mktemp("second")
    with running_stack(state) as stack:
        api = Caller(stack)
        api.put("kept", trigger={"every": "1s"}, target={"handler": "demo.heartbeat"}, labels={"a": "b"})
        api.wait_for_runs("kept", lambda rows: len(rows) >= 2)
        emulator = stack.facts["processes"]["emulator"]
        assert stack.stop() == 0
    assert left_of(stack, emulator) == []
    return state


def test_what_was_registered_is_there_after_the_next_start_and_goes_on_firing(state):
    with running_stack(state) as stack:
        api = Caller(stack)
        assert not [line for line in stack.lines if "CDK" in line]
        assert api.ask("GET", "/v1/schedules/kept").body["labels"] == {"a": "b"}
        before = {row["run_id"] for row in api.runs("kept")}
        assert len(before) >= 2
        api.wait_for_runs("kept", lambda rows: len({row["run_id"] for row in rows} - before) >= 2)


def test_a_second_stack_on_the_same_folder_is_told_so_in_one_line(state):
    with running_stack(state):
        second = StackProcess(state, QUIET).start()
        assert second.wait() == 1
        assert len(second.lines) == 1
        assert "already running" in second.lines[0]


def test_a_port_in_use_is_one_line_and_nothing_is_left_running(state):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        stack = StackProcess(state, ("--port", str(port), "--no-demo")).start()
        assert stack.wait() == 1
    assert len(stack.lines) == 1
    assert f"port {port} cannot be used" in stack.lines[0]
    assert left_of(stack) == []


def test_a_killed_front_is_replaced_and_its_callers_only_wait(state):
    with running_stack(state) as stack:
        api = Caller(stack)
        front = stack.facts["processes"]["front"]
        kill([front])
        assert api.ask("GET", "/v1/health").status == 200
        stack.wait_for_line(f"the front (process {front}) had ended", 20)
        assert stack.facts["processes"]["front"] != front


def test_when_the_supervisor_is_killed_firing_goes_on_and_the_next_start_adopts_the_emulator(state):
    first = StackProcess(state, QUIET).start().wait_until_ready()
    facts = first.facts
    kill([facts["processes"]["supervisor"]])
    first.wait()
    # The front of the killed supervisor still answers at its address.
    before = {row["run_id"] for row in Caller(first).runs("kept")}
    Caller(first).wait_for_runs("kept", lambda rows: len({row["run_id"] for row in rows} - before) >= 2)
    with running_stack(state) as second:
        assert [line for line in second.lines if "going on with it" in line]
        assert second.facts["processes"]["emulator"] == facts["processes"]["emulator"]
        assert Caller(second).ask("GET", "/v1/schedules/kept").status == 200
    assert left_of(second, facts["processes"]["emulator"]) == []


def test_sigterm_stops_like_ctrl_c_and_no_process_outlives_it_not_even_a_job_at_work(state):
    with running_stack(state) as stack:
        api = Caller(stack)
        api.put("slow", trigger={"every": "1s"}, target={"handler": "demo.slow"}, payload={"seconds": 30})
        api.wait_for_runs("slow", lambda rows: any(row["status"] == "running" for row in rows))
        api.ask("DELETE", "/v1/schedules/slow")
        emulator = stack.facts["processes"]["emulator"]
        assert stack.stop(signal.SIGTERM) == 0
        assert "no process is left" in stack.lines[-1]
    assert left_of(stack, emulator) == []


def test_no_fire_is_missing_and_none_is_there_twice_after_front_and_functions_were_killed_again_and_again(state):
    with running_stack(state) as stack:
        api = Caller(stack)
        ends_at = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=20)
        registered = api.put(
            "under-fire",
            trigger={"every": "1s"},
            target={"handler": "demo.heartbeat"},
            policies={"timeout_seconds": 5, "retry": {"backoff": {"kind": "fixed", "base_seconds": 1}}},
            end_at=ends_at.isoformat(),
        )
        while _is_active(api, "under-fire"):
            had = len(api.runs("under-fire"))
            kill([stack.facts["processes"]["front"], *function_processes(stack)])
            stack.wait_for_line("had ended", 20)
            api.wait_for_runs("under-fire", lambda rows, had=had: len(rows) > had or not _is_active(api, "under-fire"))
        # A message that died with its function before its run had a row is sent again after five minutes.
        rows = api.wait_for_runs("under-fire", _is_whole, seconds=RESEND_SECONDS)
    assert rows[-1]["nominal_at"] == registered["next_fire_at"]
    assert all(attempt["fence"] == number for row in rows for number, attempt in enumerate(row["attempts"], start=1))


def test_it_is_deployed_onto_while_schedules_fire_and_destroyed_without_a_trace(state, tmp_path):
    """Nothing is lost or done twice by a deployment, no run is cut short, and at the end nothing is left."""
    shutil.copytree(state, tmp_path / "state")
    stack = StackProcess(tmp_path / "state", QUIET, deployments.copy_checkout(tmp_path / "checkout")).start()
    try:
        api = Caller(stack.wait_until_ready())
        assert not [line for line in stack.lines if "CDK" in line], "it is the same checkout still"
        api.put("through", trigger={"every": "1s"}, target={"handler": "demo.heartbeat"})
        api.put("twelve-seconds", trigger=NEVER, target={"handler": "demo.slow"}, payload={"seconds": 12})
        begun = api.ask("POST", "/v1/schedules/twelve-seconds/run").body
        api.wait_for_runs("twelve-seconds", lambda rows: rows[0]["status"] == "running")
        deployments.change(stack.root)
        said = deployments.update(stack)
        assert "cronfleet-worker-standard: version 1 → 2" in said
        assert "cronfleet-api: version 1 → 2" in said, "a setting is part of a version"
        new = deployments.id_in_a_new_shard()
        api.put(new, trigger={"every": "1s"}, target={"handler": "demo.heartbeat"})
        api.wait_for_runs(new, lambda rows: any(row["status"] == "succeeded" for row in rows))
        api.ask("POST", "/v1/schedules/through/pause", {"reason": "to count"})
        rows = api.wait_for_runs("through", lambda rows: all(row["status"] in ENDED for row in rows))
        deployments.assert_each_second_once(rows)
        newest = next(row for row in rows if row["status"] == "succeeded")
        assert deployments.SECOND_BEAT in str(api.ask("GET", f"/v1/runs/{newest['run_id']}/log").body)
        rows = api.wait_for_runs("twelve-seconds", lambda rows: rows[0]["status"] != "running")
        assert [(row["run_id"], row["status"], len(row["attempts"])) for row in rows] == [
            (begun["run_id"], "succeeded", 1)
        ], rows
        assert "Nothing has changed" in deployments.update(stack)
        assert deployments.left_after_destroying(stack) == []
    finally:
        stack.stop()


def test_a_dead_emulator_ends_the_stack_with_one_line_and_nothing_orphaned(tmp_path_factory):
    stack = StackProcess(tmp_path_factory.mktemp("dead"), QUIET).start().wait_until_ready()
    emulator = stack.facts["processes"]["emulator"]
    kill([emulator])
    assert stack.wait() == 1
    assert f"the emulator (process {emulator}) has ended" in stack.lines[-1]
    assert not [line for line in stack.lines if "Traceback" in line]
    assert left_of(stack, emulator) == []


def _is_active(api, schedule_id) -> bool:
    return api.ask("GET", f"/v1/schedules/{schedule_id}").body["status"] == "active"


def _is_whole(rows) -> bool:
    """Whether every second from the first to the last has one row and every row has ended; never more than one."""
    seconds = sorted(second for row in rows for second in _seconds_of(row))
    assert len(seconds) == len(set(seconds)), rows
    ended = all(row["status"] not in {"queued", "running", "waiting"} for row in rows)
    return bool(rows) and ended and seconds == list(range(seconds[0], seconds[-1] + 1))


def _seconds_of(row) -> range:
    """The seconds for which a row of the history stands: one, or all of a range entry."""
    first = datetime.fromisoformat(row["nominal_at"]).timestamp()
    last = datetime.fromisoformat(row["until_nominal_at"] or row["nominal_at"]).timestamp()
    return range(int(first), int(last) + 1)

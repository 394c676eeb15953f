"""Runs and operations that are watched: what is shown, when it ends, and with which exit code."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cronfleet.domain.attempt_log import AttemptLog, LogLine, LogPlace
from cronfleet.domain.run import Attempt, RunKey, RunStatus
from tests.support.command_line import CommandLine, Said
from tests.support.settable_clock import NOON

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.fixture
def nightly(cronfleet: CommandLine) -> CommandLine:
    cronfleet.api.register()
    return cronfleet


def statuses(said: Said) -> list[str]:
    return [run["status"] for run in said.lines]


def queued(line: CommandLine) -> str:
    return str(line.api.call("POST", "/v1/schedules/nightly/run", {}).json["run_id"])


def test_a_run_is_followed_to_its_end_and_each_change_is_a_line(nightly):
    run_id = queued(nightly)
    nightly.during_waits = [
        lambda: None,
        lambda: nightly.api.call("POST", f"/v1/runs/{run_id}/cancel", {"reason": "not now"}),
    ]
    assert statuses(nightly("runs", run_id, "--follow", "-o", "json")) == ["queued", "cancelled"]
    assert nightly.waited == [2.0, 2.0]


def test_who_waits_for_a_run_that_does_not_succeed_gets_exit_1(nightly):
    nightly.during_waits = [lambda: nightly.api.call("POST", f"/v1/runs/{newest(nightly)}/cancel", {})]
    said = nightly("schedules", "run", "nightly", "--follow")
    assert (said.code, "cancelled" in said.out) == (1, True)


def newest(line: CommandLine) -> str:
    return str(line.api.call("GET", "/v1/schedules/nightly/runs?limit=1").json["runs"][0]["run_id"])


def test_a_schedules_runs_are_shown_as_they_come_until_somebody_interrupts(nightly):
    first = queued(nightly)
    nightly.during_waits = [
        lambda: queued(nightly),
        lambda: nightly.api.call("POST", f"/v1/runs/{first}/cancel", {}),
    ]
    said = nightly("runs", "nightly", "--follow", "-o", "json")
    assert (said.code, statuses(said)) == (130, ["queued", "queued", "cancelled"])


def test_people_see_a_line_for_each(nightly):
    run_id = queued(nightly)
    said = nightly("runs", "nightly", "--follow")
    assert said.out.count(run_id) == 1


def test_a_shell_completes_the_ids_of_schedules(nightly):
    nightly.api.register(id="nightly-2")
    nightly.api.register(id="other")
    asked = {"_CRONFLEET_COMPLETE": "complete_bash", "COMP_WORDS": "cronfleet next nigh", "COMP_CWORD": "2"}
    assert started(nightly, asked).stdout.split() == ["nightly", "nightly-2"]


def test_a_shell_that_completes_gets_no_error_where_no_server_is(nightly):
    asked = {"_CRONFLEET_COMPLETE": "complete_bash", "COMP_WORDS": "cronfleet next nigh", "COMP_CWORD": "2"}
    nightly.environment["CRONFLEET_URL"] = "http://127.0.0.1:9"
    done = started(nightly, asked)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [], "")


def test_it_is_a_program_of_its_own(nightly):
    done = started(nightly, {}, "schedules", "list", "-o", "json")
    assert (done.returncode, '"nightly"' in done.stdout) == (0, True)
    assert started(nightly, {}, "nonsense").returncode == 2


def started(line: CommandLine, more: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **line.environment, **more, "PYTHONPATH": str(ROOT / "cli")}
    command = [sys.executable, "-m", "cronfleet_cli", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def running(line: CommandLine) -> str:
    """A run in its first attempt."""
    run_id = queued(line)
    rows, key = line.api.store.state.runs, RunKey.parse(run_id)
    rows[key] = replace(rows[key].moved(RunStatus.RUNNING, started_at=NOON), attempts=(Attempt(1, 1, "owner", NOON),))
    return run_id


def kept(line: CommandLine, run_id: str, *texts: str) -> None:
    """Keep a log of the run's first attempt."""
    place = LogPlace("eu-central-1", "/aws/lambda/worker")
    lines = tuple(LogLine(NOON + number, "INFO", text) for number, text in enumerate(texts))
    line.api.store.put_log(AttemptLog(RunKey.parse(run_id), 1, NOON, lines, place=place))


def test_the_log_of_an_attempt_is_shown_and_where_all_of_it_is(nightly):
    run_id = running(nightly)
    kept(nightly, run_id, "beginning", "half way")
    said = nightly("logs", run_id)
    assert (said.code, said.out.count("half way")) == (0, 1)
    assert "All of it: https://eu-central-1.console.aws.amazon.com/" in said.err
    assert len(nightly.json("logs", run_id, "--attempt", "1")["lines"]) == 2
    assert nightly("logs", run_id, "--attempt", "2").code == 1


def test_a_log_is_followed_until_the_run_ends(nightly):
    run_id = running(nightly)
    rows, key = nightly.api.store.state.runs, RunKey.parse(run_id)

    def ends() -> None:
        kept(nightly, run_id, "one", "two", "three")
        rows[key] = rows[key].ended(RunStatus.SUCCEEDED, NOON)

    nightly.during_waits = [lambda: kept(nightly, run_id, "one", "two"), ends]
    said = nightly("logs", run_id, "--follow", "-o", "json")
    assert [line["text"] for line in said.lines] == ["one", "two", "three"]

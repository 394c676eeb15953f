"""Payloads and secrets go through every part, succeed, fail and are refused: no line of a log and no span has them."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.confidential import CONFIDENTIAL, DRIVEN, END, MIDDLE, PAYLOAD, SECRET

ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Heard:
    """All that was printed, without and with details; the runs, and the spans that were delivered."""

    lines: str
    with_details: str
    runs: dict[str, Any]
    spans: list[dict[str, Any]]


@pytest.fixture(scope="module")
def heard() -> Heard:
    command = [sys.executable, "-m", "tests.support.confidential"]
    # One stream, in which also what the jobs' own processes print arrives.
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3_000:]
    lines, rest = done.stdout.split(MIDDLE)
    with_details, came = rest.split(END)
    return Heard(lines, with_details, **json.loads(came))


def named(lines: str, message: str) -> list[dict[str, Any]]:
    """The lines of this message."""
    return [json.loads(line) for line in lines.splitlines() if f'"message":"{message}"' in line.replace('": "', '":"')]


def test_the_runs_were_made_and_their_tenant_sees_what_went_wrong(heard: Heard) -> None:
    statuses = {name: run["status"] for name, run in heard.runs.items()}
    assert statuses == {**dict.fromkeys(DRIVEN, "dead"), "fine": "succeeded"}
    assert PAYLOAD in heard.runs["fails"]["attempts"][0]["error"]


def test_nothing_that_is_confidential_stands_in_a_line(heard: Heard) -> None:
    assert len(named(heard.lines, "attempt_finished")) == len(DRIVEN)
    for word in CONFIDENTIAL:
        assert word not in heard.lines, next(line for line in heard.lines.splitlines() if word in line)


def test_nothing_that_is_confidential_stands_in_a_span(heard: Heard) -> None:
    assert {"POST", "job tests.tells_all", "run", "POST /v1/schedules/{schedule_id}/run"} <= {
        span["name"] for span in heard.spans
    }
    for word in CONFIDENTIAL:
        assert word not in json.dumps(heard.spans)


def test_of_what_a_job_let_through_the_log_has_type_and_place(heard: Heard) -> None:
    (failed,) = named(heard.lines, "job_failed")
    assert failed["exception"].count("Traceback") == 2
    assert "ValueError" in failed["exception"]
    assert "confidential.py" in failed["exception"]
    assert (failed["trace_id"], failed["tenant"], failed["attempt"]) == (heard.runs["fails"]["trace_id"], "acme", 1)


def test_errors_and_payloads_stand_in_lines_where_they_were_asked_for(heard: Heard) -> None:
    lines = named(heard.with_details, "attempt_finished")
    assert PAYLOAD in next(line["error"] for line in lines if line["schedule_id"] == "fails")
    assert all(PAYLOAD in line["payload"] for line in lines)
    assert SECRET not in heard.with_details, "a secret is blotted out all the same"

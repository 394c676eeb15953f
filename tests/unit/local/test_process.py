"""A process is recognised again, or not taken for another, and ended with all that it started."""

import contextlib
import dataclasses
import os
import select
import sys
from pathlib import Path

import pytest

from local.process import Process, remembered, start

SLEEPER = "import time; time.sleep(60)"
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {SLEEPER!r}])
print(child.pid, flush=True)
time.sleep(60)
"""
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(60)
"""


@pytest.fixture
def begin(tmp_path):
    begun: list[Process] = []

    def begin(code: str) -> Process:
        command = [sys.executable, "-c", code]
        begun.append(start(command, environment=os.environ, log=tmp_path / "log", folder=tmp_path))
        return begun[-1]

    yield begin
    for process in begun:
        process.kill_group()


def _first_line(log: Path, process: Process) -> str:
    while not (text := log.read_text()).endswith("\n"):
        assert process.alive
    return text


def test_a_process_is_found_again_by_what_was_written_down(begin, tmp_path):
    process = begin(SLEEPER)
    process.remember(tmp_path / "record")
    assert remembered(tmp_path / "record") == process


def test_another_process_with_the_same_id_is_not_taken_for_it(begin, tmp_path):
    process = begin(SLEEPER)
    dataclasses.replace(process, started="another time").remember(tmp_path / "record")
    assert remembered(tmp_path / "record") is None
    assert process.alive


@pytest.mark.parametrize("content", ["", "{}", '{"pid": 1}', "[1]", '{"pid": 1, "started": "x", "more": 1}'])
def test_a_damaged_record_tells_of_no_process(tmp_path, content):
    (tmp_path / "record").write_text(content)
    assert remembered(tmp_path / "record") is None


def test_a_process_that_has_ended_is_not_alive(begin):
    process = begin("pass")
    assert process.wait(10)
    assert not process.alive


def test_stopping_a_process_ends_what_it_had_started(begin, tmp_path):
    process = begin(PARENT)
    child = int(_first_line(tmp_path / "log", process))
    assert process.stop(5)
    assert not process.alive
    _wait_for_end(child)
    assert not _runs(child)


def test_a_process_that_does_not_obey_is_killed_and_that_is_told(begin, tmp_path):
    process = begin(DEAF)
    _first_line(tmp_path / "log", process)
    assert not process.stop(0.1)
    assert not process.alive


def _wait_for_end(pid: int) -> None:
    """A killed process takes a moment to die; the kernel tells when it has."""
    with contextlib.suppress(ProcessLookupError):
        ended = os.pidfd_open(pid)
        try:
            select.select([ended], [], [], 10)
        finally:
            os.close(ended)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False

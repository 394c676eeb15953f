"""`python -m local.update` where no stack runs."""

import json
from pathlib import Path

import pytest

from local import update
from local.folder import Folder


def test_without_a_running_stack_it_says_so_in_one_line_and_how_to_start_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert update.main(["--state-dir", str(tmp_path)]) == 1
    said = capsys.readouterr().err.split("cronfleet:")[1]
    assert "no stack runs" in said
    assert "make run" in said


def test_a_stack_that_has_ended_is_not_taken_for_one_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Folder(tmp_path)
    folder.make()
    folder.emulator_port.write_text("1")
    folder.emulator_record.write_text(json.dumps({"pid": 1, "started": "at some other time"}))
    folder.description.write_text("{}")
    assert update.main(["--state-dir", str(tmp_path)]) == 1
    assert "no stack runs" in capsys.readouterr().err

"""One stack at a time in a folder, and room on the disk before anything begins."""

import os

import pytest

from local.errors import StackError
from local.folder import Folder


@pytest.fixture
def folder(tmp_path):
    folder = Folder(tmp_path / "state")
    folder.make()
    return folder


def test_a_second_stack_in_the_same_folder_is_told_which_process_has_it(folder):
    with folder.lock(), pytest.raises(StackError, match=f"process {os.getpid()}.*--state-dir"):
        folder.lock()


def test_the_folder_is_free_again_when_its_stack_has_ended(folder):
    with folder.lock():
        pass
    with folder.lock():
        pass


def test_a_full_disk_is_told_with_the_minimum_before_the_start(folder):
    with pytest.raises(StackError, match=r"needed: make room"):
        folder.require_room(minimum=2**80)


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StackError, match="--state-dir"):
        Folder(tmp_path / "file" / "state").make()


def test_only_its_owner_may_look_into_the_folder(folder):
    assert folder.path.stat().st_mode & 0o077 == 0


def test_forgetting_leaves_nothing_of_the_last_run(folder):
    (folder.emulator_state / "dynamodb.json").write_text("{}")
    folder.key.write_text("cf_a_b")
    folder.emulator_port.write_text("1")
    folder.forget()
    assert list(folder.emulator_state.iterdir()) == []
    assert not folder.key.exists()
    assert not folder.emulator_port.exists()

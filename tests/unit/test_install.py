"""The installation that make begins with: when it has nothing to do, when it begins anew, what it says."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from requirements import install

NOW = 1_800_000_000


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose environment is whole and newer than its lock files; its Python is ours."""
    root = tmp_path / "checkout"
    for lock in install.LOCKS:
        path = root / lock
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (NOW, NOW))
    stand_in(root, sys.executable)
    return root


def stand_in(root: Path, python: str) -> None:
    """Give the checkout an environment that runs `python`, stamped a second after the lock files."""
    bin_folder = root / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").symlink_to(python)
    stamp = root / ".venv" / ".installed"
    stamp.write_text(str(root))
    os.utime(stamp, (NOW + 1, NOW + 1))


def test_an_environment_that_is_newer_than_its_locks_is_left_alone(checkout, capsys):
    install.install(checkout)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("lock", install.LOCKS)
def test_a_lock_that_has_changed_is_installed(checkout, lock):
    os.utime(checkout / lock, (NOW + 2, NOW + 2))
    assert not install.is_current(checkout)


def test_in_a_checkout_that_was_moved_the_environment_is_not_believed(checkout):
    assert not install.is_current(checkout.rename(checkout.with_name("moved")))


def test_an_environment_whose_python_has_gone_is_not_believed(tmp_path, checkout):
    (checkout / ".venv" / "bin" / "python").unlink()
    (checkout / ".venv" / "bin" / "python").symlink_to(tmp_path / "no-such-python")
    assert not install.is_current(checkout)


def test_one_that_was_interrupted_has_no_stamp_and_is_not_believed(checkout):
    (checkout / ".venv" / ".installed").unlink()
    assert not install.is_current(checkout)


def test_without_room_nothing_is_begun_and_the_minimum_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "NEEDED_BYTES", 1 << 80)
    with pytest.raises(install.Failed, match=r"needs 2 GB on this disk, and \d+\.\d GB are free"):
        install.install(tmp_path)
    assert not (tmp_path / ".venv").exists()


def test_a_python_without_venv_is_told_how_to_get_it_and_leaves_nothing_half_made(tmp_path, monkeypatch):
    monkeypatch.setattr(install, "NEEDED_BYTES", 0)
    monkeypatch.setitem(sys.modules, "venv", None)
    with pytest.raises(install.Failed, match=r"could not make a virtual environment .*python3-venv"):
        install.install(tmp_path)
    assert not (tmp_path / ".venv").exists()


def test_of_two_at_once_the_second_waits_and_finds_the_work_done(checkout, tmp_path):
    code = "import sys; from pathlib import Path; from requirements.install import install; install(Path(sys.argv[1]))"
    done = tmp_path / "set-aside"
    (checkout / ".venv").rename(done)
    with install._alone(checkout):
        root = Path(install.__file__).parent.parent
        second = subprocess.Popen(
            [sys.executable, "-c", code, str(checkout)], cwd=root, text=True, stdout=subprocess.PIPE
        )
        with pytest.raises(subprocess.TimeoutExpired):
            second.wait(0.5)
        done.rename(checkout / ".venv")
    said, _ = second.communicate(timeout=20)
    assert (second.returncode, said) == (0, "")

"""Installs what the lock files name: `python3 requirements/install.py`, as make does. Needs nothing but Python.

Python packages go to `.venv`, and with them Node, whose npm puts the CDK command into `infra/node_modules`.
The stamp `.venv/.installed` names the checkout, as scripts in the environment do: one that was moved, interrupted, or
whose Python has gone is made anew, any other is brought up to date.
"""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

INSTALLER_LOCK: Final = "requirements/installer.lock"
LOCK: Final = "requirements/dev.lock"
NODE_PROJECT: Final = "infra"
LOCKS: Final = (INSTALLER_LOCK, LOCK, f"{NODE_PROJECT}/package-lock.json")
ROOMS: Final = (".", "layers/core/python", "cli")
"""What becomes importable, without a build step that would need more packages."""

NEEDED_BYTES: Final = 2 * 1024**3
"""Tools take half of it, what runs the other."""


class Failed(Exception):
    """The environment cannot be made; the message is the line that the user sees, or empty if a tool has said it."""


def install(root: Path) -> None:
    """Bring the checkout `root` to what its lock files say; raises `Failed`."""
    with _alone(root):
        # Another make may just have done it.
        if is_current(root):
            return
        if not (root / ".venv").exists():
            require_room(root)
        print("Installing what is needed into .venv (once, and after a change of the lock files) ...", flush=True)
        if not _is_whole(root):
            _make_environment(root)
        # What these say is only of interest when they fail.
        pip = ["pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(root, [_python(root), "-m", *pip, "--require-hashes", "-r", INSTALLER_LOCK])
        _run(root, [_python(root), "-m", "uv", "pip", "sync", "--quiet", "--require-hashes", LOCK])
        _make_rooms_importable(root)
        _make_command(root)
        _run(root, [_bin(root) / "npm", "ci", "--prefix", NODE_PROJECT, "--silent"])
        _stamp(root).write_text(str(root))


def is_current(root: Path) -> bool:
    """Whether nothing has to be done."""
    if not _is_whole(root):
        return False
    made_at = _stamp(root).stat().st_mtime
    return all((root / lock).stat().st_mtime <= made_at for lock in LOCKS)


def require_room(root: Path) -> None:
    """Raise `Failed` where the disk has less than `NEEDED_BYTES` free."""
    free = shutil.disk_usage(root).free
    if free < NEEDED_BYTES:
        raise Failed(f"Cronfleet needs 2 GB on this disk, and {free / 1024**3:.1f} GB are free.")


@contextlib.contextmanager
def _alone(root: Path) -> Iterator[None]:
    (root / ".cache").mkdir(exist_ok=True)
    with (root / ".cache" / "install.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_whole(root: Path) -> bool:
    stamp = _stamp(root)
    return stamp.exists() and stamp.read_text() == str(root) and _works(_python(root))


def _works(python: Path) -> bool:
    try:
        return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def _make_environment(root: Path) -> None:
    folder = root / ".venv"
    try:
        import venv  # noqa: PLC0415 - some systems deliver Python without it

        venv.create(folder, clear=True, symlinks=True, with_pip=True)
    # Without its second half, venv ends the process with a text of its own.
    except (ImportError, OSError, SystemExit, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        reason = f" ({error.strerror})" if isinstance(error, OSError) else ""
        raise Failed(
            f"Python could not make a virtual environment{reason} (on Debian: apt install python3-venv)."
        ) from error


def _run(root: Path, command: Sequence[str | Path]) -> None:
    # npm looks for Node on the PATH.
    environment = {**os.environ, "PATH": f"{_bin(root)}{os.pathsep}{os.environ.get('PATH', '')}"}
    if subprocess.run(command, cwd=root, env=environment, check=False).returncode != 0:
        raise Failed("")


def _make_rooms_importable(root: Path) -> None:
    ask: Sequence[str | Path] = [_python(root), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip())
    lines = (os.path.relpath(root / room, packages) for room in ROOMS)
    (packages / "cronfleet-rooms.pth").write_text("".join(f"{line}\n" for line in lines))


def _make_command(root: Path) -> None:
    """Put `cronfleet` beside the environment's Python, as an installation of cli/ would."""
    command = _bin(root) / "cronfleet"
    command.write_text('#!/bin/sh\nexec "$(dirname "$0")/python" -m cronfleet_cli "$@"\n')
    command.chmod(0o755)


def _bin(root: Path) -> Path:
    return root / ".venv" / "bin"


def _python(root: Path) -> Path:
    return _bin(root) / "python"


def _stamp(root: Path) -> Path:
    return root / ".venv" / ".installed"


def main() -> int:
    """Install; the answer is the exit status."""
    # Ctrl-C ends it without a traceback: the next make begins again.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        install(Path(__file__).resolve().parent.parent)
    except Failed as failed:
        if str(failed):
            print(failed, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

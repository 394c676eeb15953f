"""A long worker as its container has it, without a container: the files that the Dockerfile copies, and its entry."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent.parent
DOCKERFILE: Final = ROOT / "functions" / "long_worker" / "Dockerfile"
WAIT_SECONDS: Final = 30.0


def instructions(word: str) -> list[str]:
    """What stands behind `word` in the Dockerfile, each time."""
    text = re.sub(r"\\\n", " ", DOCKERFILE.read_text(encoding="utf-8"))
    found = (line.split(" ", 1) for line in text.splitlines() if " " in line)
    return [arguments.strip() for name, arguments in found if name == word]


def lay_out(root: Path) -> Path:
    """The folder `/app` below `root`, with what the COPY lines bring of the repository. Packages are this machine's."""
    for written in instructions("COPY"):
        source, target = written.split()[-2:]
        if written.startswith("--from") or not target.startswith("/app"):
            continue
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / source, root / target.lstrip("/"), ignore=ignored)
    return root / "app"


def entry() -> list[str]:
    """The command of the image, in its exec form, run by this Python."""
    (written,) = instructions("ENTRYPOINT")
    program, *arguments = json.loads(written)
    assert program == "python"
    return [sys.executable, *arguments]


class LongTask:
    """The entry as a process."""

    def __init__(self, app: Path, environment: Mapping[str, str], log: Path) -> None:
        self._log = log
        own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                entry(),
                cwd=app,
                env={**own, "PYTHONPATH": str(app), "PYTHONTZPATH": "", **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def log(self) -> str:
        """All that it has said."""
        return self._log.read_text(encoding="utf-8")

    def terminate(self) -> None:
        """What ECS sends first."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float = WAIT_SECONDS) -> int:
        """Its exit status."""
        return self.process.wait(seconds)

    def close(self) -> None:
        """End it and what it started."""
        for pid in (*places(self.process.pid), self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()


def places(supervisor: int) -> list[int]:
    """The processes that the supervisor has started."""
    found = subprocess.run(shlex.split(f"ps -o pid= --ppid {supervisor}"), capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split()]


def until(happens: Callable[[], bool], what: str, seconds: float = WAIT_SECONDS) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)

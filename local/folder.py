"""The state folder: what is where, one stack at a time, and room on the disk."""

import fcntl
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from local.errors import StackError

MINIMUM_FREE_BYTES: Final = 1024**3
"""Tools, layers and state take about 0.4 GB; the state is written beside the old one before it replaces it."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The paths below one state folder. Tools are shared by all stacks of a checkout, state is not."""

    path: Path

    @property
    def emulator_state(self) -> Path:
        """Written by the emulator when it is stopped cleanly, read when it starts."""
        return self.path / "emulator"

    @property
    def emulator_temporary(self) -> Path:
        """Where function processes unpack their code; emptied at each start and stop."""
        return self.path / "tmp"

    @property
    def layers(self) -> Path:
        """The layers of the functions, unpacked once for all of them and all runs."""
        return self.path / "layers"

    @property
    def emulator_record(self) -> Path:
        """Which process is the emulator."""
        return self.path / "emulator.json"

    @property
    def emulator_port(self) -> Path:
        """The emulator's port; queue addresses hold it, so it must not change."""
        return self.path / "emulator.port"

    @property
    def traces_port(self) -> Path:
        """Where spans are taken in; functions are deployed with it, so it is kept."""
        return self.path / "traces.port"

    @property
    def traces(self) -> Path:
        """The spans that were taken in, newest last."""
        return self.path / "traces.jsonl"

    @property
    def emulator_log(self) -> Path:
        """What the emulator prints, with the log lines of the functions."""
        return self.path / "emulator.log"

    @property
    def long_worker(self) -> Path:
        """What the processes of the long worker tell each other."""
        return self.path / "long-worker"

    @property
    def long_worker_record(self) -> Path:
        """Which process is the long worker."""
        return self.path / "long-worker.json"

    @property
    def long_worker_log(self) -> Path:
        """What the long worker prints, with the log lines of its jobs."""
        return self.path / "long-worker.log"

    @property
    def front_record(self) -> Path:
        """Which process is the front."""
        return self.path / "front.json"

    @property
    def front_log(self) -> Path:
        """What the front prints: only what went wrong."""
        return self.path / "front.log"

    @property
    def assembly(self) -> Path:
        """What `infra/` synthesised."""
        return self.path / "cdk.out"

    @property
    def deploy_log(self) -> Path:
        """What the deployment's commands printed."""
        return self.path / "deploy.log"

    @property
    def key(self) -> Path:
        """The demo tenant's API key; readable by its owner only."""
        return self.path / "key"

    @property
    def description(self) -> Path:
        """Addresses, key and processes of the running stack, as JSON, for whoever tests it."""
        return self.path / "stack.json"

    def make(self) -> None:
        """Create what is missing, readable by its owner only."""
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.emulator_state.mkdir(exist_ok=True)
        except OSError as error:
            raise StackError(
                f"cannot write to {self.path} ({error.strerror}): choose another with --state-dir"
            ) from error

    def lock(self) -> IO[str]:
        """Hold the folder until the answered file is closed or this process ends, however it ends."""
        file = (self.path / "lock").open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read().strip()
            raise StackError(
                f"this stack is already running (process {owner}): stop it, or run another beside it: "
                ".venv/bin/python -m local --port 8788 --state-dir .local/second"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        return file

    def require_room(self, minimum: int = MINIMUM_FREE_BYTES) -> None:
        """Raise `StackError` when the disk has less than `minimum` bytes free."""
        free = shutil.disk_usage(self.path).free
        if free < minimum:
            raise StackError(
                f"only {free / 1024**3:.1f} GB free at {self.path}, {minimum / 1024**3:.1f} GB are needed: "
                "make room, or choose another disk with --state-dir"
            )

    def forget(self) -> None:
        """Remove what earlier runs left, so that the next start is the first."""
        for path in (self.emulator_state, self.assembly, self.emulator_temporary, self.layers):
            shutil.rmtree(path, ignore_errors=True)
        for path in (
            self.emulator_port,
            self.traces_port,
            self.traces,
            self.key,
            self.emulator_log,
            self.deploy_log,
            self.front_log,
        ):
            path.unlink(missing_ok=True)
        self.make()

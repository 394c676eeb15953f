"""The long worker as its supervisor sees it: the entry of its image, as a process beside the emulator.

On AWS it runs on Fargate, which the emulator does not have. It is given what a worker function has, and is started
again when it ends; what it had begun goes on with another attempt.
"""

import contextlib
import sys
import time
from collections.abc import Mapping
from typing import Any, Final

from botocore.exceptions import BotoCoreError, ClientError

from local import surroundings
from local.aws import Aws
from local.folder import Folder
from local.options import ROOT
from local.process import Process, remembered, start

FUNCTION: Final = "-worker-standard"
"""How the name of the function ends whose environment it has."""

OURS: Final = ("CRONFLEET_", "POWERTOOLS_", "PYTHONTZPATH", "OTEL_")
JOBS: Final = 1
STOP_SECONDS: Final = 20
"""Between the signal and the end: five for jobs to end in their own way, the rest to hand them on."""

RESTART_SECONDS: Final = 1.0


class LongWorker:
    """Takes the long runs of a running stack."""

    def __init__(self, folder: Folder, aws: Aws, endpoint: str, prefix: str) -> None:
        self._folder = folder
        # One that outlived its supervisor has the code of then.
        stop_long_worker(folder)
        self._aws, self._endpoint, self._prefix = aws, endpoint, prefix
        self._environment = self._given()
        self.process = self._start()
        self._started_at = time.monotonic()

    def keep_going(self) -> Process | None:
        """Replace one that has ended, and answer which one that was."""
        if self.process.alive or time.monotonic() - self._started_at < RESTART_SECONDS:
            return None
        # While the emulator cannot be asked, what was deployed before will do.
        with contextlib.suppress(ClientError, BotoCoreError):
            self._environment = self._given()
        ended, self.process = self.process, self._start()
        self._started_at = time.monotonic()
        return ended

    def _given(self) -> dict[str, str]:
        """Its environment, with the settings of the worker function as they are deployed now."""
        function = f"{self._prefix}{FUNCTION}"
        asked = self._aws.client("lambda").get_function_configuration(FunctionName=function)
        variables = asked["Environment"]["Variables"]
        ours = {name: value for name, value in variables.items() if name.startswith(OURS)}
        roots = (ROOT / "layers" / "core" / "python", ROOT / "functions")
        return {
            **surroundings.aws(self._endpoint),
            **ours,
            "PYTHONPATH": ":".join(map(str, roots)),
            "CRONFLEET_LONG_JOBS": str(JOBS),
            "CRONFLEET_LONG_STOP_SECONDS": str(STOP_SECONDS),
            "CRONFLEET_LONG_FOLDER": str(self._folder.long_worker),
        }

    def _start(self) -> Process:
        process = start(
            [sys.executable, "-m", "long_worker"],
            environment=self._environment,
            log=self._folder.long_worker_log,
            folder=self._folder.path,
        )
        process.remember(self._folder.long_worker_record)
        return process


def renew_long_worker(folder: Folder, before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Have it go, if the versions of the worker function say that its code or settings are old; True if so.

    The supervisor starts another; what this one cannot end it hands on, as on AWS when a deployment replaces its task.
    """
    process = remembered(folder.long_worker_record)
    changed = any(before.get(name) != version for name, version in after.items() if name.endswith(FUNCTION))
    if process is None or not changed:
        return False
    process.stop(STOP_SECONDS)
    return True


def stop_long_worker(folder: Folder) -> None:
    """Stop the long worker of this folder, if there is one: what it cannot end it hands on."""
    process = remembered(folder.long_worker_record)
    if process is not None:
        process.stop(STOP_SECONDS)
    folder.long_worker_record.unlink(missing_ok=True)

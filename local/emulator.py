"""The AWS emulator: its environment, its start, finding it again, and a stop that keeps what it holds.

ministack writes its state only when it ends on SIGTERM; `docs/local.md` says what that means.
"""

import contextlib
import hashlib
import http.client
import json
import random
import shutil
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from local import surroundings
from local.errors import StackError
from local.folder import Folder
from local.options import ROOT
from local.process import Process, remembered, start
from local.steps import run

LOCK: Final = ROOT / "requirements" / "emulator.lock"
ENVIRONMENT: Final = ROOT / ".local" / "emulator"
PROGRAM: Final = ROOT / "local" / "shared_layers.py"
MOST_LAYERS: Final = 20
START_SECONDS: Final = 30
STOP_SECONDS: Final = 30
MOST_STARTS: Final = 3
PORTS: Final = range(20_000, 32_000)
"""Below those that the system gives to whoever names none: such a one may be taken before the emulator has it."""
MOST_DRAWS: Final = 100
HEALTH: Final = "/_ministack/health"
REFUSED: Final = "Persistence: "
"""How the emulator begins a complaint about state that it could not write."""


@dataclass(frozen=True, slots=True)
class Emulator:
    """A running emulator."""

    process: Process
    port: int

    @property
    def endpoint(self) -> str:
        """Where its AWS API listens."""
        return f"http://{surroundings.HOST}:{self.port}"

    def answers(self) -> bool:
        """Whether it answers, and not another server that has its port."""
        connection = http.client.HTTPConnection(surroundings.HOST, self.port, timeout=5)
        try:
            connection.request("GET", HEALTH)
            answer = connection.getresponse()
            return answer.status == http.client.OK and "services" in json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()


def python() -> Path:
    """The interpreter of the emulator's own environment, which also runs the functions."""
    return ENVIRONMENT / "bin" / "python"


def is_installed() -> bool:
    """Whether the environment is built from the lock as it is now, by the Python that runs this."""
    stamp = ENVIRONMENT / ".built-from"
    return python().exists() and stamp.exists() and stamp.read_text() == _stamp()


def install(log: Path) -> None:
    """Build the environment: the emulator pins one botocore exactly, so it cannot share ours."""
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    uv = [sys.executable, "-m", "uv"]
    surrounding = surroundings.base()
    run(
        "emulator's environment",
        [*uv, "venv", "--quiet", "--python", sys.executable, str(ENVIRONMENT)],
        surrounding,
        log,
    )
    install_lock = ["pip", "sync", "--quiet", "--require-hashes", "--python", str(python()), str(LOCK)]
    run("emulator's environment", [*uv, *install_lock], surrounding, log)
    (ENVIRONMENT / ".built-from").write_text(_stamp())


def running(folder: Folder) -> Emulator | None:
    """The emulator that an earlier supervisor of this folder left behind, if it lives and answers."""
    process = remembered(folder.emulator_record)
    if process is None:
        return None
    emulator = Emulator(process, int(folder.emulator_port.read_text()))
    if emulator.answers():
        return emulator
    process.stop(STOP_SECONDS)
    return None


def launch(folder: Folder) -> Emulator:
    """Start the emulator on the folder's state and wait until it answers.

    It is started again on another port where one that was free is taken by the time that it listens.
    """
    shutil.rmtree(folder.emulator_temporary, ignore_errors=True)
    folder.emulator_temporary.mkdir()
    _forget_old_layers(folder)
    for _ in range(MOST_STARTS):
        emulator = _start(folder, claim_port(folder))
        if _answers_in_time(emulator, folder):
            return emulator
        if is_free(emulator.port):
            break  # Whatever it ended of, it was not that.
    raise StackError(f"the emulator ended while it started: see {folder.emulator_log}")


def _start(folder: Folder, port: int) -> Emulator:
    process = start(
        # -P: the folder of the program holds our modules, which are not the emulator's.
        [str(python()), "-P", str(PROGRAM), str(folder.layers)],
        environment=_environment(folder, port),
        log=folder.emulator_log,
        folder=folder.path,
    )
    process.remember(folder.emulator_record)
    return Emulator(process, port)


def require_alive(emulator: Emulator, folder: Folder) -> None:
    """Raise `StackError` when the emulator has ended by itself."""
    process = emulator.process
    if not process.alive:
        # The functions it had started would otherwise work on without it.
        process.kill_group()
        raise StackError(
            f"the emulator (process {process.pid}) has ended, and with it what was registered since the last "
            f"clean stop: see {folder.emulator_log}, then start again"
        )


def stop(emulator: Emulator, folder: Folder) -> str | None:
    """Stop the emulator so that it writes its state; the answer is a complaint, if there is one."""
    before = folder.emulator_log.stat().st_size
    obeyed = emulator.process.stop(STOP_SECONDS)
    shutil.rmtree(folder.emulator_temporary, ignore_errors=True)
    folder.emulator_record.unlink(missing_ok=True)
    if not obeyed:
        return f"the emulator did not stop within {STOP_SECONDS} s and was killed: changes of this run may be lost"
    return _complaint(folder.emulator_log, before)


def _complaint(log: Path, offset: int) -> str | None:
    with log.open("rb") as file:
        file.seek(offset)
        lines = file.read().decode(errors="replace").splitlines()
    refused = [line for line in lines if REFUSED in line and "ERROR" in line]
    return f"the emulator could not keep everything: {refused[0].partition(REFUSED)[2]} ({log})" if refused else None


def _stamp() -> str:
    return f"{sys.version} {hashlib.sha256(LOCK.read_bytes()).hexdigest()}"


def _environment(folder: Folder, port: int) -> dict[str, str]:
    return {
        **surroundings.base(),
        "BIND_HOST": surroundings.HOST,
        "MINISTACK_HOST": surroundings.HOST,
        "GATEWAY_PORT": str(port),
        "PERSIST_STATE": "1",
        "STATE_DIR": str(folder.emulator_state),
        "S3_DATA_DIR": str(folder.emulator_temporary / "s3"),
        "TMPDIR": str(folder.emulator_temporary),
        # Listeners that nobody here uses, on ports that others may want.
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        # It would look for containers to remove.
        "DOCKER_HOST": "unix:///nonexistent",
    }


def _forget_old_layers(folder: Folder) -> None:
    # Each change of the code leaves one; what is needed is unpacked again.
    if folder.layers.exists() and len(list(folder.layers.iterdir())) > MOST_LAYERS:
        shutil.rmtree(folder.layers, ignore_errors=True)


def claim_port(folder: Folder) -> int:
    """The folder's port; a new free one, with the state on disk moved to it, where another program took that."""
    old = int(folder.emulator_port.read_text()) if folder.emulator_port.exists() else None
    if old is not None and is_free(old):
        return old
    new = free_port()
    if old is not None:
        _move_state(folder, old, new)
    folder.emulator_port.write_text(str(new))
    return new


def _move_state(folder: Folder, old: int, new: int) -> None:
    """Rename the addresses in the state: the emulator keeps each queue under an address with its port in it."""
    for path in folder.emulator_state.glob("*.json"):
        text = path.read_text()
        moved = text.replace(f"{surroundings.HOST}:{old}", f"{surroundings.HOST}:{new}")
        if moved != text:
            path.write_text(moved)


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` of this machine's loopback."""
    with contextlib.closing(socket.socket()) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((surroundings.HOST, port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port that nobody listens on now, and that nobody is given who asks for any. Raises `StackError`."""
    for _ in range(MOST_DRAWS):
        port = random.choice(PORTS)  # noqa: S311 - no secret: two stacks that start at once should not meet
        if is_free(port):
            return port
    raise StackError(f"no port of {MOST_DRAWS} drawn between {PORTS.start} and {PORTS.stop} is free")


def _answers_in_time(emulator: Emulator, folder: Folder) -> bool:
    """Whether it answers before it ends. Raises `StackError` where it does neither."""
    deadline = time.monotonic() + START_SECONDS
    while not emulator.answers():
        if not emulator.process.alive:
            return False
        if time.monotonic() > deadline:
            emulator.process.stop(0)
            raise StackError(f"the emulator did not answer within {START_SECONDS} s: see {folder.emulator_log}")
        time.sleep(0.05)
    return True

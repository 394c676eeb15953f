"""Zip files for Lambda, built without Docker: the vendor layer, the core layer, and one for each function.

A bundle is named by a hash of all that goes into it, so an unchanged one is never built twice and two
platforms never share one. Byte code is compiled where an interpreter of the target version is at hand, as
`unchecked-hash`: zip files carry no usable time stamps, and Lambda's file system is read-only, so anything
else would be compiled again at each cold start.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
CACHE: Final = ROOT / ".cache" / "layers"
VENDOR_LOCK: Final = ROOT / "layers" / "vendor" / "requirements.txt"
CORE: Final = ROOT / "layers" / "core" / "python"
FUNCTIONS: Final = ROOT / "functions"

RECIPE: Final = "1"
"""Raise it when this file builds something else out of the same sources."""

ZIP_TIME: Final = (1980, 1, 1, 0, 0, 0)
ALREADY_COMPRESSED: Final = frozenset({".gz", ".zip", ".png", ".woff2"})


@dataclass(frozen=True, slots=True)
class Runtime:
    """Where a bundle will run: a Python version such as `3.14`, and uv's word for the platform (None: own)."""

    python: str
    platform: str | None


@dataclass(frozen=True, slots=True)
class Bundle:
    """A finished zip file and the hash of all that went into it."""

    path: Path
    digest: str


def vendor_layer(runtime: Runtime) -> Bundle:
    """The third-party packages of `layers/vendor/requirements.txt`, as Lambda's `/opt/python`."""
    host = sys.platform if runtime.platform is None else runtime.platform
    digest = _digest("vendor", runtime, [host.encode(), VENDOR_LOCK.read_bytes()])
    return _bundle("vendor", digest, runtime, lambda stage: _install(runtime, stage / "python"))


def core_layer(runtime: Runtime) -> Bundle:
    """The package `cronfleet`, as Lambda's `/opt/python`."""
    return _sources_bundle("core", CORE, CORE / "cronfleet", Path("python"), runtime)


def function_code(name: str, runtime: Runtime) -> Bundle:
    """The folder `functions/<name>` alone: a change to one function does not redeploy another."""
    return _sources_bundle(f"function-{name}", FUNCTIONS, FUNCTIONS / name, Path(), runtime)


def _sources_bundle(name: str, base: Path, folder: Path, inside: Path, runtime: Runtime) -> Bundle:
    files = list(_files(folder))
    if not files:
        raise FileNotFoundError(f"{folder} holds no file to deploy")
    parts = [part for path in files for part in (str(path.relative_to(base)).encode(), path.read_bytes())]

    def fill(stage: Path) -> None:
        for path in files:
            target = stage / inside / path.relative_to(base)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)

    return _bundle(name, _digest(name, runtime, parts), runtime, fill)


def _digest(name: str, runtime: Runtime, parts: Iterable[bytes]) -> str:
    compiled = str(interpreter(runtime.python) is not None)
    digest = hashlib.sha256()
    for part in (RECIPE.encode(), name.encode(), runtime.python.encode(), compiled.encode(), *parts):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


def _bundle(name: str, digest: str, runtime: Runtime, fill: Callable[[Path], None]) -> Bundle:
    path = CACHE / f"{name}-{digest[:24]}.zip"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=CACHE) as folder:
            stage, finished = Path(folder) / "stage", Path(folder) / "finished.zip"
            stage.mkdir()
            fill(stage)
            _compile(stage, runtime.python)
            _zip(stage, finished)
            # Renaming is atomic: two builds side by side both end with a whole file of the same content.
            finished.replace(path)
    return Bundle(path, digest)


def _install(runtime: Runtime, target: Path) -> None:
    command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-config"]
    command += ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "copy"]
    command += ["--python-version", runtime.python]
    if runtime.platform is not None:
        command += ["--python-platform", runtime.platform]
    command += ["--target", str(target), "--requirement", str(VENDOR_LOCK)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        where = f"{runtime.platform or 'this machine'}, Python {runtime.python}"
        raise RuntimeError(f"{VENDOR_LOCK.name} could not be installed for {where}:\n{done.stderr}")
    shutil.rmtree(target / "bin", ignore_errors=True)


def _compile(stage: Path, python: str) -> None:
    program = interpreter(python)
    if program is None:
        return
    options = ["-q", "--invalidation-mode", "unchecked-hash", "-s", str(stage), str(stage)]
    subprocess.run([program, "-m", "compileall", *options], check=True, capture_output=True)


@cache
def interpreter(python: str) -> str | None:
    """A Python of exactly the version `python` on this machine: byte code of another version is ignored."""
    if python == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    program = shutil.which(f"python{python}")
    if program is None:
        return None
    # Version managers put a program of that name on the path that answers only with an error.
    answer = subprocess.run([program, "-c", ""], check=False, capture_output=True)
    return program if answer.returncode == 0 else None


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc":
            yield path


def _zip(stage: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(path for path in stage.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(stage).as_posix(), ZIP_TIME)
            entry.external_attr = 0o644 << 16
            stored = path.suffix in ALREADY_COMPRESSED
            entry.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())

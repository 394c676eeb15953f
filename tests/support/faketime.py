"""Finds libfaketime, which lies to a process about the time; takes it out of Debian's package where it is not there."""

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from local.options import ROOT

NAME = "libfaketime.so.1"
PACKAGE = "libfaketime"
CACHE = ROOT / ".cache" / "faketime"
SYSTEM = Path("/usr/lib")
DOWNLOAD_SECONDS = 120
MISSING = f"no clock can be shifted here: install {PACKAGE} (apt-get install {PACKAGE}), or let apt-get reach a mirror"
"""What to say where the library is not to be had."""

HOUR = 3_600
_TRIAL = f"import time; print(time.time() - {{now}} > {HOUR - 60}, time.monotonic() - {{monotonic}} < {HOUR - 60})"


def library(cache: Path = CACHE) -> Path | None:
    """The library, if it is installed or can be had, and works for the Python that runs this."""
    for place in (SYSTEM, cache):
        for found in _in(place):
            if works(found):
                return found
    if shutil.which("apt-get") and shutil.which("dpkg") and _fetch(cache):
        return next((found for found in _in(cache) if works(found)), None)
    return None


def environment(library: Path, file: Path) -> dict[str, str]:
    """What a process needs to be wrong by what `file` says (`+30`, `-1`), anew at every look at its clock.

    Its monotonic clock stays right, so that waiting does; and what files say of their age, so that bytecode does.
    """
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
    }


def works(library: Path) -> bool:
    """Whether a process of this Python can be an hour ahead while its monotonic clock is not."""
    trial = _TRIAL.format(now=time.time(), monotonic=time.monotonic())
    surrounding = {**environment(library, Path("/nonexistent")), "FAKETIME": f"+{HOUR}"}
    done = subprocess.run(
        [sys.executable, "-c", trial], env=surrounding, capture_output=True, text=True, timeout=30, check=False
    )
    return done.stdout.split() == ["True", "True"]


def _in(place: Path) -> Iterator[Path]:
    patterns = (f"*/faketime/{NAME}", f"faketime/{NAME}", f"unpacked/usr/lib/*/faketime/{NAME}")
    return (found for pattern in patterns for found in sorted(place.glob(pattern)))


def _fetch(cache: Path) -> bool:
    """Download the package and unpack it, without being root and without leaving anything outside `cache`."""
    lists, archives = cache / "lists", cache / "archives"
    for folder in (lists / "partial", archives / "partial"):
        folder.mkdir(parents=True, exist_ok=True)
    # A machine's own list of packages may be empty (containers), old (its file is gone), or not ours to renew.
    own_lists = ["-o", f"Dir::State::lists={lists}", "-o", f"Dir::Cache={archives}", "-o", "APT::Sandbox::User="]
    ways = (
        (["apt-get", "download", PACKAGE],),
        (["apt-get", *own_lists, "update"], ["apt-get", *own_lists, "download", PACKAGE]),
    )
    fetched = any(all(_run(step, archives) for step in way) for way in ways)
    shutil.rmtree(lists)
    packages = sorted(archives.glob(f"{PACKAGE}_*.deb")) if fetched else []
    return bool(packages) and _run(["dpkg", "-x", str(packages[-1]), str(cache / "unpacked")], cache)


def _run(command: list[str], folder: Path) -> bool:
    with contextlib.suppress(subprocess.SubprocessError):
        subprocess.run(command, cwd=folder, capture_output=True, timeout=DOWNLOAD_SECONDS, check=True)
        return True
    return False

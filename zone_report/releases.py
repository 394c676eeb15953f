"""Releases of the zone data: a folder, or a version of the tzdata package, which pip fetches into a cache."""

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

from cronfleet.domain.zones import ZoneSource

FETCH_SECONDS: Final = 120
VERSION: Final = re.compile(r"\d{4}\.\d{1,3}(\.post\d+)?", re.ASCII)
_IANA: Final = re.compile(r"""^IANA_VERSION\s*=\s*["'](\w+)["']""", re.MULTILINE)
_HEAD: Final = re.compile(r"^# version (\S+)", re.MULTILINE)


class Unavailable(Exception):
    """A release that cannot be had; the message says why, and what to give instead."""


def source_of(text: str, cache: Path | None = None) -> ZoneSource:
    """The release that `text` names: a folder, or a version such as 2026.6. Raises `Unavailable`."""
    folder = Path(text)
    if folder.is_dir():
        return ZoneSource(_package_in(folder), _release_in(_package_in(folder)))
    if not VERSION.fullmatch(text):
        raise Unavailable(f"{text!r} is neither a folder nor a version of the tzdata package, such as 2026.6")
    package = _fetched(text, cache or _cache())
    return ZoneSource(package, _release_in(package))


def newest(count: int) -> list[str]:
    """The newest versions of the tzdata package on the package index, newest first. Raises `Unavailable`."""
    said = _pip("index", "versions", "tzdata")
    match = re.search(r"^Available versions: (.+)$", said, re.MULTILINE)
    if match is None:
        raise Unavailable("the package index names no version of tzdata")
    return [version.strip() for version in match[1].split(",")][:count]


def _package_in(folder: Path) -> Path:
    """The folder with the zones' files, in what may be an unpacked package."""
    for place in (folder / "tzdata", folder):
        if (place / "zones").is_file() or (place / "zoneinfo").is_dir():
            return place
    return folder


def _release_in(folder: Path) -> str:
    for place, pattern in (
        ("__init__.py", _IANA),
        ("zoneinfo/tzdata.zi", _HEAD),
        ("tzdata.zi", _HEAD),
        ("+VERSION", re.compile(r"(\S+)")),
    ):
        file = folder / place
        match = pattern.search(file.read_text(encoding="utf-8")) if file.is_file() else None
        if match is not None:
            return match[1]
    return folder.name


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "cronfleet" / "tzdata"


def _fetched(version: str, cache: Path) -> Path:
    place = cache / version
    package = place / "tzdata"
    if not (place / "whole").is_file():
        place.mkdir(parents=True, exist_ok=True)
        _pip("download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", str(place), f"tzdata=={version}")
        [wheel] = place.glob("tzdata-*.whl")
        with zipfile.ZipFile(wheel) as packed:
            packed.extractall(place)
        (place / "whole").touch()  # Last: what was cut short is fetched again.
    return package


def _pip(*arguments: str) -> str:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"the package index did not answer within {FETCH_SECONDS} s; give a folder instead") from None
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["pip says nothing"]
        raise Unavailable(f"pip {arguments[0]} failed: {said[-1]}; give a folder instead")
    return done.stdout

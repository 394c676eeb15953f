"""Locks: what a lock file pins, read back: names, versions, hashes, and where each is needed."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.markers import Marker

ROOT: Final = Path(__file__).resolve().parent.parent
VENDOR: Final = "layers/vendor/requirements.txt"
LOCKS: Final = (
    VENDOR,
    "requirements/dev.lock",
    "requirements/emulator.lock",
    "requirements/installer.lock",
    "requirements/peers.lock",
)
"""Every lock of Python packages, what is deployed first."""
NODE: Final = ("infra", "benchmarks/peers")
"""The folders with a lock of Node packages."""

_PIN: Final = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)(?: *; *(?P<marker>[^\\]+?))? *\\?$")
_HASH: Final = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, slots=True)
class Pin:
    """One package: its files' hashes, and the marker that says where it is needed (empty: everywhere)."""

    name: str
    version: str
    hashes: tuple[str, ...]
    marker: str = ""

    def is_needed(self, where: Mapping[str, str]) -> bool:
        """Whether it is installed in an environment (`sys_platform`, `python_version` and the like)."""
        return not self.marker or Marker(self.marker).evaluate(dict(where))


def pins(lock: Path) -> Sequence[Pin]:
    """What a lock file pins. Raises `ValueError` for a line that it cannot read, or a package without a hash."""
    found = list(_pins(lock))
    bare = [pin.name for pin in found if not pin.hashes]
    if bare:
        raise ValueError(f"{lock}: {', '.join(bare)} without a hash: write the lock anew with `make lock`")
    return found


def _pins(lock: Path) -> Iterator[Pin]:
    # A package's hashes follow it, each on a line of its own.
    for block in re.split(r"\n(?=\S)", lock.read_text(encoding="utf-8")):
        first = block.partition("\n")[0].strip()
        if not first or first.startswith("#"):
            continue
        pin = _PIN.match(first)
        if pin is None:
            raise ValueError(f"{lock}: {first!r} pins no version: write the lock anew with `make lock`")
        hashes = tuple(sorted(_HASH.findall(block)))
        yield Pin(pin["name"].lower(), pin["version"], hashes, (pin["marker"] or "").strip())

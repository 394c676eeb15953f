"""Zone data made to measure: releases whose zones change their offset when a test says so."""

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from cronfleet.domain.zones import ZoneSource

HOUR = 3600
Changes = Sequence[tuple[int, int]]
"""(UTC second, offset from then on); the first one's second does not count."""

_HEADER = ">4sc15x6l"


def release(folder: Path, name: str, zones: Mapping[str, Changes]) -> ZoneSource:
    """A source of that name, in a folder of its own below `folder`, with these zones and UTC."""
    place = folder / name
    for zone, changes in {"UTC": [(0, 0)], **zones}.items():
        file = place / "zoneinfo" / zone
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(tzif(changes))
    (place / "zones").write_text("\n".join(["UTC", *zones]) + "\n")
    return ZoneSource(place, name)


def tzif(changes: Changes) -> bytes:
    """A zone's file (RFC 8536, version 2): without a rule for the time after its last change."""
    (_, first), *later = changes
    offsets = list(dict.fromkeys([first, *(offset for _, offset in later)]))
    names = b"LMT\0"
    counts = (0, 0, 0, len(later), len(offsets), len(names))
    body = struct.pack(f">{len(later)}q", *(second for second, _ in later))
    body += bytes(offsets.index(offset) for _, offset in later)
    body += b"".join(struct.pack(">lbb", offset, 0, 0) for offset in offsets) + names
    last = offsets[0] if not later else later[-1][1]
    empty = struct.pack(_HEADER, b"TZif", b"2", 0, 0, 0, 0, 1, 4) + struct.pack(">lbb", 0, 0, 0) + names
    return empty + struct.pack(_HEADER, b"TZif", b"2", *counts) + body + b"\n" + _footer(last) + b"\n"


def _footer(offset: int) -> bytes:
    hours, minutes = divmod(abs(offset) // 60, 60)
    # POSIX counts west as positive.
    return f"<LMT>{'-' if offset >= 0 else '+'}{hours}:{minutes:02}".encode()

"""Reads the changes of a zone straight from its TZif file (RFC 8536), to hold against what the product found."""

import struct
from functools import cache
from importlib import resources

_HEADER = struct.Struct(">4sc15x6l")


@cache
def offset_changes(name: str) -> tuple[tuple[int, int, int], ...]:
    """(UTC second, offset before, offset after) of each change of the offset that the file lists."""
    data = resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).read_bytes()
    _, _, *counts = _HEADER.unpack_from(data)
    start = _HEADER.size + _body_size(counts, 4)
    _, _, *counts = _HEADER.unpack_from(data, start)
    times, types = counts[3], counts[4]
    body = start + _HEADER.size
    seconds = struct.unpack_from(f">{times}q", data, body)
    indexes = data[body + 8 * times : body + 9 * times]
    offsets = [struct.unpack_from(">l", data, body + 9 * times + 6 * index)[0] for index in range(types)]
    changes = []
    before = offsets[0]
    for second, index in zip(seconds, indexes, strict=True):
        if offsets[index] != before:
            changes.append((second, before, offsets[index]))
        before = offsets[index]
    return tuple(changes)


def _body_size(counts: list[int], time_size: int) -> int:
    is_utc, is_standard, leaps, times, types, characters = counts
    return times * (time_size + 1) + types * 6 + characters + leaps * (time_size + 4) + is_standard + is_utc

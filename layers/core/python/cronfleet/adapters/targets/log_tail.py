"""The end of what a job says, in memory that its process shares with the worker.

So it is there whatever ends the job: its time limit, a kill, memory that ran out. Writing a line costs no system call,
and a job that writes a million of them holds nobody up: the newest write over the oldest.
"""

import json
import mmap
import struct
from typing import Any, Final

from cronfleet.domain.attempt_log import MAX_LINE_CHARACTERS, MAX_LOG_BYTES, LogLine
from cronfleet.domain.instant import Instant

_HEAD: Final = struct.Struct("<Q")
"""How many bytes have been written in all."""
_SIZE: Final = 4 * MAX_LOG_BYTES
"""Room for what is kept, and for what JSON adds to it."""


class LogTail:
    """Made before the fork; written to by the child, read by the parent."""

    def __init__(self) -> None:
        # Shared by parent and child, and by no name: /dev/shm, which Lambda does not have, is not needed.
        self._memory = mmap.mmap(-1, _HEAD.size + _SIZE)

    @property
    def written(self) -> int:
        """Bytes written so far."""
        (total,) = _HEAD.unpack_from(self._memory, 0)
        return int(total)

    def add(self, at: Instant, level: str, text: str) -> None:
        """Add one line. In the child."""
        line = json.dumps([at, level, text[:MAX_LINE_CHARACTERS]], separators=(",", ":")).encode() + b"\n"
        total = self.written
        begin = total % _SIZE
        first = line[: _SIZE - begin]
        self._put(begin, first)
        self._put(0, line[len(first) :])
        # Last: a process that is killed in between leaves no half of a line that counts.
        _HEAD.pack_into(self._memory, 0, total + len(line))

    def read(self) -> tuple[list[LogLine], bool]:
        """What is there, oldest first, and whether nothing was said before it. In the parent."""
        total = self.written
        data = self._memory[_HEAD.size :]
        if total <= _SIZE:
            return _lines(data[:total]), True
        begin = total % _SIZE
        # It begins in the middle of a line, the end of which was written over.
        _, _, rest = (data[begin:] + data[:begin]).partition(b"\n")
        return _lines(rest), False

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()

    def _put(self, begin: int, data: bytes) -> None:
        start = _HEAD.size + begin
        self._memory[start : start + len(data)] = data


def _lines(data: bytes) -> list[LogLine]:
    return [line for line in map(_line, data.splitlines()) if line is not None]


def _line(data: bytes) -> LogLine | None:
    """One line; `None` for what a job's own processes, writing at once, have garbled."""
    try:
        fields: Any = json.loads(data)
    except (ValueError, RecursionError):
        return None
    match fields:
        case [int(at), str(level), str(text)]:
            return LogLine(at, level, text)
    return None

"""Reads on in the emulator's log, where the functions' own lines stand: finished attempts, and metrics."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

READ_BYTES: Final = 1024 * 1024
LIMIT_BYTES: Final = 32 * 1024 * 1024
"""The log is emptied past this size: nobody else bounds it."""

ATTEMPT_FINISHED: Final = "attempt_finished"


class Journal:
    """The lines that were added to the log since the journal was opened, each read once."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0
        self._rest = b""

    def new_records(self) -> Iterator[dict[str, Any]]:
        """Each complete new line that is a JSON object."""
        for line in self._new_lines():
            if line.startswith(b"{"):
                try:
                    record = json.loads(line)
                except ValueError:
                    continue
                yield record

    def _new_lines(self) -> list[bytes]:
        with self._log.open("rb") as file:
            if os.fstat(file.fileno()).st_size < self._offset:
                self._offset, self._rest = 0, b""
            file.seek(self._offset)
            read = file.read(READ_BYTES)
        self._offset += len(read)
        self._empty_when_full()
        *lines, self._rest = (self._rest + read).split(b"\n")
        return lines

    def _empty_when_full(self) -> None:
        # The emulator appends to the file, so it goes on at the new end.
        if self._offset > LIMIT_BYTES:
            os.truncate(self._log, 0)
            self._offset = 0


def finished_attempt(record: dict[str, Any]) -> dict[str, Any] | None:
    """The worker's line about a finished attempt, if `record` is that."""
    return record if record.get("message") == ATTEMPT_FINISHED else None

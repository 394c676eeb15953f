"""Comes along in the process of a function whose clock may be shifted: notes what it does while its clock is wrong.

Python imports a module of this name as it starts, before anything of the product. The process knows the right time by
its monotonic clock, which is not shifted.
"""

import http.client
import json
import os
import select
import time
from pathlib import Path

ANCHOR_NS = int(os.environ["SHIFTED_ANCHOR_NS"])
"""The right time minus the monotonic clock's, the same for all processes of a machine."""

NOTES = Path(os.environ["SHIFTED_NOTES"])
TOLERATED_MS = 3_050
"""Two seconds, and the one that a Date header of whole seconds leaves open."""

_put_header = http.client.HTTPConnection.putheader


def _sleep(seconds: float) -> None:
    """Sleep by other means: Python sleeps until an instant of the monotonic clock, which libfaketime 0.9.10 refuses."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select((), (), (), seconds)


def _noting(connection: http.client.HTTPConnection, header: str | bytes, *values: str | bytes) -> None:
    name = header.decode() if isinstance(header, bytes) else header
    if name.lower() == "x-amz-target":
        _note(values[0].decode() if isinstance(values[0], bytes) else values[0])
    _put_header(connection, header, *values)


def _note(request: str) -> None:
    right_ns = time.monotonic_ns() + ANCHOR_NS
    wrong_by = (time.time_ns() - right_ns) // 1_000_000
    if abs(wrong_by) > TOLERATED_MS:
        line = json.dumps({"at": right_ns // 1_000_000, "wrong_by_ms": wrong_by, "request": request}) + "\n"
        with NOTES.open("a") as notes:
            notes.write(line)


time.sleep = _sleep
http.client.HTTPConnection.putheader = _noting  # type: ignore[method-assign]  # every request is noted

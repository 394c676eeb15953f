"""Cursors: opaque, URL-safe text that names where the next page goes on."""

import base64
import binascii
import json
from collections.abc import Sequence

from cronfleet.domain.errors import Invalid


def encode(parts: Sequence[str]) -> str:
    """The cursor that stands for `parts`."""
    packed = json.dumps(list(parts), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def decode(cursor: str, length: int) -> list[str]:
    """The `length` parts that `encode` was given; raises `Invalid("cursor")` for any other text."""
    try:
        parts = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise foreign() from error
    if not isinstance(parts, list) or len(parts) != length or not all(isinstance(part, str) for part in parts):
        raise foreign()
    return parts


def after_schedule(schedule_id: str) -> str:
    """The cursor of every list of schedules that goes on after this id."""
    return encode([schedule_id])


def foreign() -> Invalid:
    """What a caller is told whose cursor is none of ours."""
    return Invalid("cursor", "is not a cursor of this list; pass the one that the page before gave")

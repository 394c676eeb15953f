"""Audit: who changed what, when, from what to what, and why. Written in the transaction that makes the change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.domain.instant import Instant

SCHEDULER_ACTOR: Final = "cronfleet"
"""The actor of changes that the scheduler makes itself: an automatic resume, a parking."""


# Crockford's base 32 in lower case: no i, l, o, u, and in the order of ASCII, so that ids sort as numbers do.
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_PREFIX_LENGTH: Final = 10


def base32(number: int, length: int) -> str:
    """The lowest `length` digits of `number`, as ids are written."""
    return "".join(_ALPHABET[number >> 5 * place & 31] for place in reversed(range(length)))


def id_prefix(instant: Instant) -> str:
    """How the id of an entry begins that was made at `instant`: ids are ULIDs, and sort by time."""
    return base32(instant, _PREFIX_LENGTH)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One accepted change. `before` and `after` hold the API's form of what changed, or `None`."""

    tenant: str
    entry_id: str
    at: Instant
    actor: str
    action: str
    schedule_id: str
    request_id: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    reason: str = ""

"""Audit: who changed what, when, from what to what, and why. Written in the transaction that makes the change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cronfleet.domain.instant import Instant

SCHEDULER_ACTOR: Final = "cronfleet"
"""The actor of changes that the scheduler makes itself: an automatic resume, a parking."""


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

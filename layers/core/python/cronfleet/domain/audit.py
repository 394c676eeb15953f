"""Audit: who changed what, when, from what to what, and why. Written in the transaction that makes the change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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


TENANT_SUBJECT: Final = "tenant"
"""The subject of changes of the tenant itself: its quotas, its status."""
_SCHEDULE: Final = "schedule"


def subject(kind: str, name: str) -> str:
    """What a change is filed under: `calendar:uk`, `key:01j…`, `freeze:01j…`."""
    return f"{kind}:{name}"


def schedule_subject(schedule_id: str) -> str:
    """The subject of a schedule's changes, its runs and heartbeat URL included."""
    return subject(_SCHEDULE, schedule_id)


@dataclass(frozen=True, slots=True)
class Link:
    """An entry's place in the chain of its subject; see `domain/audit_chain.py`.

    `previous` is the digest of the entry before and `previous_id` its id, both empty for the first (`seq` 1).
    """

    seq: int
    previous: str
    previous_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One accepted change. `before` and `after` hold the API's form of what changed, or `None`.

    `subject` says what changed: `schedule:<id>`, `calendar:<name>`, `key:<id>`, `freeze:<id>`, … or `tenant`.
    `actor` is who, `credential` with which key or token; `home_tenant` is the credential's own tenant where that is
    another than `tenant`: a platform admin acted for it. The store gives the `link` when it commits; entries from
    before there were chains have none. Raises `ValueError` for a subject without a kind.
    """

    tenant: str
    entry_id: str
    at: Instant
    actor: str
    action: str
    subject: str
    request_id: str
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    reason: str = ""
    credential: str = ""
    home_tenant: str = ""
    link: Link | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.subject != TENANT_SUBJECT and ":" not in self.subject:
            raise ValueError(f"{self.subject!r} is no subject; write schedule:<id>, calendar:<name> or the like")

    @property
    def schedule_id(self) -> str:
        """The schedule that changed; empty where something else did."""
        kind, _, name = self.subject.partition(":")
        return name if kind == _SCHEDULE else ""

    @property
    def acting_for(self) -> str:
        """The tenant that a platform admin of another one acted for; empty where it was the caller's own."""
        return self.tenant if self.home_tenant else ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which entries are asked for: those from `since` to `until`, both included; what is empty does not matter."""

    since: Instant
    until: Instant
    subject: str = ""
    actor: str = ""
    action: str = ""

    def takes(self, entry: AuditEntry) -> bool:
        """Whether `entry` is one of them."""
        return (
            self.since <= entry.at <= self.until
            and self.subject in ("", entry.subject)
            and self.actor in ("", entry.actor)
            and self.action in ("", entry.action)
        )


@dataclass(frozen=True, slots=True)
class Broken:
    """An entry that cannot be read, and why."""

    entry_id: str
    why: str

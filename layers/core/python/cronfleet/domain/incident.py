"""Incidents: something that was promised is broken, from when it is noticed until it is whole again.

Of one subject and kind at most one is open at a time: its standing says which, and every move of either is one
transaction on the `rev` of both. So an alarm is raised once, and ended once, whoever looks and however often.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from cronfleet.domain.audit import base32, id_prefix
from cronfleet.domain.errors import Conflict
from cronfleet.domain.instant import DAY, Instant, to_text
from cronfleet.domain.reason import detail_form

PLATFORM: Final = "_platform"
"""Who the installation's own incidents and channels belong to. No tenant's id begins so."""

MAX_NAMED: Final = 200
"""Schedules that an incident names; it counts them all."""

_ID_DIGITS: Final = 16

MAX_TEXT: Final = 500
"""Characters of an incident's sentence."""

INCIDENT_LIFE: Final = 90 * DAY
"""How long an incident is kept after its end."""


class IncidentKind(StrEnum):
    """What is broken."""

    STARTS_WITHIN = "starts_within"
    """A fire was not started in the time that its schedule's objective allows."""
    SUCCEEDS_WITHIN = "succeeds_within"
    """A fire's run did not succeed in the time allowed."""
    SUCCEEDS_BY = "succeeds_by"
    """A fire's run did not succeed by the time of day that was set."""
    RUNS_TOO_LONG = "runs_no_longer_than"
    """A run takes, or took, longer than was set, or than its history lets expect."""
    PING_WITHIN = "ping_within"
    """The job that runs elsewhere sent no ping of success in the time allowed."""
    SHARD_STOPPED = "shard_stopped"
    """Nobody dispatched a shard: the fires of the schedules named came due meanwhile."""
    LETTERS_EXPIRE = "letters_expire"
    """Dead letters that nobody has settled are removed before long."""
    LAG = "lag"
    """Ticks are served, and yet fires are due for long and not claimed."""
    QUEUE_AGE = "queue_age"
    """Claimed fires wait for long for a worker."""
    DEAD_LETTERS = "dead_letters"
    """Messages come to dead-letter queues."""


class IncidentStatus(StrEnum):
    """Where an incident is."""

    OPEN = "open"
    HEALED = "healed"
    """What was broken is whole again."""
    WITHDRAWN = "withdrawn"
    """Nobody watches it any more: the objective was taken away, or the schedule was deleted."""


def schedule_of(subject: str) -> str:
    """The schedule that a subject names; empty for any other."""
    kind, _, name = subject.partition(":")
    return name if kind == "schedule" else ""


def about_schedule(schedule_id: str) -> str:
    """The subject of a schedule's incidents."""
    return f"schedule:{schedule_id}"


@dataclass(frozen=True, slots=True)
class Broken:
    """What is to be told of a break: since when, one sentence, and what machines may want to read."""

    since_at: Instant
    text: str
    detail: Mapping[str, str | int] = field(default_factory=dict)
    schedules: tuple[str, ...] = ()
    """The schedules concerned, at most `MAX_NAMED` of them, sorted; one about a schedule names that alone."""
    count: int = 0
    """How many are concerned."""


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """Who has seen it, when, and what they said."""

    by: str
    at: Instant
    note: str = ""


@dataclass(frozen=True, slots=True)
class Incident:
    """One incident. `rev` rises with every write, and `change_id` names the latest.

    Ids sort by when it broke. `channels` names the channels that are told, as they were when it
    opened.
    """

    tenant: str
    incident_id: str
    subject: str
    kind: IncidentKind
    broken: Broken
    opened_at: Instant
    status: IncidentStatus = IncidentStatus.OPEN
    ended_at: Instant | None = None
    ended_text: str = ""
    channels: tuple[str, ...] = ()
    acknowledged: Acknowledgement | None = None
    rev: int = 1
    change_id: str = ""

    @property
    def schedule_id(self) -> str:
        """The schedule that it is about; empty where it is about something else."""
        return schedule_of(self.subject)

    @property
    def is_open(self) -> bool:
        """Whether it is still broken."""
        return self.status is IncidentStatus.OPEN

    @property
    def expires_at(self) -> Instant | None:
        """When it may be forgotten; `None` while it is open."""
        return None if self.ended_at is None else self.ended_at + INCIDENT_LIFE

    def ended(self, status: IncidentStatus, now: Instant, text: str, change_id: str) -> "Incident":
        """The same, over."""
        return replace(
            self, status=status, ended_at=now, ended_text=text[:MAX_TEXT], rev=self.rev + 1, change_id=change_id
        )

    def seen(self, by: str, now: Instant, note: str, change_id: str) -> "Incident":
        """The same, acknowledged; `Conflict` for one that is over."""
        if not self.is_open:
            raise Conflict(f"the incident is {self.status}: only an open one can be acknowledged")
        return replace(self, acknowledged=Acknowledgement(by, now, note), rev=self.rev + 1, change_id=change_id)

    def widened(self, broken: Broken, change_id: str) -> "Incident":
        """The same, with what is known of it now."""
        return replace(self, broken=broken, rev=self.rev + 1, change_id=change_id)


@dataclass(frozen=True, slots=True)
class Standing:
    """Whether a subject has an open incident of a kind: its id, or `None`. `rev` is 0 before the first."""

    tenant: str
    subject: str
    kind: IncidentKind
    incident_id: str | None = None
    rev: int = 0
    change_id: str = ""

    def moved(self, incident_id: str | None, change_id: str) -> "Standing":
        """The same, one write on."""
        return replace(self, incident_id=incident_id, rev=self.rev + 1, change_id=change_id)


def incident_id_of(tenant: str, subject: str, kind: IncidentKind, since_at: Instant) -> str:
    """The id of the one incident of this break: whoever notices it twice, opens it once. Ids sort by `since_at`."""
    digest = hashlib.sha256(f"{tenant}\0{subject}\0{kind.value}\0{since_at}".encode()).digest()
    return id_prefix(since_at) + base32(int.from_bytes(digest, "big"), _ID_DIGITS)


def named(schedule_ids: Collection[str]) -> tuple[tuple[str, ...], int]:
    """The schedules that an incident names, and how many there are."""
    return tuple(sorted(schedule_ids)[:MAX_NAMED]), len(schedule_ids)


def incident_form(incident: Incident) -> dict[str, Any]:
    """An incident as callers see it."""
    seen = incident.acknowledged
    return {
        "id": incident.incident_id,
        "kind": incident.kind.value,
        "subject": incident.subject,
        "schedule_id": incident.schedule_id or None,
        "status": incident.status.value,
        "text": incident.broken.text,
        "detail": detail_form(incident.broken.detail),
        "schedules": list(incident.broken.schedules),
        "schedule_count": incident.broken.count,
        "broken_since": to_text(incident.broken.since_at),
        "opened_at": to_text(incident.opened_at),
        "ended_at": None if incident.ended_at is None else to_text(incident.ended_at),
        "ended_text": incident.ended_text,
        "channels": list(incident.channels),
        "acknowledged": None if seen is None else {"by": seen.by, "at": to_text(seen.at), "note": seen.note},
    }

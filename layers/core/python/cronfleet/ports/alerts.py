"""Where alerts are kept: incidents and their standings, channels, notices, and how far schedules are watched."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cronfleet.domain.attempt import Result
from cronfleet.domain.channel import Channel
from cronfleet.domain.incident import Incident, IncidentKind, Standing
from cronfleet.domain.instant import Instant
from cronfleet.domain.message import Message
from cronfleet.domain.notice import Notice
from cronfleet.domain.watch import Watch
from cronfleet.ports.page import Page

Alert: TypeAlias = Incident | Standing | Channel | Notice | Watch
"""What is kept, each one item with a `rev`."""


@dataclass(frozen=True, slots=True)
class PutAlert:
    """Put one of them, on the condition that its `rev` is still `alert.rev - 1` (0: there is none)."""

    alert: Alert


class AlertStore(Protocol):
    """Alerts, read; they are written by transactions."""

    def get_incident(self, tenant: str, incident_id: str) -> Incident | None:
        """One incident, read strongly."""
        ...

    def list_incidents(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Incident]:
        """A tenant's incidents, newest first."""
        ...

    def get_standing(self, tenant: str, subject: str, kind: IncidentKind) -> Standing:
        """Whether a subject has an open incident of a kind, read strongly; that of `rev` 0 before the first."""
        ...

    def list_standings(self, tenant: str, *, subject: str = "", cursor: str | None, limit: int) -> Page[Standing]:
        """The standings of a tenant, or of one subject, that name an open incident; a page may be short and go on."""
        ...

    def get_channel(self, tenant: str, name: str) -> Channel | None:
        """A channel, read strongly; tombstones too."""
        ...

    def list_channels(self, tenant: str) -> Sequence[Channel]:
        """All channels of a tenant by their names, read strongly, tombstones left out; there are only a few."""
        ...

    def get_notice(self, tenant: str, notice_id: str) -> Notice | None:
        """One notice, read strongly."""
        ...

    def list_notices(self, tenant: str, notice_ids: Sequence[str]) -> Sequence[Notice]:
        """Those that are there, in the order asked for, eventually consistent."""
        ...

    def get_watch(self, tenant: str, schedule_id: str) -> Watch | None:
        """How far a schedule is watched, read strongly; `None`: it never was."""
        ...


class Courier(Protocol):
    """Tells a channel."""

    def deliver(self, channel: Channel, message: Message, deadline_at: Instant) -> Result:
        """Deliver once. What goes wrong is in the result, and whether another try may mend it; never raises."""
        ...

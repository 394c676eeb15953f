"""Retiming: a stored job that looks at schedules again because something changed what their triggers name.

The zone data was upgraded (all schedules of the installation), or a calendar got a new version (those of one tenant).
The sweeper carries the job on page by page. A page may be done twice: what a step has changed bears the job's id.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import blake2b
from typing import Final, TypeAlias

from cronfleet.domain.audit import base32
from cronfleet.domain.instant import DAY, SECOND, Instant

_ID_LENGTH: Final = 26

KEPT_AFTER_END: Final = 90 * DAY
"""How long a finished job can still be read."""

MAX_TRIES: Final = 10
"""Sweeps in which a schedule that could not be changed (others kept coming first) is tried again."""

MAX_POSTPONED: Final = 100
"""Schedules that a job puts off at a time; what is more is counted as failed."""

Postponed: TypeAlias = tuple[str, str, int]
"""Tenant and id of a schedule that is tried again, and how often it was tried."""


class Cause(StrEnum):
    """What changed."""

    ZONE_DATA = "zone_data"
    """Another release of the zone data is at work."""
    CALENDAR = "calendar"
    """A calendar has a new version."""
    FAILOVER = "failover"
    """A standby was released: what its copy of the tables lacks is made up for."""


@dataclass(slots=True)
class Tally:
    """What became of the schedules of a page."""

    seen: int = 0
    changed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Retiming:
    """One job. `subject` is the release (`2026f`), the calendar's name or the region that took over, `version` the
    calendar's version, of a fail-over the second since which its copy may lack something, or 0.

    `tenant` is empty for a job over all tenants. `cursor` names where the next page begins, until all are `walked`.
    `seen`, `changed` and `failed` count schedules; those of a page count once it is noted. `rev` rises with every
    write.
    """

    job_id: str
    cause: Cause
    tenant: str
    subject: str
    version: int
    started_at: Instant
    cursor: str | None = None
    walked: bool = False
    postponed: tuple[Postponed, ...] = ()
    seen: int = 0
    changed: int = 0
    failed: int = 0
    finished_at: Instant | None = None
    rev: int = 1

    @property
    def is_open(self) -> bool:
        """Whether there is something left to do."""
        return self.finished_at is None

    def noted(self, tally: Tally, postponed: tuple[Postponed, ...], now: Instant) -> "Retiming":
        """The job once some of its schedules were looked at, and these put off; finished if nothing is left."""
        return replace(
            self,
            postponed=postponed,
            seen=self.seen + tally.seen,
            changed=self.changed + tally.changed,
            failed=self.failed + tally.failed,
            finished_at=now if self.walked and not postponed else None,
            rev=self.rev + 1,
        )

    def on_to(self, cursor: str | None) -> "Retiming":
        """The job, going on from `cursor`; without one, everything is walked."""
        return replace(self, cursor=cursor, walked=cursor is None)

    def ended(self, now: Instant) -> "Retiming":
        """The job, over: what is left of it another job does."""
        return replace(self, cursor=None, finished_at=now, rev=self.rev + 1)


def for_calendar(tenant: str, name: str, version: int, now: Instant) -> Retiming:
    """The job that a calendar's new version starts; its id is the same however often it is asked for."""
    digest = blake2b(f"{tenant}~{name}~{version}".encode(), digest_size=16).digest()
    # As long as ids are that are drawn: it stands in each timer that the job changes.
    job_id = base32(int.from_bytes(digest), _ID_LENGTH)
    return Retiming(job_id, Cause.CALENDAR, tenant, name, version, now)


def for_failover(job_id: str, region: str, since: Instant, now: Instant) -> Retiming:
    """The job that the release of a standby starts."""
    return Retiming(job_id, Cause.FAILOVER, "", region, since // SECOND, now)


def for_zone_data(job_id: str, release: str, now: Instant) -> Retiming:
    """The job that another release of the zone data starts."""
    return Retiming(job_id, Cause.ZONE_DATA, "", release, 0, now)

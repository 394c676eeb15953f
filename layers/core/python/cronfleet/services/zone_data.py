"""Zone data, as callers see it: the release at work, the one that is coming, and how far retiming has come."""

from collections.abc import Iterable, Iterator
from typing import Final

from cronfleet.domain.form import Form
from cronfleet.domain.instant import Instant, to_text
from cronfleet.domain.retiming import Cause, Retiming
from cronfleet.domain.zone_release import SETTLES_AFTER, ZoneRelease
from cronfleet.domain.zones import tzdata_version
from cronfleet.ports.job_store import JobStore
from cronfleet.services.access import Caller
from cronfleet.services.changing import answer_of

MAX_JOBS: Final = 100
"""Open jobs, and finished ones, that are looked through for a caller's."""


class ZoneData:
    """The service behind /v1/timezone-data."""

    def __init__(self, *, store: JobStore) -> None:
        self._store = store

    def report(self, caller: Caller) -> Form:
        """The releases, and the jobs: those of the whole installation, and those of the caller's calendars."""
        known = answer_of(self._store.get_zone_release)
        jobs = [
            *answer_of(lambda: self._store.open_retimings(MAX_JOBS)),
            *answer_of(lambda: self._store.finished_retimings(MAX_JOBS)),
        ]
        return {
            "release": tzdata_version(),
            "in_force": _in_force(known),
            "coming": _coming(known),
            "retimings": [_job_form(job) for job in _of(caller.tenant.tenant_id, jobs)],
        }


def _of(tenant: str, jobs: Iterable[Retiming]) -> Iterator[Retiming]:
    shown = (Cause.ZONE_DATA, Cause.CALENDAR)
    return (job for job in jobs if job.tenant in ("", tenant) and job.cause in shown)


def _in_force(known: ZoneRelease | None) -> Form | None:
    if known is None or not known.release:
        return None
    return {"release": known.release, "since": to_text(known.since)}


def _coming(known: ZoneRelease | None) -> Form | None:
    if known is None or known.coming_since is None:
        return None
    settled_at = known.coming_since + SETTLES_AFTER
    return {"release": known.coming, "since": to_text(known.coming_since), "in_force_from": to_text(settled_at)}


def _job_form(job: Retiming) -> Form:
    return {
        "id": job.job_id,
        "cause": job.cause.value,
        "release": job.subject if job.cause is Cause.ZONE_DATA else None,
        "calendar": job.subject if job.cause is Cause.CALENDAR else None,
        "version": job.version or None,
        "status": "open" if job.is_open else "finished",
        "started_at": to_text(job.started_at),
        "finished_at": _text(job.finished_at),
        "seen": job.seen,
        "changed": job.changed,
        "failed": job.failed,
        "postponed": len(job.postponed),
    }


def _text(instant: Instant | None) -> str | None:
    return None if instant is None else to_text(instant)

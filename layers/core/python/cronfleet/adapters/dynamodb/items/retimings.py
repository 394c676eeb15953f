"""Jobs that look at schedules again and the zone release, as items of the table `retimings`."""

from typing import Final

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import RetimingRecord, ZoneReleaseRecord
from cronfleet.domain.instant import SECOND
from cronfleet.domain.retiming import KEPT_AFTER_END, Cause, Retiming
from cronfleet.domain.zone_release import ZoneRelease

ZONE_RELEASE: Final = (keys.ZONE_DATA, keys.RELEASE)


def retiming_item(job: Retiming) -> Item:
    """A job as an item: a finished one stands elsewhere, and is forgotten in time."""
    end = job.finished_at
    return written(
        RetimingRecord,
        *((keys.OPEN_RETIMINGS, job.job_id) if end is None else finished_place(job)),
        job_id=job.job_id,
        cause=job.cause.value,
        tenant=job.tenant or None,
        subject=job.subject,
        version=job.version,
        started_at=job.started_at,
        cursor=job.cursor,
        walked=int(job.walked),
        postponed=list(job.postponed) or None,
        seen=job.seen,
        changed=job.changed,
        failed=job.failed,
        finished_at=end,
        rev=job.rev,
        expires_at=None if end is None else (end + KEPT_AFTER_END) // SECOND,
    )


def finished_place(job: Retiming) -> tuple[str, str]:
    """The key of a finished job."""
    return keys.FINISHED_RETIMINGS, keys.finished_retiming(job.finished_at or 0, job.job_id)


def retiming_of(item: Item) -> Retiming:
    """The job in `item`; raises `Damaged`."""
    record = read(RetimingRecord, item)
    try:
        return Retiming(
            record.job_id,
            Cause(record.cause),
            record.tenant or "",
            record.subject,
            record.version,
            record.started_at,
            record.cursor,
            bool(record.walked),
            tuple((tenant, schedule_id, tries) for tenant, schedule_id, tries in record.postponed or ()),
            record.seen,
            record.changed,
            record.failed,
            record.finished_at,
            record.rev,
        )
    except (ValueError, TypeError) as error:
        raise damaged(item, error) from error


def release_item(release: ZoneRelease) -> Item:
    """The zone release as an item."""
    return written(
        ZoneReleaseRecord,
        *ZONE_RELEASE,
        release=release.release or None,
        since=release.since,
        coming=release.coming or None,
        coming_since=release.coming_since,
        rev=release.rev,
    )


def release_of(item: Item) -> ZoneRelease:
    """The zone release in `item`; raises `Damaged`."""
    record = read(ZoneReleaseRecord, item)
    return ZoneRelease(record.release or "", record.since, record.coming or "", record.coming_since, record.rev)

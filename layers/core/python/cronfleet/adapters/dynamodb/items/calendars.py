"""Calendars, as items of the table `calendars`."""

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.packing import pack, unpack
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import CalendarHeadRecord, CalendarRecord
from cronfleet.domain.calendar import Calendar, CalendarHead
from cronfleet.domain.calendar_form import content_of, content_record


def head_item(head: CalendarHead) -> Item:
    """What stands first of a calendar, as an item."""
    return written(
        CalendarHeadRecord,
        head.tenant,
        head.name,
        version=head.version,
        covers_until=head.covers_until,
        description=head.description,
        updated_at=head.updated_at,
        change_id=head.change_id,
        is_deleted=1 if head.is_deleted else None,
    )


def head_of(item: Item) -> CalendarHead:
    """What stands first of the calendar in `item`; raises `Damaged`."""
    record = read(CalendarHeadRecord, item)
    return CalendarHead(
        record.pk,
        record.sk,
        record.version,
        record.covers_until,
        record.description,
        record.updated_at,
        record.change_id,
        is_deleted=bool(record.is_deleted),
    )


def calendar_item(calendar: Calendar) -> Item:
    """A version as an item."""
    return written(
        CalendarRecord,
        keys.calendar(calendar.tenant, calendar.name),
        keys.version(calendar.version),
        version=calendar.version,
        content=pack(content_record(calendar)),
        author=calendar.author,
        created_at=calendar.created_at,
        reason=calendar.reason,
    )


def calendar_of(item: Item) -> Calendar:
    """The version in `item`; raises `Damaged`."""
    record = read(CalendarRecord, item)
    try:
        tenant, name = keys.parse_calendar(record.pk)
        content = content_of(unpack(record.content))
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(item, error) from error
    made = {"author": record.author, "created_at": record.created_at, "reason": record.reason}
    return content.of(tenant, name, record.version, **made)

"""Sheets of the noticeboard, as items of the table `tenants` beside the directory of freezes."""

from collections.abc import Sequence

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.freezes import directory_of
from cronfleet.adapters.dynamodb.records import damaged, read
from cronfleet.adapters.dynamodb.tenant_records import SheetRecord
from cronfleet.domain.freeze import FreezeDirectory
from cronfleet.domain.noticeboard import Notice, Notices, Sheet, Topic
from cronfleet.ports.job_store import Damaged


def sheet_item(sheet: Sheet) -> Item:
    """A sheet as an item."""
    record = SheetRecord(
        keys.FREEZES,
        keys.sheet(sheet.topic, sheet.number),
        rev=sheet.rev,
        change_id=sheet.change_id,
        notices={digest: [one.at, one.until] for digest, one in sorted(sheet.notices.items())},
    )
    return record.serialize()


def sheet_of(item: Item) -> Sheet:
    """The sheet in `item`; raises `Damaged`."""
    record = read(SheetRecord, item)
    try:
        topic, number = keys.parse_sheet(record.sk)
        notices = {digest: Notice(int(at), until) for digest, (at, until) in record.notices.items()}
        return Sheet(Topic(topic), number, notices, record.rev, record.change_id)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(item, error) from error


def notices_of(items: Sequence[Item]) -> Notices:
    """The whole board; what cannot be read of it is left out, and named."""
    directory: FreezeDirectory | None = FreezeDirectory()
    sheets, unreadable = list[Sheet](), list[str]()
    for item in items:
        is_directory = item["sk"] == {"S": keys.FREEZE_DIRECTORY}
        try:
            if is_directory:
                directory = directory_of(item)
            else:
                sheets.append(sheet_of(item))
        except Damaged as error:
            directory = None if is_directory else directory
            unreadable.append(str(error))
    return Notices(directory, tuple(sheets), tuple(unreadable))

"""Sheets of the noticeboard, as items of the table `tenants` beside the directory of freezes."""

from collections.abc import Sequence

from cronfleet.adapters.dynamodb import keys
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.freezes import directory_of
from cronfleet.adapters.dynamodb.items.holds import switch_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.tenant_records import SheetRecord
from cronfleet.domain.freeze import FreezeDirectory
from cronfleet.domain.hold import Switch
from cronfleet.domain.noticeboard import Notice, Notices, Sheet, Topic
from cronfleet.ports.job_store import Damaged


def sheet_item(sheet: Sheet) -> Item:
    """A sheet as an item."""
    return written(
        SheetRecord,
        keys.FREEZES,
        keys.sheet(sheet.topic, sheet.number),
        rev=sheet.rev,
        change_id=sheet.change_id,
        notices={digest: [one.at, one.until] for digest, one in sorted(sheet.notices.items())},
    )


def sheet_of(item: Item) -> Sheet:
    """The sheet in `item`; raises `Damaged`."""
    record = read(SheetRecord, item)
    try:
        topic, number = keys.parse_sheet(record.sk)
        notices = {digest: Notice(int(at), until) for digest, (at, until) in record.notices.items()}
        return Sheet(Topic(topic), number, notices, record.rev, record.change_id)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(item, error) from error


def notices_of(items: Sequence[Item], region: str) -> Notices:
    """The whole board, as it is read in `region`; what cannot be read of it is left out, and named."""
    directory: FreezeDirectory | None = FreezeDirectory()
    switches: dict[str, Switch | None] = {keys.hold(region): Switch(region)}
    sheets, unreadable = list[Sheet](), list[str]()
    for item in items:
        place = item["sk"]["S"]
        try:
            if place == keys.FREEZE_DIRECTORY:
                directory = directory_of(item)
            elif place.startswith(keys.HOLD):
                switches[place] = switch_of(item)
            else:
                sheets.append(sheet_of(item))
        except Damaged as error:
            directory = None if place == keys.FREEZE_DIRECTORY else directory
            switches |= {place: None} if place.startswith(keys.HOLD) else {}
            unreadable.append(str(error))
    own = switches.pop(keys.hold(region))
    elsewhere = tuple(switch for switch in switches.values() if switch is not None)
    return Notices(directory, tuple(sheets), tuple(unreadable), own, elsewhere)

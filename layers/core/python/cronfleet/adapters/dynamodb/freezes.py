"""`FreezeStore` on DynamoDB, in the table `tenants`."""

from collections.abc import Collection, Mapping

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.freezes import directory_item, directory_of, freeze_list_item, freeze_list_of
from cronfleet.adapters.dynamodb.items.holds import switch_item, switch_of
from cronfleet.adapters.dynamodb.items.noticeboard import sheet_item, sheet_of
from cronfleet.domain.freeze import FreezeDirectory, FreezeList
from cronfleet.domain.hold import Switch
from cronfleet.domain.noticeboard import Sheet
from cronfleet.ports.freezes import FreezeWrite, PutFreezeDirectory
from cronfleet.ports.noticeboard import PutSheet, PutSwitch

_SAME_REV = Expression("#rev = :rev")


class DynamoFreezes:
    """The directory of freezes, and tenants' lists."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_freeze_directory(self, *, consistent: bool = True) -> FreezeDirectory:
        item = self._database.get(schema.TENANTS, keys.FREEZES, keys.FREEZE_DIRECTORY, consistent=consistent)
        return FreezeDirectory() if item is None else directory_of(item)

    def get_freeze_list(self, tenant: str) -> FreezeList:
        item = self._database.get(schema.TENANTS, keys.freezes(tenant), keys.FREEZES)
        return FreezeList(tenant) if item is None else freeze_list_of(item)

    def get_freeze_lists(self, tenants: Collection[str]) -> Mapping[str, FreezeList]:
        places = [(keys.freezes(tenant), keys.FREEZES) for tenant in tenants]
        lists = map(freeze_list_of, self._database.batch_get(schema.TENANTS, places)) if places else ()
        return {one.tenant: one for one in lists}


def parts_of_freezes(write: FreezeWrite | PutSheet | PutSwitch) -> tuple[schema.Table, Item, Expression, Item | None]:
    """The table, item and condition of a write."""
    if isinstance(write, PutSwitch):
        return schema.TENANTS, switch_item(write.switch), *_same(write.switch.rev - 1)
    if isinstance(write, PutSheet):
        return schema.TENANTS, sheet_item(write.sheet), *_same(write.sheet.rev - 1)
    if isinstance(write, PutFreezeDirectory):
        return schema.TENANTS, directory_item(write.directory), *_same(write.directory.rev - 1)
    return schema.TENANTS, freeze_list_item(write.freezes), *_same(write.freezes.rev - 1)


def stored_freezes(
    write: FreezeWrite | PutSheet | PutSwitch, item: Item
) -> FreezeDirectory | FreezeList | Sheet | Switch:
    """What stands where `write` is to write."""
    if isinstance(write, PutSwitch):
        return switch_of(item)
    if isinstance(write, PutSheet):
        return sheet_of(item)
    return directory_of(item) if isinstance(write, PutFreezeDirectory) else freeze_list_of(item)


def _same(rev: int) -> tuple[Expression, Item | None]:
    return (_SAME_REV, {":rev": number(rev)}) if rev else (ABSENT, None)

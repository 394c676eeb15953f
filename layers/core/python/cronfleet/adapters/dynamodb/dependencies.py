"""`DependencyStore` on DynamoDB: a list in the partition of its schedule, and a mark in that of its tenant."""

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.recording import damaged
from cronfleet.domain.dependency import Dependants, DependencyMark
from cronfleet.ports.dependencies import DependencyWrite, PutDependants

_SAME_REV = Expression("#rev = :rev")


class DynamoDependencies:
    """Who runs after whom."""

    _database: Database

    def get_dependants(self, tenant: str, schedule_id: str) -> Dependants:
        item = self._database.get(schema.SCHEDULES, keys.schedule(tenant, schedule_id), keys.DEPENDANTS)
        return Dependants(tenant, schedule_id) if item is None else _dependants_of(item)

    def get_dependency_mark(self, tenant: str) -> DependencyMark:
        item = self._database.get(schema.TENANTS, keys.tenant(tenant), keys.DEPENDENCIES)
        return DependencyMark(tenant) if item is None else _mark_of(item)


def parts_of_dependency(write: DependencyWrite) -> tuple[schema.Table, Item, Expression, Item | None]:
    """The table, the item, and the condition with its values."""
    if isinstance(write, PutDependants):
        item = _dependants_item(write.dependants)
        return schema.SCHEDULES, item, *_same(write.dependants.rev - 1)
    mark = write.mark
    item = {"pk": text(keys.tenant(mark.tenant)), "sk": text(keys.DEPENDENCIES), "rev": number(mark.rev)}
    return schema.TENANTS, item, *_same(mark.rev - 1)


def dependency_of(write: DependencyWrite, item: Item) -> Dependants | DependencyMark:
    """What stands where `write` is to write."""
    return _dependants_of(item) if isinstance(write, PutDependants) else _mark_of(item)


def _same(rev: int) -> tuple[Expression, Item | None]:
    return (_SAME_REV, {":rev": number(rev)}) if rev else (ABSENT, None)


def _dependants_item(dependants: Dependants) -> Item:
    return {
        "pk": text(keys.schedule(dependants.tenant, dependants.schedule_id)),
        "sk": text(keys.DEPENDANTS),
        "names": {"L": [text(name) for name in dependants.names]},
        "rev": number(dependants.rev),
    }


def _dependants_of(item: Item) -> Dependants:
    try:
        tenant, schedule_id = keys.parse_schedule(item["pk"]["S"])
        names = tuple(one["S"] for one in item["names"]["L"])
        return Dependants(tenant, schedule_id, names, int(item["rev"]["N"]))
    except (KeyError, ValueError, TypeError) as error:
        raise damaged(item, error) from error


def _mark_of(item: Item) -> DependencyMark:
    try:
        return DependencyMark(item["pk"]["S"].removeprefix(keys.tenant("")), int(item["rev"]["N"]))
    except (KeyError, ValueError, TypeError) as error:
        raise damaged(item, error) from error

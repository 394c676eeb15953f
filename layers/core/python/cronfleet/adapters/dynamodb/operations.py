"""`OperationStore` on DynamoDB."""

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.operations import operation_item, operation_of
from cronfleet.adapters.dynamodb.schema import Table
from cronfleet.domain.operation import Operation
from cronfleet.ports import cursors
from cronfleet.ports.operations import PutOperation
from cronfleet.ports.page import Page

MAX_PAGE = 100
_SAME_REV = Expression("#rev = :rev")


class DynamoOperations:
    """Operations by tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_operation(self, tenant: str, operation_id: str) -> Operation | None:
        item = self._database.get(schema.OPERATIONS, tenant, operation_id)
        return None if item is None else operation_of(item)

    def list_operations(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Operation]:
        items, last = self._database.query(
            schema.OPERATIONS,
            "#pk = :tenant",
            {":tenant": text(tenant)},
            limit=min(limit, MAX_PAGE),
            index=schema.BY_CREATION,
            start=None if cursor is None else _after(tenant, cursor),
            forward=False,
        )
        ids = [item["sk"]["S"] for item in items]
        places = [(tenant, operation_id) for operation_id in ids]
        found = {item["sk"]["S"]: operation_of(item) for item in self._database.batch_get(schema.OPERATIONS, places)}
        more = None if last is None else cursors.encode([last["created_at"]["N"], last["sk"]["S"]])
        return Page([found[one] for one in ids if one in found], more)


def parts_of_operation(write: PutOperation) -> tuple[Table, Item, Expression, Item | None]:
    """The table, the item, and the condition with its values."""
    item, before = operation_item(write.operation), write.before
    if before is None:
        return schema.OPERATIONS, item, ABSENT, None
    return schema.OPERATIONS, item, _SAME_REV, {":rev": number(before.rev)}


def _after(tenant: str, cursor: str) -> Item:
    created_at, operation_id = cursors.decode(cursor, 2)
    if not created_at.isdecimal():
        raise cursors.foreign()
    return {"pk": text(tenant), "sk": text(operation_id), "created_at": {"N": created_at}}

"""`ErrandStore` on DynamoDB."""

from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.errands import errand_item, errand_of
from cronfleet.domain.errand import Errand, ErrandKind
from cronfleet.domain.instant import Instant
from cronfleet.ports.errands import PutErrand

_SAME: Final = Expression("#rev = :rev")
_MOVE: Final = Expression("#rev = :rev", "SET #due_at = :due_at, #rev = :next_rev")
_COUNT: Final = Expression("#rev = :rev", "SET #due_at = :due_at, #rev = :next_rev, #failures = :failures")


class DynamoErrands:
    """Errands, each changed on the condition of its `rev`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_errand(self, tenant: str, kind: ErrandKind, errand_id: str) -> Errand | None:
        item = self._database.get(schema.SCHEDULES, *keys.errand(tenant, kind.value, errand_id))
        return None if item is None else errand_of(item)

    def move_errand(self, errand: Errand, due_at: Instant, failures: int | None = None) -> bool:
        after = errand.moved(due_at, failures)
        values = {":rev": number(errand.rev), ":due_at": number(due_at), ":next_rev": number(after.rev)}
        values |= {} if failures is None else {":failures": number(after.failures)}
        expression = _MOVE if failures is None else _COUNT
        try:
            self._database.update(schema.SCHEDULES, *keys.errand(*errand.key), expression, values)
        except ConditionFailed as failed:
            return failed.item is not None and errand_of(failed.item).is_at(after)
        return True

    def retire_errand(self, errand: Errand) -> bool:
        try:
            self._database.delete(schema.SCHEDULES, *keys.errand(*errand.key), _SAME, {":rev": number(errand.rev)})
        except ConditionFailed as failed:
            return failed.item is None
        return True


def parts_of_errand(write: PutErrand) -> tuple[schema.Table, Item, Expression, Item | None]:
    """Table, item and condition of the write."""
    if write.before is None:
        return schema.SCHEDULES, errand_item(write.errand), ABSENT, None
    return schema.SCHEDULES, errand_item(write.errand), _SAME, {":rev": number(write.before.rev)}

"""`DeletionStore` on DynamoDB. Which things a tenant owns stands in `owned.py`."""

from collections.abc import Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.deletions import deletion_item, deletion_of, ended_place, open_place
from cronfleet.adapters.dynamodb.owned import LOOKS, Look
from cronfleet.adapters.dynamodb.schema import Table
from cronfleet.domain.deletion import Deletion, Owned, Stage
from cronfleet.domain.run import Run
from cronfleet.ports.deletions import Found, InsertDeletion

_SAME_REV: Final = Expression("#rev = :rev")
_TABLES: Final = {table.name: table for table in schema.OWNED}


class DynamoDeletions:
    """Deletions, and what is left of a tenant."""

    _database: Database

    def get_deletion(self, tenant: str) -> Deletion | None:
        # While it ends it stands in both places, and then in the first alone.
        for place in (ended_place(tenant), open_place(tenant), ended_place(tenant)):
            item = self._database.get(schema.TENANTS, *place)
            if item is not None:
                return deletion_of(item)
        return None

    def open_deletions(self, limit: int) -> Sequence[Deletion]:
        values = {":open": text(keys.OPEN_DELETIONS)}
        items, _ = self._database.query(schema.TENANTS, "#pk = :open", values, limit=limit, consistent=True)
        return [deletion_of(item) for item in items]

    def put_deletion(self, job: Deletion) -> bool:
        try:
            self._database.put(schema.TENANTS, deletion_item(job), _SAME_REV, {":rev": number(job.rev - 1)})
        except ConditionFailed as failed:
            return failed.item is not None and deletion_of(failed.item) == job
        return True

    def close_deletion(self, tenant: str) -> None:
        self._database.delete_all([(schema.TENANTS, *open_place(tenant))])

    def owned(self, tenant: str, stage: Stage, cursor: str | None, limit: int) -> Found:
        return LOOKS[stage](Look(self._database), tenant, cursor, limit)

    def erase(self, items: Sequence[Owned]) -> None:
        places = [owned.place for owned in items]
        self._database.delete_all([(_TABLES[table], partition, sort) for table, partition, sort in places])

    def forget_run(self, run: Run) -> bool:
        place = (keys.schedule(run.key.tenant, run.key.schedule_id), keys.run(run.key))
        try:
            self._database.delete(schema.RUNS, *place, _SAME_REV, {":rev": number(run.rev)})
        except ConditionFailed:
            return False
        return True


def parts_of_deletion(write: InsertDeletion) -> tuple[Table, Item, Expression, Item | None]:
    """The table, item and condition of a write."""
    return schema.TENANTS, deletion_item(write.job), ABSENT, None

"""`VersionStore` on DynamoDB."""

from collections.abc import Sequence

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import Database, text
from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.definitions import definition_of
from cronfleet.domain.schedule import Definition
from cronfleet.ports.bound import Kept, bound_definition


class DynamoVersions:
    """Every definition that a schedule has had."""

    _database: Database
    _kept: Kept

    def list_definitions(
        self, tenant: str, schedule_id: str, *, before: int | None, limit: int
    ) -> Sequence[Definition]:
        last = keys.LAST_VERSION if before is None else before - 1
        if last < 1:
            return []
        values = {
            ":schedule": text(keys.schedule(tenant, schedule_id)),
            ":first": text(keys.version(1)),
            ":last": text(keys.version(last)),
        }
        found: list[Definition] = []
        start: Item | None = None
        while len(found) < limit:
            items, start = self._database.query(
                schema.SCHEDULES,
                "#pk = :schedule AND #sk BETWEEN :first AND :last",
                values,
                limit=limit - len(found),
                start=start,
                forward=False,
                consistent=True,
            )
            found += [bound_definition(definition_of(item), self._kept.find) for item in items]
            if start is None:
                break
        return found

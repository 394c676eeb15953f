"""`ForecastStore` on DynamoDB: one partition of the table `shards`."""

from collections.abc import Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.forecasts import reading_item, reading_of, walk_item, walk_of
from cronfleet.domain.forecast_reading import Reading, Walk
from cronfleet.domain.shard import MAX_SHARDS

_SAME_REV: Final = Expression("#rev = :rev")


class DynamoForecasts:
    """The latest readings, and the walk that makes the next."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get_forecast_walk(self) -> Walk | None:
        item = self._database.get(schema.SHARDS, keys.FORECAST, keys.WALK)
        return None if item is None else walk_of(item)

    def put_forecast_walk(self, walk: Walk) -> bool:
        expression, values = (ABSENT, None) if walk.rev == 1 else (_SAME_REV, {":rev": number(walk.rev - 1)})
        try:
            self._database.put(schema.SHARDS, walk_item(walk), expression, values)
        except ConditionFailed as failed:
            return failed.item is not None and walk_of(failed.item) == walk
        return True

    def put_forecast(self, reading: Reading) -> None:
        self._database.put(schema.SHARDS, reading_item(reading))

    def get_forecast(self) -> Reading | None:
        item = self._database.get(schema.SHARDS, keys.FORECAST, keys.WHOLE, consistent=False)
        return None if item is None else reading_of(item)

    def list_forecasts(self, *, consistent: bool = False) -> Sequence[Reading]:
        found: list[Reading] = []
        start: Item | None = None
        for _ in range(MAX_SHARDS):
            items, start = self._database.query(
                schema.SHARDS,
                "#pk = :pk AND begins_with(#sk, :shards)",
                {":pk": text(keys.FORECAST), ":shards": text(keys.FORECAST_SHARD)},
                limit=MAX_SHARDS,
                start=start,
                consistent=consistent,
            )
            found += map(reading_of, items)
            if start is None:
                break
        return found

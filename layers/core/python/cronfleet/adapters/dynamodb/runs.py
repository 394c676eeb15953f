"""`RunStore` on DynamoDB."""

from collections.abc import Mapping, Sequence
from typing import Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.items.runs import run_item, run_of
from cronfleet.adapters.dynamodb.recording import read
from cronfleet.adapters.dynamodb.records import GateRecord
from cronfleet.adapters.dynamodb.transactions import SAME_REV
from cronfleet.domain.instant import Instant
from cronfleet.domain.run import Run, RunKey
from cronfleet.ports import cursors
from cronfleet.ports.job_store import Page, Refused

# A gate that is free keeps its last holder, and when that ended.
_TAKE: Final = Expression(
    "attribute_not_exists(#holder) OR #ended_at <= :began_at"
    " OR (attribute_not_exists(#ended_at) AND #holder IN (:run, :instead))",
    "SET #holder = :run REMOVE #ended_at",
)
_RELEASE: Final = Expression("#holder = :run", "SET #ended_at = :ended_at")


class DynamoRuns:
    """Ledger rows and the overlap gate."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def insert_run(self, run: Run) -> Run | None:
        return self._put(run, ABSENT, None)

    def replace_run(self, run: Run) -> Run | None:
        return self._put(run, SAME_REV, {":rev": number(run.rev - 1)})

    def _put(self, run: Run, expression: Expression, values: Item | None) -> Run | None:
        try:
            self._database.put(schema.RUNS, run_item(run, self._database.clock.now()), expression, values)
        except ConditionFailed as failed:
            if failed.item is None:
                raise Refused(0, None) from None
            return run_of(failed.item)
        return None

    def get_run(self, key: RunKey) -> Run | None:
        item = self._database.get(schema.RUNS, keys.schedule(key.tenant, key.schedule_id), keys.run(key))
        return None if item is None else run_of(item)

    def get_runs(self, wanted: Sequence[RunKey]) -> Mapping[RunKey, Run]:
        places = [(keys.schedule(key.tenant, key.schedule_id), keys.run(key)) for key in wanted]
        rows = map(run_of, self._database.batch_get(schema.RUNS, places))
        return {row.key: row for row in rows}

    def list_runs(
        self,
        tenant: str,
        schedule_id: str,
        *,
        cursor: str | None,
        limit: int,
        through: tuple[int, Instant] | None = None,
    ) -> Page[Run]:
        partition = keys.schedule(tenant, schedule_id)
        condition, values = "#pk = :pk", {":pk": text(partition)}
        if through is not None:
            condition, values = f"{condition} AND #sk < :end", {**values, ":end": text(keys.after_runs(*through))}
        items, last = self._database.query(
            schema.RUNS,
            condition,
            values,
            # One more than is wanted tells whether there is more.
            limit=limit + 1,
            start=_after(partition, schedule_id, cursor),
            forward=False,
        )
        rows = [run_of(item) for item in items[:limit]]
        more = last is not None or len(items) > limit
        return Page(rows, cursors.encode([schedule_id, keys.run(rows[-1].key)]) if more and rows else None)

    def take_gate(
        self, tenant: str, schedule_id: str, run_id: str, began_at: Instant, instead_of: str | None
    ) -> str | None:
        values = {":run": text(run_id), ":instead": text(instead_of or run_id), ":began_at": number(began_at)}
        try:
            self._database.update(schema.SCHEDULES, keys.schedule(tenant, schedule_id), keys.GATE, _TAKE, values)
        except ConditionFailed as failed:
            return None if failed.item is None else read(GateRecord, failed.item).holder
        return None

    def release_gate(self, tenant: str, schedule_id: str, run_id: str, ended_at: Instant) -> None:
        place = (schema.SCHEDULES, keys.schedule(tenant, schedule_id), keys.GATE)
        try:
            self._database.update(*place, _RELEASE, {":run": text(run_id), ":ended_at": number(ended_at)})
        except ConditionFailed:
            return  # Another run holds it, or none: either way it is not this run's any more.


def _after(partition: str, schedule_id: str, cursor: str | None) -> Item | None:
    if cursor is None:
        return None
    owner, sort = cursors.decode(cursor, 2)
    if owner != schedule_id:
        raise cursors.foreign()
    try:
        keys.parse_run(partition, sort)
    except ValueError as error:
        raise cursors.foreign() from error
    return {"pk": text(partition), "sk": text(sort)}

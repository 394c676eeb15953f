"""`BreakerStore` on DynamoDB, in the table `breakers`."""

from typing import Final

from cronfleet.adapters.dynamodb import schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import ConditionFailed, Item
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.tenant_records import BreakerRecord
from cronfleet.domain.breaker import FORGOTTEN, Breaker, BreakerKind, Guarded, State
from cronfleet.domain.instant import SECOND
from cronfleet.ports import cursors
from cronfleet.ports.breakers import PutBreaker
from cronfleet.ports.page import Page

_SAME_REV: Final = Expression("#rev = :rev")


class DynamoBreakers:
    """Breakers by tenant and id."""

    _database: Database

    def get_breaker(self, guarded: Guarded) -> Breaker:
        return self.find_breaker(guarded.tenant, guarded.breaker_id) or Breaker(guarded)

    def find_breaker(self, tenant: str, breaker_id: str) -> Breaker | None:
        item = self._database.get(schema.BREAKERS, tenant, breaker_id)
        return None if item is None else breaker_of(item)

    def put_breaker(self, breaker: Breaker) -> bool:
        try:
            self._database.put(*parts_of_breaker(PutBreaker(breaker)))
        except ConditionFailed as failed:
            return failed.item is not None and breaker_of(failed.item) == breaker
        return True

    def list_breakers(self, tenant: str, *, cursor: str | None, limit: int) -> Page[Breaker]:
        start = None if cursor is None else {"pk": text(tenant), "sk": text(cursors.decode(cursor, 1)[0])}
        items, last = self._database.query(
            schema.BREAKERS, "#pk = :tenant", {":tenant": text(tenant)}, limit=limit, start=start
        )
        return Page([breaker_of(item) for item in items], cursors.encode([last["sk"]["S"]]) if last else None)


def parts_of_breaker(write: PutBreaker) -> tuple[schema.Table, Item, Expression, Item | None]:
    """The table, item and condition of a write."""
    known = write.breaker.rev - 1
    condition = (_SAME_REV, {":rev": number(known)}) if known else (ABSENT, None)
    return schema.BREAKERS, _breaker_item(write.breaker), *condition


def _breaker_item(breaker: Breaker) -> Item:
    latest = max(breaker.failed_at, breaker.opened_at, breaker.try_at)
    return written(
        BreakerRecord,
        breaker.guarded.tenant,
        breaker.guarded.breaker_id,
        kind=breaker.guarded.kind.value,
        name=breaker.guarded.name,
        state=breaker.state.value,
        failures=breaker.failures,
        failed_at=breaker.failed_at,
        error=breaker.error or None,
        opened_at=breaker.opened_at or None,
        try_at=breaker.try_at or None,
        cooldown=breaker.cooldown or None,
        probe=breaker.probe or None,
        step=breaker.step or None,
        permits=breaker.permits or None,
        rev=breaker.rev,
        change_id=breaker.change_id or None,
        expires_at=(latest + 2 * FORGOTTEN) // SECOND if latest else None,
    )


def breaker_of(item: Item) -> Breaker:
    """The breaker in `item`; raises `Damaged`."""
    record = read(BreakerRecord, item)
    try:
        guarded = Guarded(record.pk, BreakerKind(record.kind), record.name)
        state = State(record.state)
    except ValueError as error:
        raise damaged(item, error) from error
    return Breaker(
        guarded,
        state,
        record.failures,
        record.failed_at,
        record.error or "",
        record.opened_at or 0,
        record.try_at or 0,
        record.cooldown or 0,
        record.probe or "",
        record.step or 0,
        record.permits or 0,
        record.rev,
        record.change_id or "",
    )

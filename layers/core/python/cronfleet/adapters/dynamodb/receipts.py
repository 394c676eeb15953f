"""Receipts on DynamoDB: one transaction checks the fence of the run's row and puts the receipt."""

import hashlib
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from cronfleet.adapters.dynamodb import keys, schema
from cronfleet.adapters.dynamodb.database import ABSENT, Database, Expression, number, text
from cronfleet.adapters.dynamodb.errors import Cancelled, Item
from cronfleet.adapters.dynamodb.items.runs import run_of
from cronfleet.adapters.dynamodb.recording import read
from cronfleet.adapters.dynamodb.records import ReceiptRecord
from cronfleet.domain.instant import SECOND, Instant
from cronfleet.domain.retry import MAX_ATTEMPTS, MAX_BACKOFF_SECONDS
from cronfleet.domain.run import ROW_LIFE_SECONDS, RunKey, RunStatus
from cronfleet.ports.clock import SteadyClock
from cronfleet.ports.job_store import NoAnswer
from cronfleet.ports.target import CancelAsked, FenceLost, Receipt

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

RECEIPT_LIFE_SECONDS: Final = MAX_ATTEMPTS * MAX_BACKOFF_SECONDS + ROW_LIFE_SECONDS
"""A receipt outlives every attempt that its run may still make."""

_MAX_ASKS: Final = 5
_TOKEN_BYTES: Final = 16
_FENCED: Final = Expression("#fence = :fence AND #status = :running")
_UNCANCELLED: Final = Expression(f"{_FENCED.condition} AND attribute_not_exists(#cancel)")
_FENCE, _RECEIPT = 0, 1
"""Places in the transaction."""


class DynamoReceipts:
    """Effects that happen once per run and name."""

    def __init__(self, table_prefix: str, client: "DynamoDBClient", clock: SteadyClock) -> None:
        self._database = Database(table_prefix, client, clock)
        self._calls = count(1)

    def record(
        self, key: RunKey, fence: int, name: str, value: Any, now: Instant, *, knows_of_cancel: bool = False
    ) -> Receipt:
        """See `Receipts.record`; `value` is JSON. Raises `NoAnswer` when the store stays silent."""
        # One process makes one attempt, which alone has the fence: so this tells the call from all others.
        call = f"{fence}.{next(self._calls)}"
        record = ReceiptRecord(
            keys.schedule(key.tenant, key.schedule_id),
            keys.receipt(key, name),
            fence=fence,
            call=call,
            # In a list, so that null is told from nothing.
            value=[value],
            recorded_at=now,
            expires_at=now // SECOND + RECEIPT_LIFE_SECONDS,
        )
        stored = self._stored(key, fence, record.serialize(), _FENCED if knows_of_cancel else _UNCANCELLED)
        if stored is None:
            return Receipt(first=True, value=value)
        return Receipt(first=stored.call == call, value=stored.value[0])

    def _stored(self, key: RunKey, fence: int, item: Item, condition: Expression) -> ReceiptRecord | None:
        """What stands under the receipt's key already; `None` when `item` does now."""
        # Of two installations in one account each has its own tables, and may have a run of the same name.
        place = self._database.name(schema.RECEIPTS)
        token = hashlib.blake2b(
            f"{place} {condition.condition} {item!r}".encode(), digest_size=_TOKEN_BYTES
        ).hexdigest()
        for turn in range(_MAX_ASKS):
            try:
                self._database.transact([self._fence_check(key, fence, condition), self._put(item)], token)
            except Cancelled as cancelled:
                return _judged(cancelled, key, fence)
            except NoAnswer:
                if turn == _MAX_ASKS - 1:
                    raise
            else:
                break
        return None

    def _fence_check(self, key: RunKey, fence: int, condition: Expression) -> dict[str, Any]:
        values = {":fence": number(fence), ":running": text(RunStatus.RUNNING.value)}
        place = {"pk": text(keys.schedule(key.tenant, key.schedule_id)), "sk": text(keys.run(key))}
        table = self._database.name(schema.RUNS)
        return {"ConditionCheck": {"TableName": table, "Key": place, **condition.request(values)}}

    def _put(self, item: Item) -> dict[str, Any]:
        return {"Put": {"TableName": self._database.name(schema.RECEIPTS), "Item": item, **ABSENT.request()}}


def _judged(cancelled: Cancelled, key: RunKey, fence: int) -> ReceiptRecord:
    if _FENCE in cancelled.failed:
        _tell_of_cancel(cancelled.failed[_FENCE], key, fence)
        raise FenceLost(f"fence {fence} is not the fence of {key.run_id} any more") from cancelled
    item = cancelled.failed[_RECEIPT]
    if item is None:
        raise NoAnswer("a receipt was in the way and is gone") from cancelled
    return read(ReceiptRecord, item)


def _tell_of_cancel(item: Item | None, key: RunKey, fence: int) -> None:
    """Raise `CancelAsked` if that is all that keeps the attempt from recording."""
    if item is None:
        return
    run = run_of(item)
    if run.cancel is not None and (run.fence, run.status) == (fence, RunStatus.RUNNING):
        raise CancelAsked(f"the cancellation of {key.run_id} was asked for")

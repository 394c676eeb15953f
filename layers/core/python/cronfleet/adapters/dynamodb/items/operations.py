"""Operations, as items of the table `operations`."""

from cronfleet.adapters.dynamodb.errors import Item
from cronfleet.adapters.dynamodb.items.reasons import reason_json, reason_of
from cronfleet.adapters.dynamodb.recording import damaged, read, written
from cronfleet.adapters.dynamodb.records import OperationRecord
from cronfleet.domain.instant import SECOND
from cronfleet.domain.operation import KEPT_AFTER_END, Kind, Operation, Status
from cronfleet.domain.trace import read_traceparent, written_traceparent


def operation_item(operation: Operation) -> Item:
    """An operation as an item; once it is over it expires in time."""
    end = operation.ended_at
    return written(
        OperationRecord,
        operation.tenant,
        operation.operation_id,
        kind=operation.kind.value,
        asked=dict(operation.asked),
        created_by=operation.created_by,
        created_at=operation.created_at,
        change_id=operation.change_id,
        reason=operation.reason or None,
        total=operation.total,
        max_concurrent=operation.max_concurrent,
        rate_per_minute=operation.rate_per_minute,
        status=operation.status.value,
        cursor=operation.cursor or None,
        is_drawn=operation.is_drawn or None,
        open=list(operation.open) or None,
        counts=dict(operation.counts) or None,
        recent=list(operation.recent) or None,
        excluded=list(operation.excluded) or None,
        line_at=operation.line_at,
        stopped=reason_json(operation.stopped),
        changed_at=operation.changed_at,
        ended_at=end,
        rev=operation.rev,
        origin=written_traceparent(operation.origin),
        expires_at=None if end is None else (end + KEPT_AFTER_END) // SECOND,
    )


def operation_of(item: Item) -> Operation:
    """The operation in `item`; raises `Damaged`."""
    record = read(OperationRecord, item)
    try:
        return _operation(record)
    except (ValueError, TypeError) as error:
        raise damaged(item, error) from error


def _operation(record: OperationRecord) -> Operation:
    return Operation(
        record.pk,
        record.sk,
        Kind(record.kind),
        record.asked,
        record.created_by,
        record.created_at,
        record.change_id,
        record.reason or "",
        record.total,
        record.max_concurrent,
        record.rate_per_minute,
        Status(record.status),
        record.cursor or "",
        bool(record.is_drawn),
        open=tuple(record.open or ()),
        counts=record.counts or {},
        recent=tuple(record.recent or ()),
        excluded=tuple(record.excluded or ()),
        line_at=record.line_at,
        stopped=reason_of(record.stopped),
        changed_at=record.changed_at,
        ended_at=record.ended_at,
        rev=record.rev,
        origin=read_traceparent(record.origin),
    )

"""A DynamoDB client in memory that keeps a meter: the tables of the job store, and what each request is charged.

The real adapter runs on it, so every request, condition and item is the one that AWS would get; only the network, the
engine and its accounting are replaced. Repeated tokens of transactions are not recognised (nothing rests on them).
"""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from itertools import islice
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

from botocore.exceptions import ClientError

from benchmarks.metering import charges
from benchmarks.metering.charges import IN_TRANSACTION, Item
from benchmarks.metering.expressions import changed, holds, plain
from benchmarks.metering.statements import as_update
from cronfleet.adapters.dynamodb.schema import TABLES, Index, Table
from cronfleet.domain.instant import SECOND
from cronfleet.ports.clock import Clock

ItemKey: TypeAlias = tuple[str, str]

MAX_PAGE_BYTES: Final = 1_048_576
MAX_STATEMENTS: Final = 25
_NO_CONDITION: Final[dict[str, Any]] = {}


@dataclass
class Charged:
    """One request and its units, base table and indexes together."""

    operation: str
    table: str
    reads: float = 0.0
    writes: float = 0.0
    failed: bool = False
    """Its condition did not hold: charged all the same."""


@dataclass
class Bill:
    """The requests made while it was open."""

    requests: list[Charged] = field(default_factory=list)

    @property
    def reads(self) -> float:
        """Read units."""
        return sum(one.reads for one in self.requests)

    @property
    def writes(self) -> float:
        """Write units."""
        return sum(one.writes for one in self.requests)


class _Events:
    """The hooks by which the adapter hears the store's time."""

    def __init__(self) -> None:
        self._hooks: defaultdict[str, list[Callable[..., None]]] = defaultdict(list)

    def register(self, name: str, hook: Callable[..., None]) -> None:
        self._hooks[name].append(hook)

    def answer(self, now: int) -> None:
        context: dict[str, Any] = {}
        for hook in self._hooks["request-created.dynamodb"]:
            hook(request=SimpleNamespace(context=context))
        headers = {"date": formatdate(now // SECOND, usegmt=True)}
        for hook in self._hooks["response-received.dynamodb"]:
            hook(response_dict={"headers": headers}, context=context)


class _Sorted:
    """Keys of items in the order of one sort key, by partition: a table or an index of it."""

    def __init__(self, partition: str, sort: str) -> None:
        self._partition, self._sort = partition, sort
        self._entries: defaultdict[str, list[tuple[Any, ItemKey]]] = defaultdict(list)

    def place(self, item: Item) -> tuple[str, tuple[Any, ItemKey]]:
        return item[self._partition]["S"], (plain(item[self._sort]), (item["pk"]["S"], item["sk"]["S"]))

    def add(self, item: Item) -> None:
        partition, entry = self.place(item)
        insort(self._entries[partition], entry)

    def remove(self, item: Item) -> None:
        partition, entry = self.place(item)
        entries = self._entries[partition]
        del entries[bisect_right(entries, entry) - 1]

    def walk(self, partition: str, start: Item | None, *, forward: bool) -> Iterator[ItemKey]:
        """Keys in order, after the place of `start`."""
        entries = self._entries[partition]
        if forward:
            after = 0 if start is None else bisect_right(entries, self.place(start)[1])
            return (key for _, key in islice(entries, after, None))
        before = len(entries) if start is None else bisect_left(entries, self.place(start)[1])
        return (key for _, key in reversed(entries[:before]))

    def walk_all(self, start: Item | None) -> Iterator[ItemKey]:
        """Keys of all partitions, one partition after the other, after the place of `start`."""
        first = "" if start is None else start[self._partition]["S"]
        for partition in sorted(self._entries):
            if partition >= first:
                yield from self.walk(partition, start if partition == first else None, forward=True)


class _Stored:
    """One table: its items, and the order of them in the table and in each index."""

    def __init__(self, schema: Table) -> None:
        self.schema = schema
        self.items: dict[ItemKey, Item] = {}
        self._order = _Sorted("pk", "sk")
        self._indexes = {
            index.name: (index, _Sorted(index.partition.name, index.sort.name)) for index in schema.indexes
        }

    def write(self, key: ItemKey, after: Item | None) -> None:
        before = self.items.pop(key, None)
        for item, change in ((before, _Sorted.remove), (after, _Sorted.add)):
            if item is not None:
                change(self._order, item)
                for index, order in self._indexes.values():
                    if charges.is_in(index, item):
                        change(order, item)
        if after is not None:
            self.items[key] = after

    @property
    def bytes_kept(self) -> int:
        """Items and entries of indexes, each with what DynamoDB adds to it."""
        return sum(charges.stored_bytes(self.schema, item) for item in self.items.values())

    def order(self, index_name: str | None) -> tuple[Index | None, _Sorted]:
        return (None, self._order) if index_name is None else self._indexes[index_name]


class MeteredDynamoDB:
    """The client, with the tables of the installation `prefix`. The Date header of its answers is `clock`'s time."""

    def __init__(self, prefix: str, clock: Clock) -> None:
        self._clock = clock
        self._tables = {f"{prefix}-{table.name}": _Stored(table) for table in TABLES}
        self._bills: list[Bill] = []
        self.meta = SimpleNamespace(events=_Events())

    @contextmanager
    def counted(self) -> Iterator[Bill]:
        """What is charged inside the context."""
        bill = Bill()
        self._bills.append(bill)
        try:
            yield bill
        finally:
            self._bills.remove(bill)

    def bytes_kept(self, table: str) -> int:
        """What is charged as storage of a table of the schema: its items and the entries of its indexes."""
        return sum(one.bytes_kept for name, one in self._tables.items() if one.schema.name == table)

    def _charge(self, operation: str, table: str, **units: Any) -> None:
        self.meta.events.answer(self._clock.now())
        charged = Charged(operation, table, **units)
        for bill in self._bills:
            bill.requests.append(charged)

    # --- writes ----------------------------------------------------------------------------------------------

    def put_item(self, *, TableName: str, Item: Item, **request: Any) -> dict[str, Any]:  # noqa: N803 - the client's names
        self._write("PutItem", TableName, _key_of(Item), dict(Item), request)
        return {}

    def update_item(self, *, TableName: str, Key: Item, **request: Any) -> dict[str, Any]:  # noqa: N803 - the client's names
        key = _key_of(Key)
        after = _updated(self._tables[TableName].items.get(key), Key, request)
        self._write("UpdateItem", TableName, key, after, request)
        return {"Attributes": dict(after)} if request.get("ReturnValues") == "ALL_NEW" else {}

    def delete_item(self, *, TableName: str, Key: Item, **request: Any) -> dict[str, Any]:  # noqa: N803 - the client's names
        self._write("DeleteItem", TableName, _key_of(Key), None, request)
        return {}

    def batch_write_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803 - the client's names
        for name, wanted in RequestItems.items():
            for one in wanted:
                self._write("BatchWriteItem", name, _key_of(one["DeleteRequest"]["Key"]), None, {})
        return {}

    def _write(self, operation: str, name: str, key: ItemKey, after: Item | None, request: Mapping[str, Any]) -> None:
        units, is_done = self._written(name, key, after, request)
        self._charge(operation, name, writes=units, failed=not is_done)
        if not is_done:
            item = self._tables[name].items.get(key)
            answer: Any = {"Error": {"Code": "ConditionalCheckFailedException"}}
            raise ClientError(answer | ({} if item is None else {"Item": dict(item)}), operation)

    def _written(self, name: str, key: ItemKey, after: Item | None, request: Mapping[str, Any]) -> tuple[float, bool]:
        """The units of one write on its condition, and whether it was done."""
        table = self._tables[name]
        before = table.items.get(key)
        if not _allowed(before, request):
            return charges.failed_write_units(before), False
        units = charges.write_units(before, after) + charges.index_units(table.schema, before, after)
        table.write(key, after)
        return units, True

    def batch_execute_statement(self, *, Statements: Sequence[Mapping[str, Any]]) -> dict[str, Any]:  # noqa: N803 - the client's names
        """Each statement is charged as the write that it is, done or not."""
        requests = [as_update(one["Statement"], one["Parameters"]) for one in Statements]
        keys = [_key_of(request["Key"]) for request in requests]
        if len(Statements) > MAX_STATEMENTS or len(set(keys)) < len(keys):
            raise ClientError({"Error": {"Code": "ValidationException"}}, "BatchExecuteStatement")
        total, answers = 0.0, []
        for key, request in zip(keys, requests, strict=True):
            name = request["TableName"]
            before = self._tables[name].items.get(key)
            units, is_done = self._written(name, key, _updated(before, request["Key"], request), request)
            total += units
            answers.append({} if is_done else _refused(before))
        names = ",".join(dict.fromkeys(request["TableName"] for request in requests))
        self._charge("BatchExecuteStatement", names, writes=total)
        return {"Responses": answers}

    def transact_write_items(
        self,
        *,
        TransactItems: Sequence[Mapping[str, Any]],  # noqa: N803 - the client's names
        ClientRequestToken: str,  # noqa: ARG002, N803 - see above
    ) -> dict[str, Any]:
        operation = "TransactWriteItems"
        actions = [next(iter(action.items())) for action in TransactItems]
        found = [self._tables[one["TableName"]].items.get(_key_in(one)) for _, one in actions]
        afters = [_outcome(kind, one, before) for (kind, one), before in zip(actions, found, strict=True)]
        failed = [not _allowed(before, one) for (_, one), before in zip(actions, found, strict=True)]
        units = float(sum(map(charges.write_units, found, afters)) * IN_TRANSACTION)
        names = ",".join(dict.fromkeys(one["TableName"] for _, one in actions))
        if any(failed):
            self._charge(operation, names, writes=units, failed=True)
            raise _cancelled(failed, found, operation)
        for (_, one), before, after in zip(actions, found, afters, strict=True):
            table = self._tables[one["TableName"]]
            units += charges.index_units(table.schema, before, after)
            table.write(_key_in(one), after)
        self._charge(operation, names, writes=units)
        return {}

    # --- reads -----------------------------------------------------------------------------------------------

    def get_item(self, *, TableName: str, Key: Item, ConsistentRead: bool) -> dict[str, Any]:  # noqa: N803 - the client's names
        item = self._tables[TableName].items.get(_key_of(Key))
        found = [] if item is None else [item]
        self._charge("GetItem", TableName, reads=charges.read_units(found, consistent=ConsistentRead))
        return {} if item is None else {"Item": dict(item)}

    def batch_get_item(self, *, RequestItems: Mapping[str, Any]) -> dict[str, Any]:  # noqa: N803 - the client's names
        ((name, wanted),) = RequestItems.items()
        items = [self._tables[name].items.get(_key_of(key)) for key in wanted["Keys"]]
        consistent = wanted.get("ConsistentRead", False)
        each = (charges.read_units([] if item is None else [item], consistent=consistent) for item in items)
        self._charge("BatchGetItem", name, reads=sum(each))
        return {"Responses": {name: [dict(item) for item in items if item is not None]}}

    def scan(
        self,
        *,
        TableName: str,  # noqa: N803 - the client's names
        Limit: int,  # noqa: N803 - the client's names
        IndexName: str | None = None,  # noqa: N803 - the client's names
        ConsistentRead: bool = False,  # noqa: N803 - the client's names
        ExclusiveStartKey: Item | None = None,  # noqa: N803 - the client's names
    ) -> dict[str, Any]:
        table = self._tables[TableName]
        index, order = table.order(IndexName)
        keys = list(islice(order.walk_all(ExclusiveStartKey), Limit + 1))
        items = [table.items[key] for key in keys[:Limit]]
        found = items if index is None else [charges.projected(index, item) for item in items]
        self._charge("Scan", TableName, reads=charges.read_units(found, consistent=ConsistentRead))
        answer: dict[str, Any] = {"Items": [dict(item) for item in found]}
        if len(keys) <= Limit:
            return answer
        return answer | {"LastEvaluatedKey": _place_of(table.items[keys[Limit - 1]], index)}

    def query(
        self,
        *,
        TableName: str,  # noqa: N803 - the client's names
        KeyConditionExpression: str,  # noqa: N803 - the client's names
        Limit: int,  # noqa: N803 - the client's names
        ConsistentRead: bool,  # noqa: N803 - the client's names
        **request: Any,
    ) -> dict[str, Any]:
        table = self._tables[TableName]
        index, order = table.order(request.get("IndexName"))
        names, values = request["ExpressionAttributeNames"], request["ExpressionAttributeValues"]
        # Every key condition begins with the partition: `#name = :value`.
        partition = values[KeyConditionExpression.split()[2]]["S"]
        found: list[Item] = []
        last: Item | None = None
        read = 0
        for key in order.walk(partition, request.get("ExclusiveStartKey"), forward=request["ScanIndexForward"]):
            item = table.items[key]
            if not holds(KeyConditionExpression, item, names, values):
                if found:
                    break  # What a key condition names lies side by side.
                continue
            found.append(item if index is None else charges.projected(index, item))
            read += charges.size_of(found[-1])
            if len(found) == Limit or read > MAX_PAGE_BYTES:
                last = item
                break
        self._charge("Query", TableName, reads=charges.read_units(found, consistent=ConsistentRead))
        shown = [names[name] for name in request.get("ProjectionExpression", "").split(", ") if name]
        answer: dict[str, Any] = {"Items": [_shown(item, shown) for item in found]}
        return answer if last is None else answer | {"LastEvaluatedKey": _place_of(last, index)}


def _allowed(item: Item | None, request: Mapping[str, Any]) -> bool:
    return holds(
        request.get("ConditionExpression", ""),
        item,
        request.get("ExpressionAttributeNames", _NO_CONDITION),
        request.get("ExpressionAttributeValues", _NO_CONDITION),
    )


def _updated(before: Item | None, key: Item, request: Mapping[str, Any]) -> Item:
    names, values = request["ExpressionAttributeNames"], request.get("ExpressionAttributeValues", _NO_CONDITION)
    return changed(request["UpdateExpression"], before or key, names, values)


def _outcome(kind: str, action: Mapping[str, Any], before: Item | None) -> Item | None:
    match kind:
        case "Put":
            item: Item = dict(action["Item"])
            return item
        case "ConditionCheck":
            return before
        case "Delete":
            return None
    raise ValueError(f"{kind}: no transaction of the job store holds such an action")


def _refused(item: Item | None) -> dict[str, Any]:
    """The answer to a statement whose condition did not hold."""
    error = {"Code": "ConditionalCheckFailed"} | ({} if item is None else {"Item": dict(item)})
    return {"Error": error}


def _cancelled(failed: Sequence[bool], found: Sequence[Item | None], operation: str) -> ClientError:
    reasons = [
        ({"Code": "ConditionalCheckFailed"} | ({} if item is None else {"Item": dict(item)}))
        if lost
        else {"Code": "None"}
        for lost, item in zip(failed, found, strict=True)
    ]
    answer: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": reasons}
    return ClientError(answer, operation)


def _shown(item: Item, names: Sequence[str]) -> dict[str, Any]:
    """Of `item` these attributes, or all."""
    return {name: item[name] for name in names if name in item} if names else dict(item)


def _key_in(action: Mapping[str, Any]) -> ItemKey:
    return _key_of(action["Item"] if "Item" in action else action["Key"])


def _key_of(item: Item) -> ItemKey:
    return item["pk"]["S"], item["sk"]["S"]


def _place_of(item: Item, index: Index | None) -> Item:
    keys = ("pk", "sk") if index is None else ("pk", "sk", index.partition.name, index.sort.name)
    return {key: item[key] for key in keys}
